import pytest

from nppac.utils.errors import UserError
from nppac.utils.yaml_reader import LIMIT, parse_yaml, read_yaml


def test_plain_data():
    text = "a: [1, 2.5, true, word]\nb:\n  c: 1e-3\n  d: 1e5\n  seeds: 0..4\n"
    expected = {"a": [1, 2.5, True, "word"], "b": {"c": 1e-3, "d": 1e5, "seeds": "0..4"}}
    assert parse_yaml(text, "plan") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "plan, line 3: the key 'a' is given twice"),
        ("a: &x [1]\nb: *x\n", "plan, line 2: aliases are not read"),
        ("a: !!python/object/apply:os.system ['true']\n", "plan, line 1: could not determine"),
        ("a: !own 3\n", "plan, line 1: could not determine a constructor"),
        ("a: [1\n", "plan, line 2: "),
        ("[" * 100 + "]" * 100, "nested more than 64 levels"),
        ("? [a, b]\n: 1\n", "plan, line 1: a key is no word"),
        ("a: " + "1" * 5000 + "\n", "plan cannot be read as YAML"),
        ("a: \x00\n", "plan cannot be read as YAML"),
        ("a" * (LIMIT + 1), "more than 1,048,576 bytes"),
        (b"\xff\xfe\x00", "cannot be read as YAML"),
    ],
    ids=["twice", "alias", "python", "tag", "open", "deep", "key", "long", "nul", "large", "bytes"],
)
def test_mistakes(text, message):
    with pytest.raises(UserError) as error:
        parse_yaml(text, "plan")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files(tmp_path):
    path = tmp_path / "plan.yaml"
    with pytest.raises(UserError, match="There is no file"):
        read_yaml(path)
    with pytest.raises(UserError, match="cannot be read as YAML"):
        read_yaml(tmp_path)
    path.write_text("a: 1\n")
    assert read_yaml(path) == {"a": 1}
