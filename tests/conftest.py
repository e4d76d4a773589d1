"""Types and shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

import secrets

import pytest
from jaxtyping import install_import_hook

install_import_hook("nppac", "type_checker.checked")


@pytest.fixture(autouse=True)
def fit_cache(tmp_path_factory, monkeypatch):
    """Every test fits anew, and leaves the user's cache alone."""
    directory = tmp_path_factory.getbasetemp() / f"cache-{secrets.token_hex(4)}"
    monkeypatch.setenv("NPPAC_CACHE", str(directory))
    return directory / "fits"


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory):
    """The secret of the user who runs the tests is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("NPPAC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
