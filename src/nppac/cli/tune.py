"""The command `tune`: the same search for every method."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from nppac.cli.parsing import parse
from nppac.cli.show import console
from nppac.cli.sweep import finish_sweep, show_plan
from nppac.sweeps.sweep import SweepOptions
from nppac.sweeps.tuning import choose, read_tuning_file, tuning_runs
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class TuneArguments:
    """Search for the settings of each method, all with the same budget.

    For example:

    Methods:
          nppac: {temperature: [0.1, 0.5, 1.0]}
          sac: {learning_rate: [1e-4, 3e-4, 1e-3]}
        tasks: {door: {demos: door.npz}}
        tuning_seeds: 100..102
        evaluation_seeds: 0..5
        settings: {steps: 15000}

    `search: random` with `trials: 8` draws from lists, or from {low: 0.1, high: 1, log: true}. Each
    choice is written to DIR/tuned/TASK-METHOD.json, which `nppac train --config` and a plan's
    `config: DIR/tuned/{task}-{method}.json` read. Seeds that chose may not judge.
    """

    plan: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="PLAN.yaml")]
    """What to search; docs/sweeps.md explains its keys."""
    out: Path | None = None
    """Directory of the trials; by default runs/NAME-OF-THE-PLAN."""
    dry_run: bool = False
    """Show the trials and the time that they will take, and do nothing else."""
    engine: str = "local"
    """local: processes on this machine. ray: a Ray cluster."""
    address: str | None = None
    """Of the Ray cluster."""
    workers: int | None = None
    """Runs side by side on this machine."""
    threads_per_run: int | None = None
    """Cores of each run."""
    gpus: float = 0.0
    """GPUs of each run, with Ray."""
    retries: int = 1
    """How often a run that fails is tried again."""


def tune_command(args: Sequence[str]) -> None:
    """Search for the settings of methods, with the same budget for each."""
    given = parse(TuneArguments, args, "nppac tune")
    tuning = read_tuning_file(given.plan)
    out = str(given.out or tuning.out)
    if "://" in out:
        raise UserError(f"'out' is {out}; tuning reads its runs, and needs a directory.")
    machines = given.engine, given.address, given.workers
    options = SweepOptions(*machines, given.threads_per_run, given.gpus, given.retries)
    runs = tuning_runs(tuning, Path(out))
    if given.dry_run:
        show_plan(runs, out, options)
        return
    finish_sweep(runs, out, options)
    table = Table("task", "method", "best trial", "score", "settings", "file")
    for chosen in choose(tuning, runs, Path(out) / "tuned"):
        settings = tuning.trials[chosen.method][chosen.trial]
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        score = f"{chosen.scores[chosen.trial]:.4g} of {min(chosen.scores):.4g} or more"
        row = (chosen.task, chosen.method, str(chosen.trial), score, words, str(chosen.path))
        table.add_row(*map(Text, row))
    console().print(table)
