"""Reads the part of YAML that says what JSON can: text, numbers, true, false, null, lists, maps.

The library only splits the file into events. Values are built here, so no tag is ever obeyed.
Anchors, aliases, tags and merge keys are refused: a plan needs none, and bombs are made of them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from yaml.error import Mark
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from nppac.utils.bounded import check_length, read_bounded
from nppac.utils.errors import UserError
from nppac.utils.text import brief, shown

LIMIT = 64 * 2**10
"""Bytes; the parser takes about a second for so many brackets."""
MOST_LEVELS = 32
_LONGEST_NUMBER = 40
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)


class _Refused(ValueError):
    """What is wrong with a YAML text, and at which place."""

    def __init__(self, message: str, event: Event):
        super().__init__(f"line {event.start_mark.line + 1}: {message}")


def read_yaml(path: str | Path) -> object:
    """Read a YAML file of bounded size and depth."""
    return parse_yaml(read_bounded(path, LIMIT, "YAML"), str(path))


def parse_yaml(text: str | bytes, where: str) -> object:
    """The value of a YAML text, of JSON's types; `where` names it in errors."""
    check_length(text, where, LIMIT, "YAML")
    with _explained(where):
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        events = _Events(yaml.parse(decoded, Loader=yaml.SafeLoader))
        return _document(events)


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"{_line(mark)}{error.problem or error.context or 'it is damaged'}"
        raise _unreadable(where, reason) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise _unreadable(where, str(error)) from None


def _line(mark: Mark | None) -> str:
    return f"line {mark.line + 1}: " if mark else ""


def _unreadable(where: str, reason: str) -> UserError:
    return UserError(f"{where} cannot be read as YAML: {brief(ValueError(reason))}.")


class _Events:
    """The events of a text one by one; what this reader does not take is refused on the way."""

    def __init__(self, events: Iterator[Event]):
        self._events = events

    def next(self) -> Event:
        event = next(self._events)
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise _Refused("anchors (&) and aliases (*) are not read; write the value out", event)
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":  # "!" alone means text, as quotes do
            raise _Refused(f"the tag {shown(tag)} is not read; remove it", event)
        return event


def _document(events: _Events) -> object:
    """The only document of a text; None if there is none."""
    events.next()  # the start of the stream
    if not isinstance(events.next(), DocumentStartEvent):
        return None
    value = _value(events, events.next(), MOST_LEVELS)
    events.next()  # the end of the document
    following = events.next()
    if isinstance(following, DocumentStartEvent):
        raise _Refused("a second document begins; only one is read", following)
    return value


def _value(events: _Events, event: Event, levels: int) -> object:
    if isinstance(event, ScalarEvent):
        return _scalar(event)
    if levels == 0:
        raise _Refused(f"it is nested more than {MOST_LEVELS} levels deep", event)
    if isinstance(event, MappingStartEvent):
        return _mapping(events, levels - 1)
    assert isinstance(event, SequenceStartEvent)
    return _sequence(events, levels - 1)


def _sequence(events: _Events, levels: int) -> list[object]:
    values: list[object] = []
    while not isinstance(event := events.next(), SequenceEndEvent):
        values.append(_value(events, event, levels))
    return values


def _mapping(events: _Events, levels: int) -> dict[str, object]:
    values: dict[str, object] = {}
    while not isinstance(event := events.next(), MappingEndEvent):
        key = _key(event)
        if key in values:
            raise _Refused(f"the key {shown(key)} stands there twice", event)
        values[key] = _value(events, events.next(), levels)
    return values


def _key(event: Event) -> str:
    key = _scalar(event) if isinstance(event, ScalarEvent) else None
    if not isinstance(key, str):
        raise _Refused("a key is no text; put it in quotes", event)
    if key == "<<" and isinstance(event, ScalarEvent) and event.style is None:
        raise _Refused("merge keys (<<) are not read; write the values out", event)
    return key


def _scalar(event: ScalarEvent) -> object:
    text = event.value
    if any(not (c.isprintable() or c in "\n\t") for c in text):
        raise _Refused("a text holds a character that cannot be shown", event)
    if event.style is not None or event.tag == "!":
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return _number(text, event)


def _number(text: str, event: ScalarEvent) -> int | float | str:
    """A plain scalar as a number if it is one: 3e-4 is; 0x1F, 1:30 and 010 are text."""
    if _NOT_FINITE.fullmatch(text):
        raise _Refused(f"{text} is no finite number", event)
    whole = _INTEGER.fullmatch(text)
    if not whole and not _FLOAT.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        raise _Refused(f"a number of {len(text)} characters", event)
    if whole:
        return int(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Refused(f"{text} is too large for a number", event)
    return number
