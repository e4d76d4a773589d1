"""The command `tune`: the same search for every method."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from nppac.cli.parsing import parse
from nppac.cli.show import console
from nppac.cli.sweep import FLAT_OPTIONS, finish_sweep, show_plan
from nppac.sweeps.sweep import SweepOptions
from nppac.sweeps.tuning import choose, read_tuning_file, tuning_runs
from nppac.utils.errors import UserError


@dataclass(frozen=True)
class TuneArguments:
    """Search for the settings of each method, all with the same budget.

    For example:

        tasks: {door: {demos: door.npz}}
        settings: {steps: 15000}
        tuning_seeds: 100..102
        evaluation_seeds: 0..5
        methods:
          nppac: {temperature: [0.1, 0.5, 1.0]}
          sac: {learning_rate: [1e-4, 3e-4, 1e-3]}

    `search: random` with `trials: 8` draws from lists, or from {low: 0.1, high: 1, log: true}. Each
    choice is written to DIR/tuned/TASK-METHOD.json, which `nppac train --config` and a plan's
    `config: DIR/tuned/{task}-{method}.json` read. Seeds that chose may not judge.
    """

    plan: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="PLAN.yaml")]
    """What to search; docs/sweeps.md explains its keys."""
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None
    """Directory of the trials; by default runs/NAME-OF-THE-PLAN."""
    dry_run: bool = False
    """Show the trials, the time that they will take and what is wrong with them; train nothing."""
    trust: bool = False
    """Import the modules that the plan names, as module:name."""
    options: SweepOptions = field(default_factory=SweepOptions)


def tune_command(args: Sequence[str]) -> None:
    """Search for the settings of methods, with the same budget for each."""
    given = parse(TuneArguments, args, "nppac tune", layout=FLAT_OPTIONS)
    tuning = read_tuning_file(given.plan, trust=given.trust)
    out, options = given.out or tuning.out, given.options
    if "://" in out:
        raise UserError(f"'out' is {out}; tuning reads its runs, and needs a directory.")
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
