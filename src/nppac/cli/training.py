"""Commands that train: `train` and `resume`."""

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, cast

import tyro

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import get_method
from nppac.agents.schedule import Schedule
from nppac.cli.arguments import Choice, OptionalCount, OptionalDemos, RunPath
from nppac.cli.show import flatten, show
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.plotting.learning_curve import draw_learning_curves
from nppac.references import GPConfig, NetworkConfig
from nppac.training.config import RunConfig
from nppac.training.directory import CONFIG_FILE
from nppac.training.presets import Preset, default_method, preset
from nppac.training.runs import resume_run, start_run
from nppac.training.signals import Interrupted, exit_code

A = TypeVar("A")


@dataclass(frozen=True)
class TrainArgs(Generic[A]):
    """Train a policy with the settings of a preset; every flag overrides one of them.

    The defaults shown below are those of the chosen --task, --method and --preset.
    """

    task: str = "door"
    """A task of the paper (halfcheetah, walker2d, ant, door, pen) or any Gymnasium id."""
    method: str = "nppac-anchored"
    """nppac-anchored, the paper's nppac, or a method to compare with: see `nppac methods`."""
    preset: Preset = "default"
    """default: what works best on a small machine. paper: the paper's method and settings."""
    demos: OptionalDemos = None
    """Demonstrations: a file of any known format, a Minari id or an embedded name."""
    demo_episodes: OptionalCount = None
    """Use only the first so many demonstrations."""
    reference: str = "gp"
    """A name that `nppac references` lists, the file of a saved one, or your module:function."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIRECTORY")] = None
    """Directory of the run; by default runs/TASK-METHOD-seedN."""
    seed: int = 0
    """Seed of everything random."""
    agent: Annotated[A, tyro.conf.OmitArgPrefixes] = field(default_factory=cast(Any, KLActorCritic))
    schedule: Annotated[Schedule, tyro.conf.OmitArgPrefixes] = field(default_factory=Schedule)
    gp: GPConfig = field(default_factory=GPConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)


def train(argv: Sequence[str]) -> None:
    """Parse twice: task, method and preset give the defaults that the other flags override."""
    chosen, _ = tyro.cli(Choice, args=argv, return_unknown_args=True, add_help=False)
    name = cast(Preset, chosen.preset)
    base = preset(chosen.task, chosen.method or default_method(name), name)
    defaults = TrainArgs(
        task=base.task,
        method=base.method,
        preset=name,
        demos=base.demos,
        reference=base.reference,
        agent=base.agent,
        schedule=base.schedule,
        gp=base.gp,
        network=base.network,
    )
    # The flags of an agent are the fields of its class, which the method decides.
    kind = cast(Any, TrainArgs)[get_method(base.method).agent]
    args: TrainArgs = tyro.cli(kind, args=argv, default=defaults, prog="nppac train")
    task = re.sub(r"[^\w.-]+", "-", args.task)  # an id may name a module and a namespace
    directory = args.out or Path("runs") / f"{task}-{args.method}-seed{args.seed}"
    config = RunConfig(
        task=args.task,
        method=args.method,
        demos=args.demos,
        demo_episodes=args.demo_episodes,
        reference=args.reference,
        seed=args.seed,
        agent=args.agent,
        gp=args.gp,
        network=args.network,
        schedule=args.schedule,
    )
    _guard(directory, lambda: start_run(config, directory))


def resume(run: RunPath, steps: OptionalCount = None, trust: bool = False) -> None:
    """Continue a run that was stopped or killed, exactly where its last checkpoint left it.

    Args:
        run: Directory of the run.
        steps: New total of environment steps, to extend a finished run.
        trust: Import the modules that a run from elsewhere names.

    """
    _guard(run, lambda: resume_run(run, steps, trust=trust))


def _guard(directory: Path, work: Callable[[], dict[str, Any]]) -> None:
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
    draw_learning_curves({summary["method"]: [metrics]}, picture, title=directory.name)
    show("Summary", {k: v for k, v in flatten(summary).items() if v is not None})
    print(f"Run: {directory}\nPicture: {picture}")
