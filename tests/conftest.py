"""Types and shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

import pytest
from jaxtyping import install_import_hook

install_import_hook("nppac", "type_checker.checked")


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory):
    """The secret of the user who runs the tests is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
