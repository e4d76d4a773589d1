import os
import subprocess
import sys

from nppac.utils.threads import available_cores, pin_to, thread_environment

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
