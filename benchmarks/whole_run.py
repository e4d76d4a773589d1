"""Wall time of a whole run and where it goes, and how long a start takes.

    python benchmarks/whole_run.py

20,000 environment steps of N-PPAC with evaluations and checkpoints, as `nppac train` makes them,
with a saved reference. And the command itself up to its first updates: once with nothing compiled
before, and again with what the first start left in the cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import jax
from rich.table import Table

from epochs import random_gp
from nppac.cli.show import console
from nppac.references import GPConfig
from nppac.tasks import (
    action_dim,
    get_task,
    make_env,
    obs_dim,
)
from nppac.training import loop as training
from nppac.training import runs
from nppac.training.config import RunConfig
from nppac.training.presets import preset
from nppac.training.runs import start_run
from rounds import against, machine, write_record

POINTS = {"door": 5_000, "halfcheetah": 15_000}
LONGEST_START = 20.0
"""Seconds from the command to its first updates, with programs that were compiled before."""
FIRST_UPDATE = Path(__file__).with_name("first_update.py")
DEFERRED = ("pretraining", "replay insert", "updates")
"""Parts whose results JAX hands out before they are computed."""
COMPILED = "/jax/core/compile/backend_compile_duration"


class Profile:
    """Seconds by part; time within a part counts for the innermost one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._parts, self._since = ["the rest"], time.monotonic()
        jax.monitoring.register_event_duration_secs_listener(self._compiled)

    def _charge(self) -> None:
        now, part = time.monotonic(), self._parts[-1]
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._since
        self._since = now

    def _compiled(self, event: str, seconds: float, **_: Any) -> None:
        if event == COMPILED:
            self._since = min(self._since + seconds, time.monotonic())
            self.seconds["compiling"] = self.seconds.get("compiling", 0.0) + seconds

    def of(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time charged to a part; all of an evaluation is evaluation."""

        def timed(*args: Any, **settings: Any) -> Any:
            self._charge()
            self._parts.append("evaluation" if "evaluation" in self._parts else part)
            try:
                result = function(*args, **settings)
                return jax.block_until_ready(result) if part in DEFERRED else result
            finally:
                self._charge()
                self._parts.pop()

        return timed

    def result(self) -> dict[str, float]:
        self._charge()
        return self.seconds


@contextmanager
def profiled(profile: Profile) -> Iterator[None]:
    """Training whose parts are timed."""
    places: list[tuple[Any, str, str]] = [
        (training, "demo_transitions", "reference"),
        (training, "pretrain_on_demos", "pretraining"),
        (training, "collect", "collecting"),
        (training, "transitions", "reference"),
        (training, "insert", "replay insert"),
        (training, "run_updates", "updates"),
        (training, "evaluate_agent", "evaluation"),
        (training, "save_checkpoint", "checkpoint"),
    ]
    before = [getattr(module, name) for module, name, _ in places]
    make, explore = runs.make_env, training.exploring_policy
    for module, name, part in places:
        setattr(module, name, profile.of(part, getattr(module, name)))
    patched: Any = training
    patched.exploring_policy = lambda *args: profile.of("acting", explore(*args))
    patched = runs
    patched.make_env = lambda *args: _timed_env(make(*args), profile)
    try:
        yield
    finally:
        for (module, name, _), function in zip(places, before, strict=True):
            setattr(module, name, function)
        patched.make_env = make
        patched = training
        patched.exploring_policy = explore


def _timed_env(env: gymnasium.Env, profile: Profile) -> gymnasium.Env:
    for name in ("step", "reset"):
        setattr(env, name, profile.of("environment", getattr(env, name)))
    return env


def save_reference(task: str, directory: Path) -> Path:
    """A GP of the task's shapes, as a file."""
    env = make_env(get_task(task))
    kernel = preset(task).gp.kernel
    kernel = "matern52" if kernel == "auto" else kernel
    path = directory / f"{task}.npz"
    random_gp(POINTS[task], obs_dim(env), action_dim(env), kernel).save(path)
    return path


def run_config(task: str, reference: Path, steps: int) -> RunConfig:
    """The preset with so many steps and a saved reference; without demos nothing is pretrained."""
    config = preset(task)
    schedule = replace(config.schedule, steps=steps)
    if config.demos is None:
        schedule = replace(schedule, pretrain_epochs=0)
    return replace(config, schedule=schedule, reference=str(reference), gp=GPConfig())


def whole_run(task: str, reference: Path, steps: int, directory: Path) -> dict[str, Any]:
    profile = Profile()
    began = time.monotonic()
    with profiled(profile):
        start_run(run_config(task, reference, steps), directory / f"{task}-run")
    seconds = time.monotonic() - began
    size = (directory / f"{task}-run" / "checkpoint.npz").stat().st_size / 1e6
    return {"seconds": seconds, "parts": profile.result(), "checkpoint_megabytes": size}


def start(task: str, reference: Path, directory: Path, label: str) -> dict[str, float]:
    """Seconds from launching the command to each mark, with the cache in `directory`."""
    flags = ["--task", task, "--reference", str(reference), "--pretrain-epochs", "0"]
    began = time.time()
    output = subprocess.run(
        [sys.executable, str(FIRST_UPDATE), *flags, "--out", str(directory / f"{task}-{label}")],
        env={**os.environ, "XDG_CACHE_HOME": str(directory / f"{task}-cache")},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return {name: when - began for name, when in json.loads(output.splitlines()[-1]).items()}


def show(task: str, result: dict[str, Any]) -> None:
    table = Table(f"{task}, {result['seconds']:.0f} s", "s", "share")
    for part, seconds in sorted(result["parts"].items(), key=lambda item: -item[1]):
        table.add_row(part, f"{seconds:.1f}", f"{seconds / result['seconds']:.1%}")
    console().print(table)
    for label, marks in result["start"].items():
        print(f"  {label} start: " + ", ".join(f"{m} {s:.1f} s" for m, s in marks.items()))
    words = against(result["start"]["warm"]["first update"], LONGEST_START, at_most=True)
    print(f"  first updates on a warm cache after, in seconds: {words}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", action="append", help="default: door and halfcheetah")
    parser.add_argument("--steps", type=int, default=20_000)
    args = parser.parse_args()
    host, results = machine(), {}
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        for task in args.task or list(POINTS):
            reference = save_reference(task, directory)
            starts = {label: start(task, reference, directory, label) for label in ("cold", "warm")}
            results[task] = whole_run(task, reference, args.steps, directory) | {"start": starts}
            show(task, results[task])
    write_record("whole_run", {"settings": vars(args), "machine": host, "tasks": results})


if __name__ == "__main__":
    main()
