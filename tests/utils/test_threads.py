import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from nppac.utils.errors import UserError
from nppac.utils.threads import (
    VARIABLES,
    available_cores,
    bounded_threads,
    pin_to,
    single_blas_thread,
    thread_count,
    thread_environment,
)

COUNT = """
import os, sys
from nppac.utils.threads import available_cores, pin_to
if len(sys.argv) > 1:
    pin_to([int(sys.argv[1])])
import jax.numpy as jnp
(jnp.ones((300, 300)) @ jnp.ones((300, 300))).block_until_ready()
print(len(available_cores()), len(os.listdir("/proc/self/task")))
"""


def counts(threads, *args):
    environment = {**os.environ, **thread_environment(threads)}
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *args], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def test_the_environment_bounds_the_threads_of_blas_and_xla():
    few, many = counts(1)[1], counts(6)[1]
    assert many >= few + 5


def test_a_pinned_process_sees_its_cores_only():
    core = available_cores()[-1]
    assert counts(1, str(core))[0] == 1


def test_pinning_to_the_cores_at_hand_changes_nothing():
    before = available_cores()
    pin_to(before)
    assert available_cores() == before


def test_threads_are_the_cores_of_this_process_or_fewer(monkeypatch):
    monkeypatch.delenv("NPPAC_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert thread_count() == 3
    for limit, expected in (("2", 2), ("8", 3), ("", 3)):
        monkeypatch.setenv("NPPAC_THREADS", limit)
        assert thread_count() == expected
    monkeypatch.setenv("NPPAC_THREADS", "")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert thread_count() == 1


@pytest.mark.parametrize("limit", ["0", "-1", "two", "1.5"])
def test_a_limit_that_is_no_number_is_named(monkeypatch, limit):
    monkeypatch.setenv("NPPAC_THREADS", limit)
    with pytest.raises(UserError, match=f"NPPAC_THREADS is '{limit}'"):
        thread_count()


def test_a_bound_holds_for_the_time_being_and_never_exceeds_the_cores(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    cores = len(available_cores())
    for asked in (1, cores + 5):
        with bounded_threads(asked):
            expected = {name: str(min(asked, cores)) for name in VARIABLES}
            assert {name: os.environ[name] for name in VARIABLES} == expected
            assert thread_count() == min(asked, cores)
        assert {name: os.environ.get(name) for name in VARIABLES} == {
            **dict.fromkeys(VARIABLES),
            "OMP_NUM_THREADS": "7",
        }
    with bounded_threads():
        assert "NPROC" not in os.environ
    monkeypatch.setenv("NPPAC_THREADS", "1")
    with bounded_threads():
        assert os.environ["NPROC"] == os.environ["OMP_NUM_THREADS"] == "1"


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_until_the_last_has_left():
    np.ones((2, 2)) @ np.ones((2, 2))
    with single_blas_thread():
        before = blas_threads()
        with single_blas_thread():
            pass
        assert before == blas_threads() == {1}
    with single_blas_thread():
        assert blas_threads() == {1}
