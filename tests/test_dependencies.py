"""Every dependency in pyproject.toml is used, and whatever the package imports is one of them."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORT_NAMES = {
    "pytest-xdist": "xdist",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
"""Names of modules that do not follow from those of their distributions."""
COMMANDS = {
    "import-linter": ("Makefile", "/lint-imports"),
    "minari": ("src/nppac/demos/load.py", "minari download"),
    "pip-audit": ("benchmarks/audit_dependencies.py", "pip_audit"),
    "pyright": ("Makefile", "/pyright"),
    "pytest-xdist": ("Makefile", "pytest -n"),
    "ruff": ("Makefile", "/ruff"),
}
"""Those that are used as commands: the file that does so, or tells users to, and its words."""
BROUGHT_ALONG = {"farama_notifications": "gymnasium", "mpl_toolkits": "matplotlib"}
"""Modules that come with a dependency of another name."""


def distribution(requirement):
    return re.match(r"[\w.-]+", requirement).group().lower()


def module(name):
    return IMPORT_NAMES.get(name, name.replace("-", "_"))


def imported_modules(*folders):
    """Top-level modules that are imported, by a statement or by `import_module("name")`."""
    found = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                names = [a.value for a in node.args if isinstance(a, ast.Constant)]
                found |= {name.partition(".")[0] for name in names}
    return {name.lower() for name in found}


def declared(requirements):
    return {distribution(requirement) for requirement in requirements}


def unused(names, modules):
    used = {name for name in names if module(name) in modules}
    return names - used - {name for name in COMMANDS if is_command(name)}


def is_command(name):
    file, words = COMMANDS[name]
    return words in (ROOT / file).read_text()


@pytest.mark.parametrize("extra", [None, *(name for name in EXTRAS if name != "dev")])
def test_the_package_uses_its_dependencies(extra):
    requirements = PROJECT["dependencies"] if extra is None else EXTRAS[extra]
    assert unused(declared(requirements), imported_modules("src/nppac")) == set()


def test_development_uses_its_dependencies():
    everywhere = imported_modules("src/nppac", "tests", "benchmarks")
    assert unused(declared(EXTRAS["dev"]), everywhere) == set()


def test_the_package_imports_nothing_else():
    users = [*PROJECT["dependencies"], *EXTRAS["cluster"], *EXTRAS["tracking"]]
    known = {module(name) for name in declared(users)} | {"nppac"}
    known |= {name for name, parent in BROUGHT_ALONG.items() if parent in known}
    imported = imported_modules("src/nppac")
    assert imported - known - {name.lower() for name in sys.stdlib_module_names} == set()


def test_an_unused_dependency_is_found():
    assert unused({"numpy", "requests"}, imported_modules("src/nppac")) == {"requests"}
