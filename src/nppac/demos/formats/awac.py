"""The AWAC release's format: an npy file whose object array holds one dict per episode."""

from pathlib import Path

from nppac.demos.data import Demos
from nppac.demos.formats.paths import demos_from_paths
from nppac.demos.pickle_reader.load import load_pickle
from nppac.utils.errors import UserError
from nppac.utils.plain_arrays import NotPlain, read_header
from nppac.utils.text import listed

_OBJECTS = ("|O", "O")


def read_awac(path: Path) -> Demos:
    """Read demonstrations from an npy file of dicts, executing nothing."""
    with path.open("rb") as file:
        try:
            header = read_header(file)
        except NotPlain as error:
            raise UserError(f"{path} cannot be read as an npy file: {error}.") from error
        if header.descr not in _OBJECTS:
            raise UserError(
                f"{path} is a plain array of type {listed([header.descr])}; expected an array of "
                "dicts with 'observations' and 'actions'. Save both arrays as npz instead."
            )
        return demos_from_paths(path, load_pickle(file, str(path)))
