"""npy and npz files that would harm whoever believed them, by what they try.

Each entry writes a file into a folder and returns what a user would load.
"""

import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

Writer = Callable[[Path], Path]
STEPS = 8
COLUMNS = {
    "observations": np.zeros((STEPS, 3)),
    "actions": np.zeros((STEPS, 2)),
    "episode_lengths": np.array([4, 4]),
}
CALL = b"__import__('os').system('touch executed')"
TEXT = "{'descr': '<f8', 'fortran_order': False, 'shape': (8, 2), }"


def npy(header: bytes, data: bytes = b"", version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def told(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    return npy(header.encode(), data)


def saved(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def as_npy(data: bytes) -> Writer:
    def write(folder: Path) -> Path:
        (folder / "d.npy").write_bytes(data)
        return folder / "d.npy"

    return write


def as_npz(compression=zipfile.ZIP_DEFLATED, **members: np.ndarray | bytes) -> Writer:
    """Sound demonstrations, but for the members given: arrays, or the bytes of a file."""

    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "d.npz", "w", compression) as archive:
            for name, member in {**COLUMNS, **members}.items():
                data = member if isinstance(member, bytes) else saved(member)
                archive.writestr(f"{name}.npy", data)
        return folder / "d.npz"

    return write


def patched_npz(change: Callable[[bytearray], None]) -> Writer:
    def write(folder: Path) -> Path:
        path = as_npz(zipfile.ZIP_STORED)(folder)
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)
        return path

    return write


def _claim_size(data: bytearray) -> None:
    """The central directory tells of a first member of 4 GB."""
    place = data.index(b"PK\x01\x02")
    data[place + 20 : place + 28] = struct.pack("<II", 2**32 - 2, 2**32 - 2)


def _encrypt(data: bytearray) -> None:
    data[data.index(b"PK\x01\x02") + 8] |= 1


def _twice(folder: Path) -> Path:
    path = as_npz()(folder)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # zipfile objects too
        archive.writestr("actions.npy", saved(COLUMNS["actions"]))
    return path


def with_bomb(name: str, megabytes: int = 400) -> Writer:
    """Sound demonstrations with an array of zeros, which take little of a file."""

    def write(folder: Path) -> Path:
        path = as_npz()(folder)
        sound = {k: saved(v) for k, v in COLUMNS.items() if k != name}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for key, data in sound.items():
                archive.writestr(f"{key}.npy", data)
            with archive.open(f"{name}.npy", "w") as member:
                member.write(told(f"({megabytes * 2**20},)", "'|i1'"))
                for _ in range(megabytes):
                    member.write(bytes(2**20))
        return path

    return write


def _bytes_for_floats(folder: Path) -> Path:
    """Demonstrations that are sound, small in the file and as bytes, and large as float32."""
    steps = 8 * 2**20
    columns = {"observations": np.zeros((steps, 3), np.int8), "actions": np.zeros((steps, 2), bool)}
    return as_npz(**columns, episode_lengths=np.array([steps]))(folder)


NPY = {
    "npy: literal that nests": as_npy(npy(b"[" * 9000)),
    "npy: signs without end": as_npy(npy(b"-" * 9000 + b"1")),
    "npy: header of 4 GB": as_npy(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"{" * 99),
    "npy: header of 60 kB": as_npy(npy(TEXT.encode() + b" " * 60_000)),
    "npy: call in the header": as_npy(npy(CALL)),
    "npy: dtype that is a call": as_npy(told("(2,)", "__import__('os')")),
    "npy: shape of 10^18": as_npy(told("(10" + "0" * 17 + ",)", "'|O'")),
    "npy: huge integer as a shape": as_npy(told("(" + "9" * 300 + ",)", "'|O'")),
    "npy: negative shape": as_npy(told("(-1,)", "'|O'")),
    "npy: numbers rather than dicts": as_npy(saved(np.zeros((4, 2)))),
    "npy: objects without a pickle": as_npy(told("(4,)", "'|O'")),
    "npy: no header": as_npy(b"\x93NUMPY"),
    "npy: text of bytes 0": as_npy(npy(b"\x00" * 100)),
}


def npz_entries() -> dict[str, Writer]:
    halves = np.frombuffer(struct.pack("<I", 0xD800), "<U1")
    beyond = np.frombuffer(struct.pack("<I", 0x7FFFFFFF), "<U1")
    return {
        "npz: pickled actions": as_npz(actions=np.array([{}] * STEPS, object)),
        "npz: complex actions": as_npz(actions=np.zeros((STEPS, 2), complex)),
        "npz: dates": as_npz(observations=np.zeros((STEPS, 3), "M8[s]")),
        "npz: text for numbers": as_npz(actions=np.full((STEPS, 2), "1.5")),
        "npz: records": as_npz(actions=np.zeros(STEPS, [("a", "f8"), ("b", "f8")])),
        "npz: rows of nothing": as_npz(actions=np.zeros((STEPS, 0))),
        "npz: 10^12 rows of nothing": as_npz(actions=told("(1000000000000, 0)")),
        "npz: NaN": as_npz(actions=np.full((STEPS, 2), np.nan)),
        "npz: beyond float32": as_npz(observations=np.full((STEPS, 3), 1e39)),
        "npz: bomb": with_bomb("actions"),
        "npz: bytes that become floats": _bytes_for_floats,
        "npz: shape of 8 TB": as_npz(actions=told("(1000000000000,)", data=b"x" * 64)),
        "npz: more data than the shape": as_npz(actions=told("(8, 2)", data=b"x" * 999)),
        "npz: literal that nests": as_npz(actions=npy(b"(" * 9000)),
        "npz: call in the header": as_npz(
            actions=npy(b"__import__('os').system('touch executed')")
        ),
        "npz: no array": as_npz(actions=b"plain text"),
        "npz: member of 4 GB": patched_npz(_claim_size),
        "npz: encrypted": patched_npz(_encrypt),
        "npz: two of one name": _twice,
        "npz: LZMA": as_npz(zipfile.ZIP_LZMA),
        "npz: BZIP2": as_npz(zipfile.ZIP_BZIP2),
        "npz: episodes without end": as_npz(episode_lengths=np.zeros(2_000_000, np.int8)),
        "npz: lengths that overflow": as_npz(episode_lengths=np.array([2**63 - 1, 9, 2**63 - 1])),
        "npz: unsigned lengths": as_npz(episode_lengths=np.array([2**64 - 8, 16], np.uint64)),
        "npz: terminated as text": as_npz(terminated=np.array(["False", "False"])),
        "npz: id with a command for the terminal": as_npz(env_id=np.array("Ant-v5\x1b[2J")),
        "npz: id of half a character": as_npz(env_id=saved(halves)),
        "npz: id beyond the last character": as_npz(env_id=saved(beyond)),
        "npz: id that is a number": as_npz(env_id=np.array(3)),
        "npz: units that are none": as_npz(action_units=np.array("furlongs")),
        **{f"npz: {name}": as_npz(provenance=np.array(text)) for name, text in JSON.items()},
    }


JSON = {
    "JSON that nests": "[" * 100_000,
    "JSON that nests and ends": '{"a":' * 5000 + "1" + "}" * 5000,
    "JSON of a huge integer": '{"a": ' + "9" * 400 + "}",
    "JSON of a huger integer": '{"a": ' + "9" * 10_000 + "}",
    "JSON of half a character": '{"a": "\\ud800"}',
    "JSON of a command for the terminal": '{"a": "\\u001b[2J"}',
    "JSON with markup for a name": '{"[/bold]": 1}',
    "JSON of quotes without end": '{"a": "' + '\\"' * 50_000 + "[" * 100,
    "JSON that is a list": "[1]",
    "JSON that is cut": '{"a": ',
}
