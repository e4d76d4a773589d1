"""Rules of the source tree that no linter checks: one name for one thing, and small pieces."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "nppac").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES_OF_A_MODULE = 250
MOST_LINES_OF_A_FUNCTION = 40
MOST_ANY = 25
MOST_LAYERS = 12
ALIAS = re.compile(r"[A-Z]\w*[a-z]")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def public_names(module: ast.Module) -> list[str]:
    """Functions, classes and type aliases that other modules may import."""
    names = []
    for node in module.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            names.append(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        named = [target.id for target in targets if isinstance(target, ast.Name)]
        names += [name for name in named if ALIAS.match(name)]
    return [name for name in names if not name.startswith("_")]


def test_a_public_name_means_one_thing():
    places = defaultdict(list)
    for path in SOURCES:
        for name in public_names(parsed(path)):
            places[name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_small(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES_OF_A_MODULE
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(parsed(path))
        if isinstance(node, FUNCTIONS) and node.end_lineno is not None
    }
    assert {k: v for k, v in long.items() if v > MOST_LINES_OF_A_FUNCTION} == {}


def test_modules_of_tests_are_small_too():
    lengths = {path.name: len(path.read_text().splitlines()) for path in TESTS}
    assert {k: v for k, v in lengths.items() if v > MOST_LINES_OF_A_MODULE} == {}


def test_any_appears_only_where_a_library_forces_it():
    nodes = (node for path in SOURCES for node in ast.walk(parsed(path)))
    found = [node for node in nodes if isinstance(node, ast.Name) and node.id == "Any"]
    assert len(found) <= MOST_ANY


def test_the_import_contract_has_few_layers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = project["tool"]["importlinter"]["contracts"]
    assert len(contract["layers"]) <= MOST_LAYERS
    assert project["tool"]["pyright"]["typeCheckingMode"] == "standard"
