import pytest

from .own import own

__all__ = ["own"]


@pytest.fixture(autouse=True)
def piped(monkeypatch):
    """Nothing limits the width of what is printed."""
    monkeypatch.delenv("COLUMNS", raising=False)
