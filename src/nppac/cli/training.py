"""Commands that train: `train` and `resume`."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nppac.api import default_directory, train
from nppac.cli.arguments import OptionalCount, RunPath
from nppac.cli.parsing import parse
from nppac.cli.run_options import chosen_config, layout_for
from nppac.cli.show import flatten, show
from nppac.cli.sweep import sweep_over_seeds
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.plotting.report import write_report
from nppac.sweeps.sweep import SweepOptions
from nppac.training.config import RunConfig, to_json
from nppac.training.directory import CONFIG_FILE
from nppac.training.presets import Preset
from nppac.training.runs import resume_run
from nppac.training.signals import Interrupted, exit_code
from nppac.training.tracking import Tracker, tracker_of, tracking
from nppac.training.trust import with_mark

REPORT_FILE = "report.html"
FLAT = frozenset({"agent", "schedule"})
BRIEF = frozenset(
    {"task", "method", "preset", "demos", "reference", "steps", "seed", "seeds", "out", "track"}
)
"""What `--help` shows beside the two flags about files of settings."""


@dataclass(frozen=True)
class TrainArguments:
    """Train a policy with the settings of a preset; every flag overrides one of them.

    The defaults shown below are those of the chosen --task, --method, --preset and --config.
    """

    run: RunConfig
    preset: Preset = "default"
    """default: what works best on a small machine. paper: the paper's method and settings."""
    out: Path | None = None
    """Directory of the run; by default runs/TASK-METHOD-seedN."""
    config: Path | None = None
    """A file of settings, such as an edited config.json of a run; other flags win over it."""
    refit: bool = False
    """Fit the reference even if the same was fitted before."""
    seeds: str | None = None
    """Train with each of several seeds, such as 0..4, as `nppac sweep` does."""
    track: Tracker | None = None
    """Also log the metrics for TensorBoard, or for Weights & Biases, offline; in the directory."""
    print_config: bool = False
    """Print the settings as JSON, which --config reads, and do nothing else."""


def train_arguments(args: Sequence[str]) -> TrainArguments:
    """Parse twice: task, method, preset and file give the defaults that other flags override."""
    config = chosen_config(args)
    layout = layout_for(config, BRIEF | {"config", "print_config"}, FLAT)
    return parse(TrainArguments, args, "nppac train", TrainArguments(config), layout)


def train_command(args: Sequence[str]) -> None:
    """Train a policy from demonstrations."""
    found = train_arguments(args)
    if found.print_config:
        print(json.dumps(with_mark(to_json(found.run)), indent=2))
        return
    if found.seeds is not None:
        options = SweepOptions(refit=found.refit, track=found.track)
        sweep_over_seeds(found.run, found.seeds, found.out, options)
        return
    directory = found.out or default_directory(found.run)

    def work() -> dict[str, object]:
        with tracking(found.track, directory) as log:
            how = {"refit": found.refit, "callback": log}
            return train(config=found.run, out=directory, **how).summary

    _guard(directory, work)


def resume_command(
    run: RunPath, steps: OptionalCount = None, trust: bool = False, track: Tracker | None = None
) -> None:
    """Continue a run that was stopped or killed, exactly where its last checkpoint left it.

    Args:
        run: Directory of the run.
        steps: New total of environment steps, to extend a finished run.
        trust: Import the modules that a run from elsewhere names.
        track: Log for TensorBoard or Weights & Biases; by default what the run did so far.

    """

    def work() -> dict[str, object]:
        with tracking(track or tracker_of(run), run, required=track is not None) as log:
            return resume_run(run, steps, trust=trust, callback=log)

    _guard(run, work)


def _guard(directory: Path, work: Callable[[], dict[str, object]]) -> None:
    """Run training work; show the summary at its end and how to resume if it was stopped."""
    try:
        summary = work()
    except (Interrupted, KeyboardInterrupt) as stop:
        begun = (directory / CONFIG_FILE).exists()
        remedy = f"Continue with: nppac resume {shlex.quote(str(directory))}"
        print(f"Stopped. {remedy if begun else 'Nothing was written yet.'}", file=sys.stderr)
        raise SystemExit(exit_code(stop)) from None
    picture = directory / "curve.png"
    metrics = load_metrics(directory / METRICS_FILE)
    # Matplotlib takes long to import, and a run that is stopped draws nothing.
    from nppac.plotting.learning_curve import draw_learning_curves

    draw_learning_curves({str(summary["method"]): [metrics]}, picture, title=directory.name)
    page = own_report(directory)
    show("Summary", {k: v for k, v in flatten(summary).items() if v is not None})
    print(f"Run: {directory}\nPicture: {picture}")
    if page is not None:
        print(f"Report: {page}")


def own_report(directory: Path) -> Path | None:
    """Write the report of a run into its directory; one that cannot be is told, and no error."""
    page = directory / REPORT_FILE
    try:
        write_report([directory], page)
    except Exception as error:  # the run is done and saved: nothing may make it look failed
        print(f"The run has no report: {error}", file=sys.stderr)
        return None
    return page
