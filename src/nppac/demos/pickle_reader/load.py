"""Read pickles of NumPy arrays and plain containers; refuse every other one.

Python's unpickler does what the file says, and an array that it fills holds whatever bytes the file
likes, addresses included. So it is not used: the file is parsed into nodes that do nothing, and
these are converted to values afterwards.
"""

from nppac.demos.pickle_reader.parse import parse_pickle
from nppac.demos.pickle_reader.values import values_of
from nppac.utils.errors import UserError
from nppac.utils.plain_arrays import Readable
from nppac.utils.text import brief


def load_pickle(file: Readable, name: str) -> object:
    """The value pickled at the file's position; `name` is what errors call the file.

    Arrays of objects come as lists.
    """
    try:
        data = file.read()
        return values_of(parse_pickle(data), len(data))
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise UserError(
            f"{name} cannot be read as a pickle: {brief(error)}. "
            "It may be damaged or incomplete; fetch or write it again."
        ) from error
