"""Copies of a saved file, each edited in one way that whoever reads it must notice."""

import io
import zipfile
from itertools import islice, pairwise

import numpy as np

FLIPS, CUTS, REMOVED, SWAPS = 6, 2, 2, 2


def edited_copies(path, seed=0):
    """What was edited, with the bytes of the copy; CRCs are right where arrays were changed."""
    rng, whole = np.random.default_rng(seed), path.read_bytes()
    for place in rng.choice(len(whole), FLIPS, replace=False):
        copy = bytearray(whole)
        copy[place] ^= 1 << int(rng.integers(8))
        yield f"bit of byte {place}", bytes(copy)
    for length in rng.choice(len(whole), CUTS, replace=False):
        yield f"cut to {length} bytes", whole[:length]
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name in ["checksum", *rng.choice(list(arrays), REMOVED)]:
        rest = {key: array for key, array in arrays.items() if key != name}
        yield f"{name} removed", _written(rest)
    for name, array in arrays.items():
        yield f"{name} changed", _written({**arrays, name: _changed(array, rng)})
    yield "array added", _written({**arrays, "more": np.zeros(2)})
    for swapped in islice(_swaps(arrays), SWAPS):
        yield "members swapped", _written(swapped)


def _written(arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(array))
    return file.getvalue()


def _changed(array, rng):
    """The array with one bit flipped; of a text the last letter is another."""
    if array.dtype.kind == "U":
        return np.asarray(str(array)[:-1] + ("b" if str(array)[-1:] != "b" else "c"))
    flat = np.ascontiguousarray(array).reshape(-1).copy()
    flat.view(np.uint8)[rng.integers(flat.nbytes)] ^= 1
    return flat.reshape(array.shape)


def _swaps(arrays):
    """Two arrays under one another's names, for neighbours that differ."""
    names = sorted(arrays)
    for one, other in pairwise(names):
        if not np.array_equal(arrays[one], arrays[other]):
            yield {**arrays, one: arrays[other], other: arrays[one]}
