import json

import pytest

from nppac.demos import embedded, embedded_names, load_demos, load_embedded, save_demos, validate
from nppac.utils.errors import UserError

from ..samples import assert_same, make_demos, make_episode


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A directory in place of the package's own, with two sets in it."""
    root = tmp_path / "embedded"
    for name in ("door", "halfcheetah"):
        save_demos(root / f"{name}.npz", make_demos())
    (root / "door.json").write_text(json.dumps({"made_by": "a trained policy"}))
    monkeypatch.setattr(embedded, "_root", lambda: root)
    monkeypatch.chdir(tmp_path)
    return root


def test_names(shelf):
    assert embedded_names() == ["door", "halfcheetah"]


def test_loads_with_provenance(shelf):
    demos = load_embedded("door")
    assert_same(demos, make_demos())
    assert demos.source == "door (embedded)"
    assert demos.metadata["provenance"] == {"made_by": "a trained policy"}
    assert "provenance" not in load_embedded("halfcheetah").metadata


def test_load_demos_takes_embedded_names(shelf):
    assert load_demos("door").source == "door (embedded)"


def test_a_file_of_that_name_comes_first(shelf, tmp_path):
    from nppac.demos import Demos

    mine = Demos((make_episode(9),))
    save_demos(tmp_path / "door", mine)
    assert_same(load_demos("door"), mine)


def test_unknown_name_suggests_the_nearest(shelf):
    with pytest.raises(UserError, match="Did you mean 'door'"):
        load_embedded("dor")


def test_missing_file_says_what_was_looked_for(shelf):
    with pytest.raises(UserError) as caught:
        load_demos("halfcheeta")
    message = str(caught.value)
    assert "no such file" in message
    assert "embedded: door, halfcheetah" in message
    assert "not a Minari id" in message
    assert "Did you mean 'halfcheetah'?" in message


def test_every_set_in_the_package_is_valid():
    for name in embedded_names():
        demos = load_embedded(name)
        assert demos.metadata["provenance"], name
        assert validate(demos)[1] == [], name


def test_every_set_in_the_package_has_a_licence():
    statement = (embedded._root() / "LICENSE.md").read_text()
    for name in embedded_names():
        assert f"`{name}.npz`" in statement
        assert load_embedded(name).metadata["provenance"]["license"] == "MIT"
