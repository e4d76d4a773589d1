"""Compiled programs kept between runs, so that a second start need not compile again."""

import hashlib
import os
import platform
from pathlib import Path

import jax

from nppac.utils.threads import thread_count

SETTING = "jax_compilation_cache_dir"
SHORTEST_SECONDS = 0.1
"""Programs that compile faster are not worth a file."""


def keep_compiled_programs() -> Path | None:
    """Let JAX keep its compiled programs in the user's cache; None where that cannot be.

    JAX's own setting of the directory, if there is one, stands.
    """
    chosen = getattr(jax.config, SETTING)
    if chosen is not None:
        return Path(chosen)
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        directory = cache / "nppac" / f"compiled-{machine_kind()}"
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home directory can be found out
        return None
    if not os.access(directory, os.W_OK | os.X_OK):
        return None
    jax.config.update(SETTING, str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST_SECONDS)
    return directory


def machine_kind() -> str:
    """A short name for this kind of processor: a home directory may be shared by several.

    The compiler divides work among the threads that it finds, and a sum that is divided otherwise
    may differ in its last bits. So their number is part of the name.
    """
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    kind = [line for line in lines if line.startswith(("model name", "flags", "Features"))][:2]
    threads = os.environ.get("NPROC") or str(thread_count())
    return hashlib.sha256("\n".join([platform.machine(), threads, *kind]).encode()).hexdigest()[:12]
