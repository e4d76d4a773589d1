import stat

import pytest

from nppac.utils.user_key import is_token_for, key_file, token_for


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_token_is_known_again_for_the_same_words_alone(home):
    token = token_for(["b:c", "a:b"])
    assert is_token_for(["a:b", "b:c"], token)
    assert not is_token_for(["a:b"], token)
    assert not is_token_for(["a:b", "b:d"], token)
    for other in (None, "", 3, "ü", ["x"]):
        assert not is_token_for(["a:b", "b:c"], other)


def test_the_secret_is_the_users_alone_and_stays(home):
    token = token_for(["a:b"])
    path = home / ".local" / "state" / "nppac" / "key"
    assert key_file() == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]
    assert token_for(["a:b"]) == token


def test_another_user_has_another_secret(home, monkeypatch):
    token = token_for(["a:b"])
    monkeypatch.setenv("HOME", str(home / "other"))
    assert not is_token_for(["a:b"], token)
    assert token_for(["a:b"]) != token


def test_without_a_place_there_is_no_token(home, monkeypatch):
    (home / ".local").write_text("a file")
    assert token_for(["a:b"]) is None
    assert not is_token_for(["a:b"], "x")
    monkeypatch.delenv("HOME")
    assert key_file() is None
    assert token_for(["a:b"]) is None
