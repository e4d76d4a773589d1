"""Demonstrations that come with the package, each beside the JSON that says how it was made."""

from dataclasses import replace
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

from nppac.demos.data import Demos
from nppac.demos.formats.npz import read_npz
from nppac.utils.errors import unknown_name
from nppac.utils.files import read_json


def embedded_names() -> list[str]:
    """Names of the demonstrations that come with the package."""
    found = (entry.name for entry in _root().iterdir())
    return sorted(name.removesuffix(".npz") for name in found if name.endswith(".npz"))


def load_embedded(name: str) -> Demos:
    """Demonstrations that come with the package, such as `door`."""
    names = embedded_names()
    if name not in names:
        raise unknown_name("embedded demonstrations", name, names)
    with as_file(_root() / f"{name}.npz") as path:
        demos = read_npz(path)
    return replace(
        demos, source=f"{name} (embedded)", metadata={**demos.metadata, **_provenance(name)}
    )


def _provenance(name: str) -> dict[str, object]:
    entry = _root() / f"{name}.json"
    if not entry.is_file():
        return {}
    with as_file(entry) as path:
        return {"provenance": read_json(path)}


def _root() -> Traversable:
    return files(__name__)
