import json
import time

import pytest

from nppac.utils.errors import UserError
from nppac.utils.yaml_reader import LIMIT, parse_yaml, read_yaml

PLAN = """\
# seeds of two methods
name: door
lr: 3e-4
steps: 50_000
half: .5
methods: [nppac, sac]   # flow
nested:
  - {a: true, b: null, c: ~}
  - text: "on"
    answer: no
    date: 2021-11-03
    octal: 010
    time: 1:30
empty:
minus: -2
'1': quoted key
long: |
  two
  lines
"""
VALUE = {
    "name": "door",
    "lr": 3e-4,
    "steps": 50_000,
    "half": 0.5,
    "methods": ["nppac", "sac"],
    "nested": [
        {"a": True, "b": None, "c": None},
        {"text": "on", "answer": "no", "date": "2021-11-03", "octal": "010", "time": "1:30"},
    ],
    "empty": None,
    "minus": -2,
    "1": "quoted key",
    "long": "two\nlines\n",
}


def billion_laughs() -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    return "\n".join(lines)


HOSTILE = {
    "python object": "!!python/object/apply:os.system ['true']",
    "python name": "a: !!python/name:os.system",
    "python module": "a: !!python/module:this",
    "python object made": "!!python/object/new:subprocess.Popen [[true]]",
    "tag by its address": "!<tag:yaml.org,2002:python/object/apply:os.system> [x]",
    "tag by a directive": "%TAG ! tag:yaml.org,2002:python/\n---\n!object/apply:os.system [x]",
    "tag on a key": "!!python/name:os.system : 1",
    "harmless tag": "a: !!binary aGVsbG8=",
    "own tag": "a: !include /etc/hostname",
    "billion laughs": billion_laughs(),
    "anchor alone": "a: &x 1",
    "cycle": "&x [*x]",
    "merge key": "a: {<<: {b: 1}}",
    "unknown alias": "*x",
    "deep flow": "[" * 100_000,
    "deep flow, closed": "[" * 1000 + "]" * 1000,
    "deep maps": "{a: " * 1000,
    "deep blocks": "- " * 50_000,
    "deep keys": "? " * 50_000,
    "deep indents": "\n".join(" " * i + "a:" for i in range(500)),
    "duplicate": "a: 1\nb: 2\na: 3",
    "duplicate by quotes": "a: 1\n'a': 3",
    "key that is a number": "1: 2",
    "key that is null": "~: 2",
    "key that is a list": "? [1]\n: 2",
    "two documents": "a: 1\n---\nb: 2",
    "infinity": "a: .inf",
    "not a number": "a: -.NaN",
    "number too large": "a: 1e999",
    "number too long": "a: " + "9" * 5000,
    "terminal commands": 'a: "\\e[2J"',
    "half a character": 'a: "\\ud800"',
    "no character": 'a: "\\UFFFFFFFF"',
    "bell": "a: \a",
    "zero": "a: \x00",
    "directive of many digits": f"%YAML {'9' * 5000}.1\n---\na: 1",
    "newer version": "%YAML 2.0\n---\na: 1",
    "tab": "a:\n\t- 1",
    "unclosed": 'a: "never',
    "no utf-8": b"a: \xff\xfe",
    "utf-16": "a: 1".encode("utf-16"),
    "too long": b"#" * (LIMIT + 1),
}


def test_what_json_can_say_is_read(tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    found = read_yaml(tmp_path / "plan.yaml")
    assert found == VALUE
    assert [type(v) for v in found.values()] == [type(v) for v in VALUE.values()]
    assert parse_yaml(json.dumps(VALUE), "x") == VALUE
    assert parse_yaml("{seeds: 0..4, lr: 1e5}", "x") == {"seeds": "0..4", "lr": 1e5}
    assert parse_yaml("", "x") is None
    assert parse_yaml(b"\xef\xbb\xbfa: 1", "x") == {"a": 1}
    assert parse_yaml("[1_000, +1, 1., 1e3, 0.0, 0]", "x") == [1000, 1, 1.0, 1000.0, 0.0, 0]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_refused_in_one_line(text):
    began = time.process_time()
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "plan.yaml")
    message = str(caught.value)
    assert message.startswith("plan.yaml ")
    assert message.isprintable()
    assert len(message) < 250
    assert time.process_time() - began < 2


def test_messages_name_the_line():
    with pytest.raises(UserError, match=r"plan.yaml cannot be read as YAML: line 3: the key 'a'"):
        parse_yaml("a: 1\nb: 2\na: 3", "plan.yaml")
    with pytest.raises(UserError, match=r"line 2: the tag 'tag:yaml.org.*os.system' is not read"):
        parse_yaml("a: 1\nb: !!python/name:os.system", "plan.yaml")


@pytest.mark.parametrize("piece", ["[],", '"x": y, '])
def test_long_texts_take_no_longer_than_their_length_says(piece):
    text = "[" + piece * (LIMIT // len(piece) // 8) + "]"
    began = time.process_time()
    parse_yaml(text, "x")
    assert time.process_time() - began < 5 / 4


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UserError, match="There is no file"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="cannot be read as YAML: Is a directory"):
        read_yaml(tmp_path)
