"""Sweeps of the toy task, and an engine that does its jobs in this process."""

from collections.abc import Callable
from pathlib import Path

from nppac.sweeps.engine import Ended
from nppac.sweeps.job import Job, do_job
from nppac.sweeps.plan import Plan, PlannedRun, expand
from toy_task import TASK

SETTINGS = {
    "steps": 40,
    "epoch_steps": 20,
    "warmup_steps": 20,
    "batch_size": 16,
    "replay_capacity": 60,
    "eval_every": 20,
    "eval_episodes": 2,
    "eval_envs": 2,
    "checkpoint_every": 20,
    "pretrain_epochs": 0,
    "policy_hidden": [8],
    "critic_hidden": [8],
    "head": "tanh_normal",
    "kl": "sample",
    "temperature": 0.1,
    "exploration_noise": 1.0,
    "gp.kernel": "rbf",
    "gp.max_steps": 5,
}


def toy_plan(demos: Path | None = None, **changes) -> Plan:
    """Two seeds of N-PPAC; without demonstrations against the uniform reference."""
    own = {"reference": "uniform"} if demos is None else {"demos": str(demos)}
    basis = {"methods": {"nppac": {}}, "tasks": {TASK: {}}, "seeds": (0, 1)}
    settings = {**SETTINGS, **own, **changes.pop("settings", {})}
    return Plan(**{**basis, "settings": settings, **changes})


def toy_runs(root: Path, demos: Path | None = None, **changes) -> tuple[PlannedRun, ...]:
    return expand(toy_plan(demos, **changes), root)


Before = Callable[[Job], int | str | None]


class InProcess:
    """One job at a time, here; `before` may decide how a job ends in place of doing it."""

    def __init__(
        self, root: Path | str, before: Callable[[Job], int | str | None] = lambda job: "do"
    ):
        self.root, self.before, self.slots = root, before, 1
        self.queue: list[Job] = []
        self.done: list[Job] = []
        self.closed = False

    def submit(self, job: Job) -> None:
        self.queue.append(job)

    def ended(self, seconds: float) -> list[Ended]:
        jobs, self.queue = self.queue, []
        return [Ended(job, self._do(job)) for job in jobs]

    def _do(self, job: Job) -> int | None:
        self.done.append(job)
        decided = self.before(job)
        return do_job(str(self.root), job) if decided == "do" else decided

    def stop(self) -> None:
        self.queue = []

    def close(self) -> None:
        self.closed = True
