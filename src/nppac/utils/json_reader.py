"""Reads JSON of a bounded size and depth, with numbers that fit into floats."""

import json
import re

from nppac.utils.bounded import check_length
from nppac.utils.errors import UserError
from nppac.utils.text import brief

LIMIT = 16 * 2**20
MOST_LEVELS = 64
_LONGEST_INTEGER = 40
"""Digits: a seed of 128 bits has 39, and a float holds numbers of up to 308."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""A string that has no end takes the rest: else each quote in it begins another search for one."""
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str | bytes, where: str, limit: int = LIMIT) -> object:
    """The value of a JSON text; `where` names it in errors."""
    check_length(text, where, limit, "JSON")
    try:
        decoded = text if isinstance(text, str) else text.decode()
        _check_depth(decoded)
        value = json.loads(decoded, parse_int=_integer)
        if _HALF_CHARACTER.search(decoded):
            json.dumps(value, ensure_ascii=False).encode()  # half a character alone cannot be shown
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} cannot be read as JSON: {brief(error)}.") from error
    return value


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


def _check_depth(text: str) -> None:
    """Refuse what is nested too deeply before a parser goes into it."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        depth += (token in "[{") - (token in "]}")
        if depth > MOST_LEVELS:
            raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
