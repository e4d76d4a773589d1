import sys

import pytest

from nppac.utils.errors import UserError
from nppac.utils.imports import import_users


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with modules in it."""
    (tmp_path / "sound_module.py").write_text("answer = 42")
    (tmp_path / "sick_module.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("sound_module", "sick_module"):
        sys.modules.pop(name, None)


def test_a_module_of_the_working_directory_is_found_and_the_path_left_as_it_was(here):
    path = list(sys.path)
    assert import_users("sound_module", "the test").answer == 42
    assert sys.path == path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sick_module", "'sick_module' of the test: ZeroDivisionError: division by zero. Install"),
        ("missing_module", "'missing_module' of the test: ModuleNotFoundError"),
        ("", "module '' of the test: ValueError"),
    ],
)
def test_whatever_it_raises_is_told(here, name, message):
    path = list(sys.path)
    with pytest.raises(UserError, match=message):
        import_users(name, "the test")
    assert sys.path == path
