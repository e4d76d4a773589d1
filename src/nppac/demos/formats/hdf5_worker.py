"""Reads arrays of numbers from an HDF5 file, in a process of its own.

The HDF5 library is a large parser in C, and a file can ask it for other files. So only objects that
lie in the file itself are opened, only arrays of numbers are read, each within a budget, and all of
it in a process with limits, whose end is not the end of the program. This file imports nothing of
the project, so that the process starts quickly; `hdf5` starts it.
"""

import json
import os
import resource
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from math import prod

import h5py
import numpy as np

MEMORY_LIMIT = 4 * 2**30
"""Address space of the process; what it reads has a limit of its own, far below."""
CPU_LIMIT = 60
"""Seconds."""
MOST_LEVELS = 8
MOST_CHILDREN = 1000
BYTES_OF_OBJECT = 100
"""What a group or an array takes of a file at least; with links, a few can stand for billions."""
_FILTERS = {
    h5py.h5z.FILTER_DEFLATE: "gzip",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
}
_CHECKSUM_BYTES = 4


class Refused(ValueError):
    """Something in the file that is not read."""


class Visits:
    """How many groups and arrays may still be visited: as many as the file has room for."""

    def __init__(self, path: str) -> None:
        self.left = MOST_CHILDREN + os.stat(path).st_size // BYTES_OF_OBJECT

    def count(self, path: str) -> None:
        """Refuse more of them."""
        self.left -= 1
        if self.left < 0:
            raise Refused(f"'{path[:80]}' is one of more groups and arrays than the file can hold")


def read_numbers(
    path: str, wanted: Sequence[str], allowed: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The arrays under the wanted paths that are there, and the names at the file's root.

    A group is read with everything in it. No more than `allowed` bytes are read in all.
    """
    with h5py.File(path, "r") as file:
        names = [name for name, _ in zip(file, range(MOST_CHILDREN), strict=False)]
        found, visits = {}, Visits(path)
        for name in wanted:
            found |= dict(_datasets(file, name, visits))
        _check_sizes(found, allowed)
        return {name: _read(name, dataset) for name, dataset in found.items()}, names


def _datasets(file: h5py.File, path: str, visits: Visits) -> Iterator[tuple[str, h5py.Dataset]]:
    """The datasets at a path, which is followed by links within the file alone."""
    place: object = file
    for i, part in enumerate(path.split("/")):
        if not isinstance(place, h5py.Group) or part not in place.keys():  # noqa: SIM118
            return
        place = _opened(place, part, "/".join(path.split("/")[: i + 1]))
    yield from _leaves(place, path, 0, visits)


def _leaves(
    place: object, path: str, level: int, visits: Visits
) -> Iterator[tuple[str, h5py.Dataset]]:
    visits.count(path)
    if isinstance(place, h5py.Dataset):
        _check_dataset(place, path)
        yield path, place
        return
    if not isinstance(place, h5py.Group) or level > MOST_LEVELS or len(place) > MOST_CHILDREN:
        raise Refused(f"'{path}' is neither an array nor a group of a few")
    for name in list(place):
        inner = f"{path}/{name}"
        yield from _leaves(_opened(place, name, inner), inner, level + 1, visits)


def _opened(group: h5py.Group, name: str, path: str) -> object:
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise Refused(f"'{path}' is a link to another file, '{link.filename}', which is not opened")
    if not isinstance(link, h5py.HardLink):
        raise Refused(f"'{path}' is a soft link, which is not followed")
    return group[name]


def _check_dataset(dataset: h5py.Dataset, path: str) -> None:
    settings = dataset.id.get_create_plist()
    if settings.get_external_count():
        raise Refused(f"'{path}' keeps its values in another file, which is not opened")
    if settings.get_layout() == h5py.h5d.VIRTUAL:
        raise Refused(f"'{path}' is a virtual dataset, whose values lie in other files")
    kind = dataset.dtype.kind if dataset.dtype.metadata is None else "O"
    if kind not in "biuf" or dataset.dtype.itemsize > 8 or dataset.dtype.subdtype is not None:
        raise Refused(f"'{path}' is not an array of numbers: it is of type {str(dataset.dtype)!r}")
    if dataset.shape is None or len(dataset.shape) > 32:
        raise Refused(f"'{path}' has no shape that demonstrations have")
    codes = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    if set(codes) - set(_FILTERS) or len(set(codes)) < len(codes):
        raise Refused(
            f"'{path}' is stored with a filter other than {', '.join(_FILTERS.values())}; save it "
            "again with compression='gzip'"
        )


def _check_sizes(datasets: dict[str, h5py.Dataset], allowed: int) -> None:
    """Refuse arrays, and chunks of them, that claim too much; before anything is read."""
    total = 0
    for path, dataset in datasets.items():
        count = prod(dataset.shape)
        rows = dataset.shape[0] if dataset.shape else 1
        chunk = prod(dataset.chunks or (0,)) * dataset.dtype.itemsize
        # Numbers of one byte become numbers of four later on.
        total += max(count * max(dataset.dtype.itemsize, 4), rows)
        if max(total, chunk) > allowed:
            raise Refused(
                f"with '{path}' its contents take {max(total, chunk) / 1e6:,.2f} MB, but at most "
                f"{allowed / 1e6:,.2f} MB are read from a file of this size"
            )


def _read(path: str, dataset: h5py.Dataset) -> np.ndarray:
    if dataset.compression == "gzip":
        _check_chunks(path, dataset)
    values = np.asarray(dataset[()])
    # Bytes that are neither 0 nor 1 are no booleans to NumPy.
    return values.view(np.uint8) != 0 if values.dtype == bool else values


def _check_chunks(path: str, dataset: h5py.Dataset) -> None:
    """Refuse chunks that unpack to more than they are; HDF5 would make room for all of it."""
    size = prod(dataset.chunks or ()) * dataset.dtype.itemsize + _CHECKSUM_BYTES
    codes = _filter_codes(dataset)
    skipped = 1 << codes.index(h5py.h5z.FILTER_DEFLATE)
    stored: list[tuple[int, ...]] = []
    dataset.id.chunk_iter(lambda info: stored.append(info.chunk_offset))
    for offset in stored:
        mask, data = dataset.id.read_direct_chunk(offset)
        if mask & skipped:
            continue
        unpacking = zlib.decompressobj()
        if len(unpacking.decompress(data, size + 1)) > size:
            raise Refused(f"'{path}' has a chunk that unpacks to more than its size")


def _filter_codes(dataset: h5py.Dataset) -> list[int]:
    settings = dataset.id.get_create_plist()
    return [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]


def answer_request() -> None:
    """Read what the request on standard input asks for, and answer on standard output.

    The answer is a line of JSON; arrays go to the npz file that the request names.
    """
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        arrays, names = read_numbers(request["path"], request["wanted"], request["allowed"])
        # By number: a name in the file may be none that an archive can have.
        save: Callable[..., None] = np.savez  # its stubs take every keyword for a flag
        save(request["out"], **{str(i): a for i, a in enumerate(arrays.values())})
        answer = {"arrays": list(arrays), "names": names}
    except Refused as error:
        answer = {"refused": str(error)}
    except Exception as error:  # a damaged file can raise nearly anything
        answer = {"damaged": str(error) or type(error).__name__}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    answer_request()
