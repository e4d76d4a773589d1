"""Commands for many runs: `sweep`, `sweep status`, and `train --seeds`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from nppac.api import default_directory
from nppac.cli.parsing import Layout, parse
from nppac.cli.show import console
from nppac.sweeps.checks import check_runs
from nppac.sweeps.plan import Plan, PlannedRun, expand
from nppac.sweeps.plan_file import PlanFile, read_plan_file
from nppac.sweeps.rates import estimate, timed_runs, total_seconds
from nppac.sweeps.seeds import parse_seeds
from nppac.sweeps.status import RunStatus
from nppac.sweeps.sweep import (
    SweepOptions,
    local_root,
    local_shares,
    run_sweep,
    sweep_status,
)
from nppac.sweeps.table import duration, status_table
from nppac.training.config import RunConfig
from nppac.training.signals import exit_code
from nppac.utils.errors import UserError
from nppac.utils.yaml_reader import parse_yaml

Names = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME...")]
SweepLocation = Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="DIR")]
TIMED = ("runs", "results")
"""Where finished runs are looked for, to tell how long others will take."""
FLAT_OPTIONS = Layout(owner=SweepOptions)
"""The options of a sweep as flags without a prefix, the same for every command that has them."""


@dataclass(frozen=True)
class SweepArguments:
    """Train many runs: methods x tasks x references x variants x seeds, side by side.

    A plan says what to run; flags add to it or replace it. For example:

        methods: [nppac-anchored, nppac, sac]
        tasks: {door: {demos: door.npz}, pen: {demos: pen.npz}}
        seeds: 0..4
        settings: {steps: 15000, gp.kernel: auto}
        variants: {base: {}, strong: {temperature: 1.0}}

    Settings have the names of `nppac train`'s flags and of config.json. The same command again
    leaves finished runs alone, continues interrupted ones from their checkpoints, and tries failed
    ones again. `nppac sweep status DIR` shows how far they are.
    """

    plan: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="PLAN.yaml")] = None
    """A plan; docs/sweeps.md explains its keys."""
    methods: Names = ()
    """Methods, as `nppac methods` lists them."""
    tasks: Names = ()
    """Tasks, as `nppac tasks` lists them."""
    references: Names = ()
    """References; by default each method's own."""
    seeds: Annotated[str | None, tyro.conf.arg(metavar="0..4")] = None
    """Seeds, such as 0..4 (both included) or 0,2,5; by default 0..2."""
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE...")] = ()
    """Settings of all runs, such as steps=15000 demos=door.npz."""
    out: Annotated[str | None, tyro.conf.arg(metavar="DIR")] = None
    """Directory of the sweep, or a URL that fsspec knows; by default runs/NAME-OF-THE-PLAN."""
    dry_run: bool = False
    """Show the runs, the time that they will take and what is wrong with them; train nothing."""
    trust: bool = False
    """Import the modules that the plan names, as module:name."""
    options: SweepOptions = field(default_factory=SweepOptions)


def sweep_command(args: Sequence[str]) -> None:
    """Train many runs side by side: methods x tasks x references x seeds."""
    given = parse(SweepArguments, args, "nppac sweep", layout=FLAT_OPTIONS)
    file, own = chosen_plan(given), given.options
    location = given.out or file.out
    threads, track = own.threads_per_run or file.threads_per_run, own.track or file.track
    options = replace(own, threads_per_run=threads, track=track)
    runs = expand(file.plan, local_root(location))
    if given.dry_run:
        show_plan(runs, location, options)
    else:
        finish_sweep(runs, location, options)


def chosen_plan(given: SweepArguments) -> PlanFile:
    """The plan of the file, with what flags say in place of its own."""
    if given.plan is None and not (given.methods and given.tasks):
        raise UserError("Give a plan, or both --methods and --tasks. `nppac sweep --help` has one.")
    if given.plan is None:
        file = PlanFile(Plan({}, {}, parse_seeds("0..2"), where="The sweep"), "runs/sweep")
    else:
        file = read_plan_file(given.plan, trust=given.trust)
    old = file.plan
    plan = replace(
        old,
        methods={name: {} for name in given.methods} or old.methods,
        tasks={name: {} for name in given.tasks} or old.tasks,
        references=given.references or old.references,
        seeds=old.seeds if given.seeds is None else parse_seeds(given.seeds, "--seeds"),
        settings={**old.settings, **_settings(given.set)},
    )
    return replace(file, plan=plan)


def _settings(words: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in words:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: write NAME=VALUE, such as steps=15000.")
        found[name] = parse_yaml(value, f"--set {name}")
    return found


def status_command(directory: SweepLocation) -> None:
    """Show how far the runs of a sweep are, read from its directory.

    This needs no running sweep, and disturbs none. A run is waiting, fitting its reference,
    running, finished, failed (the reason is told), or stopped: `nppac sweep` continues it.

    Args:
        directory: Directory or URL of the sweep, as --out of `sweep`, `tune` or `train` named it.

    """
    states = sweep_status(directory)
    console().print(status_table(states))
    _tell_failures(states)


def sweep_over_seeds(
    config: RunConfig, seeds: str, out: Path | None, options: SweepOptions
) -> None:
    """`nppac train --seeds`: the same run with each seed."""
    single = default_directory(config)
    root = out or single.with_name(single.name.removesuffix(f"-seed{config.seed}"))
    runs = tuple(
        PlannedRun(name, replace(config, seed=seed), root / name)
        for seed in parse_seeds(seeds, "--seeds")
        for name in [default_directory(replace(config, seed=seed)).name]
    )
    finish_sweep(runs, str(root), options)


def finish_sweep(runs: Sequence[PlannedRun], location: str, options: SweepOptions) -> None:
    """Run a sweep and show what came of it; exits with 1 if a run failed."""
    try:
        states = run_sweep(runs, location, options)
    except KeyboardInterrupt as stop:
        print("Stopped. The same command continues.", file=sys.stderr)
        raise SystemExit(exit_code(stop)) from None
    console().print(status_table(states))
    _tell_failures(states)
    here = str(local_root(location))  # of a URL the copy, which has all that a report shows
    print(f"Compare them with: nppac report {shlex.quote(here)}")
    if any(state.state != "finished" for state in states):
        raise SystemExit(1)


def _tell_failures(states: Sequence[RunStatus]) -> None:
    for state in states:
        if state.state == "failed":
            print(f"{state.name} failed: {state.reason}", file=sys.stderr)


def show_plan(runs: Sequence[PlannedRun], location: str, options: SweepOptions) -> None:
    """The runs of a plan, with the time that runs like them have taken; a mistake is told last."""
    known = timed_runs(dict.fromkeys([local_root(location), *map(Path, TIMED)]))
    table = Table("run", "reference", "steps", "time", "rate from")
    for run in runs:
        found = estimate(run.config, known)
        time, source = ("unknown", "") if found is None else (duration(found.seconds), found.source)
        steps = f"{run.config.schedule.steps:,}"
        table.add_row(Text(run.name), Text(run.config.reference), steps, time, Text(source))
    out = console()
    out.print(table)
    side = len(local_shares(len(runs), options)) if options.engine == "local" else 1
    total = total_seconds(runs, known, side)
    what = "unknown: runs like some of these were never timed" if total is None else duration(total)
    how = f"{side} side by side" if options.engine == "local" else "one after the other"
    print(f"{len(runs)} runs in {location}; time, {how}: {what}.")
    check_runs(runs)
