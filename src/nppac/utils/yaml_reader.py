"""Reads YAML of a bounded size as plain data: no tags, no aliases, no key twice."""

import re
from pathlib import Path
from typing import Any

import yaml

from nppac.utils.errors import UserError
from nppac.utils.json_reader import MOST_LEVELS
from nppac.utils.text import brief

LIMIT = 2**20
"""Bytes: what people write by hand is far smaller."""


def read_yaml(path: str | Path) -> Any:
    """The value of a YAML file."""
    try:
        with open(path, "rb") as file:
            text = file.read(LIMIT + 1)
    except FileNotFoundError as error:
        raise UserError(f"There is no file {path}.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read as YAML: {error.strerror or error}.") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str | bytes, where: str) -> Any:
    """The value of a YAML text; `where` names it in errors."""
    if len(text) > LIMIT:
        raise UserError(f"{where} has more than {LIMIT:,} bytes, too many for YAML.")
    try:
        return yaml.load(text, Loader=_PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f", line {mark.line + 1}" if mark else ""
        problem = error.problem or error.context or "a mistake"
        raise UserError(f"{where}{place}: {problem}; it cannot be read as YAML.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{where} cannot be read as YAML: {brief(error)}.") from error


class _PlainLoader(yaml.SafeLoader):
    """YAML's own safe loader, without what makes a small file large or hides a mistake."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="aliases are not read", problem_mark=mark)
        self.depth += 1
        if self.depth > MOST_LEVELS:
            raise ValueError(f"it is nested more than {MOST_LEVELS} levels deep")
        node = super().compose_node(parent, index)  # pyright: ignore[reportArgumentType]
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key is no word", problem_mark=key.start_mark)
            if key.value in seen:
                what = f"the key '{key.value[:80]}' is given twice"
                raise yaml.MarkedYAMLError(problem=what, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


# YAML 1.1 takes 1e-3 for a word, because it has no point.
_PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)
