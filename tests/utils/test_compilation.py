import jax
import pytest

from nppac.utils.compilation import SHORTEST_SECONDS, keep_compiled_programs

SETTINGS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")


@pytest.fixture(autouse=True)
def _settings_as_before():
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def test_programs_are_kept_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = keep_compiled_programs()
    assert directory is not None
    assert directory.is_dir()
    assert directory.parent == tmp_path / "nppac"
    assert jax.config.jax_compilation_cache_dir == str(directory)
    assert jax.config.jax_persistent_cache_min_compile_time_secs == SHORTEST_SECONDS
    jax.config.update("jax_compilation_cache_dir", None)
    assert keep_compiled_programs() == directory  # the same machine finds them again


def test_the_home_directory_has_the_cache_where_no_other_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert keep_compiled_programs().is_relative_to(tmp_path / ".cache")


def test_a_directory_of_the_users_choice_stands(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    assert keep_compiled_programs() == tmp_path / "own"
    assert not (tmp_path / "cache").exists()


def test_without_a_place_to_write_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "nppac").write_text("a file where the directory should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert keep_compiled_programs() is None
    assert jax.config.jax_compilation_cache_dir is None


def test_without_a_home_directory_nothing_is_kept(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    assert keep_compiled_programs() is None
