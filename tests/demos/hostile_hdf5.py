"""HDF5 files and Minari datasets that would harm whoever believed them, by what they try.

Each entry writes a file or a directory into a folder and returns what a user would load.
"""

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from .hostile_arrays import COLUMNS, STEPS, Writer

SECRET = "secret of another file"


def as_hdf5(change: Callable[[h5py.File, Path], None], **settings) -> Writer:
    """A sound file in D4RL's layout, changed by a function of the file and its folder."""

    def write(folder: Path) -> Path:
        with h5py.File(folder / "other.h5", "w") as other:
            other["x"] = np.zeros((STEPS, 2))
        (folder / "secret").write_text(SECRET * 20)
        with h5py.File(folder / "d.hdf5", "w", **settings) as file:
            file["observations"] = COLUMNS["observations"]
            file["terminals"] = np.zeros(STEPS, bool)
            change(file, folder)
        return folder / "d.hdf5"

    return write


def _external_storage(file: h5py.File, folder: Path) -> None:
    places = [(str(folder / "secret"), 0, 16 * STEPS)]
    file.create_dataset("actions", (STEPS, 2), "f8", external=places)


def _external_link(file: h5py.File, folder: Path) -> None:
    file["actions"] = h5py.ExternalLink(str(folder / "other.h5"), "/x")


def _soft_link_to_external(file: h5py.File, folder: Path) -> None:
    file["far"] = h5py.ExternalLink(str(folder / "other.h5"), "/")
    file["actions"] = h5py.SoftLink("/far/x")


def _virtual(file: h5py.File, folder: Path) -> None:
    layout = h5py.VirtualLayout((STEPS, 2), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", (STEPS, 2))
    file.create_virtual_dataset("actions", layout)


def _dataset(**settings) -> Callable[[h5py.File, Path], None]:
    return lambda file, _: file.create_dataset("actions", **settings) and None


def _groups_of_groups(file: h5py.File, _: Path) -> None:
    """Seven levels of forty links to the next: 10^11 ways to one array."""
    group = file.create_group("actions")
    for level in range(7):
        inner = file.create_group(f"level{level}")
        for i in range(40):
            group[str(i)] = inner
        group = inner
    group["array"] = np.zeros(2)


def _deflate_bomb(file: h5py.File, _: Path) -> None:
    """A chunk of 128 bytes that unpacks to 500 MB."""
    made = file.create_dataset("actions", (STEPS, 2), "f8", chunks=(STEPS, 2), compression="gzip")
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = b"\x03\x00" + ((500 * 2**20 % 65521) << 16 | 1).to_bytes(4)  # and the sum of zeros
    made.id.write_direct_chunk((0, 0), b"\x78\xda" + 500 * block + end)


def _cyclic_group(file: h5py.File, _: Path) -> None:
    file.create_group("actions")
    file["actions/again"] = file["actions"]


def hdf5_entries() -> dict[str, Writer]:
    text, ragged = h5py.string_dtype(), h5py.vlen_dtype(np.float64)
    huge = _dataset(shape=(2**40, 2), dtype="f8", chunks=(1024, 2))
    wide = _dataset(shape=(STEPS, 2), maxshape=(None, 2), dtype="f8", chunks=(2**26, 2))
    return {
        "HDF5: values in another file": as_hdf5(_external_storage),
        "HDF5: link to another file": as_hdf5(_external_link),
        "HDF5: soft link that leaves the file": as_hdf5(_soft_link_to_external),
        "HDF5: virtual dataset": as_hdf5(_virtual),
        "HDF5: group that holds itself": as_hdf5(_cyclic_group),
        "HDF5: 16 TB of nothing": as_hdf5(huge),
        "HDF5: chunk of 1 GB": as_hdf5(wide),
        "HDF5: chunk that is a bomb": as_hdf5(_deflate_bomb),
        "HDF5: text": as_hdf5(_dataset(data=["a"] * STEPS, dtype=text)),
        "HDF5: ragged rows": as_hdf5(_dataset(shape=(STEPS,), dtype=ragged)),
        "HDF5: references": as_hdf5(_dataset(shape=(STEPS,), dtype=h5py.ref_dtype)),
        "HDF5: records": as_hdf5(_dataset(data=np.zeros(STEPS, [("a", "f8")]))),
        "HDF5: complex": as_hdf5(_dataset(data=np.zeros((STEPS, 2), complex))),
        "HDF5: rows of nothing": as_hdf5(_dataset(shape=(STEPS, 0), dtype="f8")),
        "HDF5: NaN": as_hdf5(_dataset(data=np.full((STEPS, 2), np.nan))),
        "HDF5: beyond float32": as_hdf5(_dataset(data=np.full((STEPS, 2), 1e39))),
        "HDF5: odd filter": as_hdf5(_dataset(data=np.zeros((STEPS, 2)), compression="lzf")),
        "HDF5: groups of groups": as_hdf5(_groups_of_groups),
        "HDF5: nothing at all": as_hdf5(_dataset(data=h5py.Empty("f8"))),
    }


def box(size: int, low: float = -1.0, high: float = 1.0) -> str:
    bounds = {"low": [low] * size, "high": [high] * size}
    return json.dumps({"type": "Box", "dtype": "float32", "shape": [size], **bounds})


METADATA = {
    "total_episodes": 1,
    "total_steps": STEPS,
    "data_format": "hdf5",
    "observation_space": box(3),
    "action_space": box(2),
    "dataset_id": "a/b-v0",
    "minari_version": "0.5.4",
}
COMMAND = json.dumps(
    {"id": "X-v0", "entry_point": "os:system", "kwargs": {"command": "touch executed"}}
)


def as_minari(changes=None, text: str | None = None, episode=None) -> Writer:
    """A sound dataset, but for its metadata, their text, or arrays of its episode."""

    def write(folder: Path) -> Path:
        data = folder / "dataset" / "data"
        data.mkdir(parents=True)
        kept = {k: v for k, v in {**METADATA, **(changes or {})}.items() if v is not None}
        (data / "metadata.json").write_text(json.dumps(kept) if text is None else text)
        arrays = {
            "observations": np.zeros((STEPS + 1, 3)),
            "actions": np.zeros((STEPS, 2)),
            "rewards": np.zeros(STEPS),
            "terminations": np.zeros(STEPS, bool),
            "truncations": np.zeros(STEPS, bool),
            **(episode or {}),
        }
        with h5py.File(data / "main_data.hdf5", "w") as file:
            for name, array in arrays.items():
                if array is not None:
                    file[f"episode_0/{name}"] = array
        return folder / "dataset"

    return write


def _linked_data(folder: Path) -> Path:
    path = as_minari()(folder)
    data = path / "data" / "main_data.hdf5"
    data.rename(folder / "elsewhere.hdf5")
    data.symlink_to(folder / "elsewhere.hdf5")
    return path


def minari_entries() -> dict[str, Writer]:
    deep = '{"type":"Tuple","subspaces":[' * 3000 + box(3) + "]}" * 3000
    return {
        "Minari: environment to be made for a space": as_minari(
            {"action_space": None, "env_spec": COMMAND}
        ),
        "Minari: environment to be made for both": as_minari(
            {"action_space": None, "observation_space": None, "env_spec": COMMAND}
        ),
        "Minari: Arrow": as_minari({"data_format": "arrow"}),
        "Minari: format that is a path": as_minari({"data_format": "../../evil"}),
        "Minari: space of 10^12": as_minari(
            {"action_space": box(2).replace("[2]", "[1000000000000]")}
        ),
        "Minari: space that nests": as_minari({"observation_space": deep}),
        "Minari: space of an unknown type": as_minari({"action_space": '{"type": "os.system"}'}),
        "Minari: space that is no text": as_minari({"action_space": {"type": "Box"}}),
        "Minari: bounds that are text": as_minari({"action_space": box(2).replace("-1.0", '"a"')}),
        "Minari: 10^12 episodes": as_minari({"total_episodes": 10**12}),
        "Minari: -1 episodes": as_minari({"total_episodes": -1}),
        "Minari: more episodes than there are": as_minari({"total_episodes": 3}),
        "Minari: actions of another shape": as_minari(episode={"actions": np.zeros((STEPS, 5))}),
        "Minari: observations of another shape": as_minari(
            episode={"observations": np.zeros(STEPS)}
        ),
        "Minari: observations that are missing": as_minari(episode={"observations": None}),
        "Minari: fewer rewards than actions": as_minari(episode={"rewards": np.zeros(3)}),
        "Minari: actions that are a link": as_minari(
            episode={"actions": h5py.ExternalLink("other.h5", "/x")}
        ),
        "Minari: episode that is a link": as_minari(
            {"total_episodes": 1}, episode={"rewards": h5py.SoftLink("/nowhere")}
        ),
        "Minari: data that are a link": _linked_data,
        "Minari: id with a command for the terminal": as_minari({"dataset_id": "a\x1b[2J"}),
        "Minari: environment with no name": as_minari({"env_spec": '{"id": "../../x y"}'}),
        "Minari: metadata that nest": as_minari(text="[" * 100_000),
        "Minari: metadata that are a list": as_minari(text="[1]"),
        "Minari: metadata of 20 MB": as_minari(text='{"a": "' + "x" * 20_000_000 + '"}'),
    }
