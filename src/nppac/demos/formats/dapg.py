"""The DAPG release's format: a pickled list of dicts `observations`, `actions`, `rewards`."""

from pathlib import Path

from nppac.demos.data import Demos
from nppac.demos.formats.paths import demos_from_paths
from nppac.demos.pickle_reader.load import load_pickle


def read_dapg(path: Path) -> Demos:
    """Read demonstrations from a pickle of NumPy arrays, executing nothing."""
    with path.open("rb") as file:
        return demos_from_paths(path, load_pickle(file, str(path)))
