"""Kills a small run again and again, and compares its end with that of one that nobody disturbed.

    python benchmarks/soak_kills.py --kills 200 --out record.json

Kills come at random times and inside the writes of files, by SIGKILL, and now and then by SIGTERM,
which a run must answer with a checkpoint and exit code 143. Each process is forked from this one,
in which JAX has not begun to work, so that a kill costs no imports.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import jax
import numpy as np

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.schedule import Schedule
from nppac.evaluation.metrics import CLOCK_COLUMNS, load_metrics
from nppac.training.config import RunConfig
from nppac.training.runs import resume_run, start_run
from nppac.training.signals import Interrupted, exit_code
from nppac.utils import files
from nppac.utils.files import is_leftover, read_arrays, write_json
from nppac.utils.provenance import provenance

CONFIG = RunConfig(
    task="Pendulum-v1",
    method="sac",
    reference="uniform",
    agent=KLActorCritic(policy_hidden=(16,), critic_hidden=(16,)),
    schedule=Schedule(
        steps=1000,
        epoch_steps=50,
        warmup_steps=50,
        batch_size=16,
        replay_capacity=600,
        eval_every=100,
        eval_episodes=1,
        eval_envs=1,
        checkpoint_every=50,
    ),
)
WRITES = 250
"""Operations on files of a whole run, roughly; a kill inside a write comes before one of them."""


def work(directory: Path) -> int:
    """Begin the run, or go on with it."""
    try:
        if (directory / "config.json").exists():
            resume_run(directory)
        else:
            start_run(CONFIG, directory)
    except (Interrupted, KeyboardInterrupt) as stop:
        return exit_code(stop)
    return 0


def in_a_child(directory: Path, log: Path, kill_at_write: int = 0) -> int:
    """Fork a process that works; it kills itself before so many operations on files."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        if kill_at_write:
            kill_before(kill_at_write)
        code = work(directory)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def kill_before(number: int) -> None:
    """Let this process kill itself before its so-many-th operation on a file."""
    count = 0

    def counted(inner):
        def call(*args, **kwargs):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return inner(*args, **kwargs)

        return call

    for name in ("fsync", "replace", "link", "mkdir"):
        setattr(os, name, counted(getattr(os, name)))
    files.seal_archive = counted(files.seal_archive)  # an archive without its last bytes


def exit_of(pid: int) -> int:
    """How a process ended, as `subprocess` says it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def check_between(directory: Path) -> None:
    """Whatever was interrupted, there is a checkpoint that is whole, or none yet."""
    for name in ("checkpoint.npz", "checkpoint.previous.npz", "reference.npz"):
        if (directory / name).exists():
            read_arrays(directory / name)


def differences(directory: Path, undisturbed: Path) -> list[str]:
    """What of the state and of the metrics is not the same, bit for bit; the clock is left out."""
    ours, theirs = ({**read_arrays(d / "checkpoint.npz")} for d in (directory, undisturbed))
    ours |= load_metrics(directory / "metrics.csv")
    theirs |= load_metrics(undisturbed / "metrics.csv")
    timed = {"progress/wall_seconds", *CLOCK_COLUMNS}
    names = sorted((ours.keys() | theirs.keys()) - timed)
    different = [n for n in names if not _same(ours.get(n), theirs.get(n))]
    left = [path.name for path in directory.iterdir() if is_leftover(path)]
    return different + left


def _same(ours: np.ndarray | None, theirs: np.ndarray | None) -> bool:
    if ours is None or theirs is None or ours.dtype != theirs.dtype:
        return False
    return ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


class Soak:
    """One run after the other in a directory of its own, killed on the way."""

    def __init__(self, folder: Path, seed: int):
        self.folder, self.log = folder, folder / "log.txt"
        self.rng, self.counts = np.random.default_rng(seed), Counter()
        self.problems: list[str] = []
        self.undisturbed = folder / "undisturbed"
        for _ in range(2):  # the second finds compiled programs, as those that are killed will
            shutil.rmtree(self.undisturbed, ignore_errors=True)
            began = time.monotonic()
            assert exit_of(in_a_child(self.undisturbed, self.log)) == 0, self.log.read_text()
            self.seconds = time.monotonic() - began
        self.directory = folder / "run"

    def kill(self, kind: str) -> bool:
        """Work until the kill; False, and a comparison, where the run was faster."""
        limit = int(self.rng.integers(1, WRITES // 4)) if kind == "inside a write" else 0
        pid = in_a_child(self.directory, self.log, limit)
        if kind != "inside a write":
            time.sleep(self.rng.uniform(0.1, 0.9) * self.seconds)
            os.kill(pid, signal.SIGTERM if kind == "SIGTERM" else signal.SIGKILL)
        code = exit_of(pid)
        expected = (0, 143) if kind == "SIGTERM" else (0, -signal.SIGKILL)
        if code not in (*expected, -signal.SIGTERM):
            self.problems.append(f"{kind}: exit code {code}")
        self.counts["finished first" if code == 0 else kind] += 1
        check_between(self.directory)
        if code == 0:
            self.compare()
        return code != 0

    def finish(self) -> None:
        """Let the last run come to its end."""
        if exit_of(in_a_child(self.directory, self.log)) != 0:
            self.problems.append("the last run did not end")
        else:
            self.compare()

    def compare(self) -> None:
        """Note what of a finished run differs."""
        self.counts["runs compared"] += 1
        self.problems += differences(self.directory, self.undisturbed)
        shutil.rmtree(self.directory)


def main() -> None:
    """Run the soak and write its record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="by SIGKILL")
    parser.add_argument("--terminations", type=int, default=20, help="by SIGTERM")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("soak_kills.json"))
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", f"{folder}/compiled")
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        soak = Soak(Path(folder), args.seed)
        half = args.kills // 2
        kinds = ["inside a write"] * half + ["at a random time"] * (args.kills - half)
        kinds += ["SIGTERM"] * args.terminations
        left = [str(kind) for kind in soak.rng.permutation(kinds)]
        while left and time.monotonic() - began < 60 * args.minutes:
            kind = left.pop()
            if not soak.kill(kind):  # the run was faster: the kill is still to be made
                left.insert(int(soak.rng.integers(len(left) + 1)), kind)
            print(f"{len(left)} left, {dict(soak.counts)}", end="\r", file=sys.stderr)
        soak.finish()
        if soak.problems:
            print(soak.log.read_text()[-5000:], file=sys.stderr)
    seconds = round(time.monotonic() - began, 1)
    record = {"counts": dict(soak.counts), "problems": soak.problems, "seconds": seconds}
    command = shlex.join(["python", *sys.argv])
    write_json(args.out, {**record, "provenance": provenance() | {"command": command}})
    print(f"\n{json.dumps(record, indent=2)}")
    raise SystemExit(1 if soak.problems else 0)


if __name__ == "__main__":
    main()
