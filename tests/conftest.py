"""Types and shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

import gc
import os
import secrets
from pathlib import Path

import pytest

import type_checker

COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / ".pytest_cache" / "compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "XLA_FLAGS": " ".join(
        [
            "--xla_backend_optimization_level=0",
            "--xla_cpu_use_fusion_emitters=false",
            "--xla_llvm_disable_expensive_passes=true",
            "--xla_cpu_parallel_codegen_split_count=1",
        ]
    ),
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
}
"""Most of the tests' time is XLA's: its programs are shared by the workers, by the processes that
tests start, and by the next run of the tests, however small they are. To optimise them, to fuse
them by way of MLIR, or to divide them among threads takes longer than to run them here; so does
noting for each operation which lines of Python it came from. `make test-all` optimises, as users'
programs do. JAX reads these names when it is imported."""
GARBAGE = (50_000, 10, 10)
"""When Python looks for garbage: to import and to trace allocates so much that it always would."""

os.environ.update({name: os.environ.get(name, value) for name, value in COMPILED.items()})
gc.set_threshold(*GARBAGE)
type_checker.install()


def pytest_collection_finish():
    """Modules live as long as the tests: whoever looks for garbage need not look at them."""
    gc.collect()
    gc.freeze()


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
