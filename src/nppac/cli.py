"""The command line: `nppac COMMAND`, each command a function whose docstring is its help."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

import nppac
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.demos import (
    convert,
    demos_from_episodes,
    describe,
    embedded_names,
    load_demos,
    load_embedded,
    save_demos,
    validate,
)
from nppac.errors import UserError, unknown_name
from nppac.figures.learning_curve import draw_learning_curves
from nppac.files import write_json
from nppac.presets import METHODS, Preset, preset
from nppac.progress import progress_bar
from nppac.references import GPConfig, load_reference
from nppac.results import CONFIG_FILE, METRICS_FILE, load_metrics
from nppac.rollout import episode_seeds, rollout
from nppac.runs import (
    RunConfig,
    check_fits,
    evaluate_policy,
    evaluation_summary,
    fit_reference,
    group_by_method,
    load_policy,
    load_task_demos,
    provenance,
    read_config,
    resume_run,
    start_run,
)
from nppac.tasks import TASKS, get_task, make_env
from nppac.training import Interrupted, Schedule
from nppac.video import record_video

Positional = tyro.conf.Positional
RunPath = Annotated[Positional[Path], tyro.conf.arg(metavar="RUN")]
PolicyPath = Annotated[Positional[Path], tyro.conf.arg(metavar="POLICY")]
OptionalCount = Annotated[int | None, tyro.conf.arg(metavar="N")]
OptionalDemos = Annotated[str | None, tyro.conf.arg(metavar="DEMOS")]
OptionalTask = Annotated[str | None, tyro.conf.arg(metavar="TASK")]
EVALUATION_SEED = 1_000_003  # far from the seeds that people train with
PIPE_WIDTH = 160  # columns of a table that no terminal limits


@dataclass(frozen=True)
class TrainArgs:
    """Train a policy with the settings of a preset; every flag overrides one of them.

    The defaults shown below are those of the chosen --task, --method and --preset.
    """

    task: str = "door"
    """A task of the paper (halfcheetah, walker2d, ant, door, pen) or any Gymnasium id."""
    method: str = "nppac"
    """nppac: the paper's method. sac: the same agent against a uniform reference."""
    preset: Preset = "default"
    """default: what works best on a small machine. paper: the paper's settings."""
    demos: OptionalDemos = None
    """Demonstrations: a file of any known format, a Minari id or an embedded name."""
    demo_episodes: OptionalCount = None
    """Use only the first so many demonstrations."""
    reference: str = "gp"
    """gp: fit one to the demonstrations. uniform: none. Else the file of a saved reference."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIRECTORY")] = None
    """Directory of the run; by default runs/TASK-METHOD-seedN."""
    seed: int = 0
    """Seed of everything random."""
    agent: Annotated[KLActorCritic, tyro.conf.OmitArgPrefixes] = field(
        default_factory=KLActorCritic
    )
    schedule: Annotated[Schedule, tyro.conf.OmitArgPrefixes] = field(default_factory=Schedule)
    gp: GPConfig = field(default_factory=GPConfig)


def train(argv: Sequence[str]) -> None:
    """Parse twice: task, method and preset give the defaults that the other flags override."""
    chosen, _ = tyro.cli(_Choice, args=argv, return_unknown_args=True, add_help=False)
    name = cast(Preset, chosen.preset)
    base = preset(chosen.task, chosen.method, name)
    defaults = TrainArgs(
        task=base.task,
        method=base.method,
        preset=name,
        demos=base.demos,
        reference=base.reference,
        agent=base.agent,
        schedule=base.schedule,
        gp=base.gp,
    )
    args = tyro.cli(TrainArgs, args=argv, default=defaults, prog="nppac train")
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
        schedule=args.schedule,
    )
    _guard(directory, lambda: start_run(config, directory))


@dataclass(frozen=True)
class _Choice:
    task: str = "door"
    method: str = "nppac"
    preset: str = "default"  # checked by `preset`, which suggests the nearest


def resume(run: RunPath, steps: OptionalCount = None) -> None:
    """Continue a run that was stopped or killed, exactly where its last checkpoint left it.

    Args:
        run: Directory of the run.
        steps: New total of environment steps, to extend a finished run.

    """
    _guard(run, lambda: resume_run(run, steps))


def _guard(directory: Path, work: Callable[[], dict[str, Any]]) -> None:
    """Run training work; show the summary at its end and how to resume if it was stopped."""
    try:
        summary = work()
    except (Interrupted, KeyboardInterrupt):
        begun = (directory / CONFIG_FILE).exists()
        remedy = f"Continue with: nppac resume {shlex.quote(str(directory))}"
        print(f"Stopped. {remedy if begun else 'Nothing was written yet.'}", file=sys.stderr)
        raise SystemExit(130) from None
    picture = directory / "curve.png"
    metrics = load_metrics(directory / METRICS_FILE)
    draw_learning_curves({summary["method"]: [metrics]}, picture, title=directory.name)
    _show("Summary", {k: v for k, v in _flatten(summary).items() if v is not None})
    print(f"Run: {directory}\nPicture: {picture}")


def compare(
    runs: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")],
    out: Path = Path("comparison.png"),
) -> None:
    """Compare runs on one task: a table of methods over seeds, and their learning curves.

    Args:
        runs: Directories of runs, of one task and any methods and seeds.
        out: The picture to draw.
    """
    groups = group_by_method(runs)
    table = Table("method", "seeds", "steps", "at start", "at end", "best", title=f"{out.stem}")
    methods = {}
    for method, group in groups.items():
        methods[method] = [load_metrics(run / METRICS_FILE) for run in group]
        steps = max(int(metrics["env_steps"][-1]) for metrics in methods[method])
        cells = [_mean_and_spread(values) for values in evaluation_summary(methods[method])]
        table.add_row(method, str(len(group)), f"{steps:,}", *cells)
    _console().print(table)
    draw_learning_curves(methods, out, title=read_config(runs[0]).task)
    print(f"Picture: {out}")


def _mean_and_spread(values: Sequence[float]) -> str:
    """Mean over seeds, and the lowest and highest of them."""
    mean = sum(values) / len(values)
    return f"{_text(mean)} ({_text(min(values))} to {_text(max(values))})"


def evaluate(
    policy: PolicyPath,
    episodes: int = 100,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
) -> None:
    """Evaluate a run's policy, or a saved reference's mean, over many episodes.

    Args:
        policy: Directory of a run, or the file of a reference.
        episodes: Number of episodes.
        task: Task to act in; needed for a reference.
        seed: Seed of the episodes.
        json: Also write the result, with the command and commit, to this file.

    """
    act, task = _policy(policy, task)
    result = evaluate_policy(get_task(task), act, episodes, seed)
    shown = {k: v for k, v in result.items() if not isinstance(v, list | tuple)}
    _show(f"{policy} on {task}, {episodes} episodes", shown)
    if json is not None:
        write_json(
            json,
            {"task": task, "policy": str(policy), "seed": seed, **result}
            | {"provenance": provenance()},
        )


def render(
    policy: PolicyPath,
    out: Path = Path("video.mp4"),
    episodes: int = 1,
    task: OptionalTask = None,
    seed: int = EVALUATION_SEED,
) -> None:
    """Film a policy; works without a display.

    Args:
        policy: Directory of a run, or the file of a reference.
        out: The video to write.
        episodes: Number of episodes to film.
        task: Task to act in; needed for a reference.
        seed: Seed of the episodes.

    """
    _require_episodes(episodes)
    act, task = _policy(policy, task)
    filmed = record_video(get_task(task), act, out, seed=seed, episodes=episodes)
    frames = sum(len(episode) for episode in filmed)
    print(f"{out}: {len(filmed)} episode(s), {frames} steps")


def _policy(path: Path, task: str | None) -> tuple[Any, str]:
    """A run's policy or a reference's mean, and the task to act in."""
    if not path.exists():
        raise UserError(f"There is no run directory or reference file {path}.")
    if path.is_dir():
        config, act = load_policy(path)
        task = task or config.task
    elif task is None:
        raise UserError(f"{path} is not a run's directory; to act with a reference, give --task.")
    else:
        act = load_reference(path).mean
    env = make_env(get_task(task))
    check_fits(act, str(path), get_task(task), env)
    env.close()
    return act, task


def _require_episodes(episodes: int) -> None:
    if episodes < 1:
        raise UserError(f"'episodes' is {episodes}; it must be at least 1.")


@dataclass(frozen=True)
class FitArgs:
    """Fit a GP reference to demonstrations and save it."""

    task: str = "door"
    """The task that the demonstrations are of."""
    demos: OptionalDemos = None
    """Demonstrations: a file, a Minari id or an embedded name; by default the task's embedded."""
    demo_episodes: OptionalCount = None
    """Use only the first so many demonstrations."""
    out: Path = Path("reference.npz")
    """File to save the reference to."""
    gp: Annotated[GPConfig, tyro.conf.OmitArgPrefixes] = field(default_factory=GPConfig)


def fit(argv: Sequence[str]) -> None:
    """Parse with the task's preset as defaults, fit, print the lengthscales and save."""
    chosen, _ = tyro.cli(_Choice, args=argv, return_unknown_args=True, add_help=False)
    base = preset(chosen.task)
    args = tyro.cli(
        FitArgs, args=argv, default=FitArgs(base.task, base.demos, gp=base.gp), prog="nppac fit"
    )
    demos = load_task_demos(get_task(args.task), args.demos, args.demo_episodes)
    if demos is None:
        raise UserError(f"There are no embedded demonstrations of '{args.task}': give --demos.")
    reference = fit_reference(demos, args.gp)
    reference.save(args.out)
    _show_reference(reference.summary())
    print(f"Saved to {args.out}")


def _show_reference(summary: dict[str, Any]) -> None:
    scalars = {k: v for k, v in summary.items() if not isinstance(v, list | tuple | dict)}
    _show("Reference", scalars)
    for name, values in summary.items():
        if isinstance(values, list | tuple) and values and isinstance(values[0], float):
            _show_vector(name, values)


def _show_vector(name: str, values: Sequence[float]) -> None:
    console = _console()
    columns = min(8, max(1, console.width // 12 - 1))  # so many as fit in full
    table = Table(show_header=False)
    for start in range(0, len(values), columns):
        row = values[start : start + columns]
        table.add_row(f"[dim]{start}-{start + len(row) - 1}[/]", *(f"{v:.3g}" for v in row))
    console.print(Text(name))
    console.print(table)


def demos_list() -> None:
    """List the embedded demonstrations."""
    table = Table("name", "episodes", "steps", "mean return")
    for name in embedded_names():
        facts = describe(load_embedded(name))
        returns = facts["returns"]
        mean = f"{returns['mean']:.1f}" if returns else ""
        table.add_row(name, str(facts["episodes"]), str(facts["steps"]), mean)
    _console().print(table)


def demos_inspect(
    path: Annotated[Positional[str], tyro.conf.arg(metavar="DEMOS")], task: OptionalTask = None
) -> None:
    """Describe demonstrations and check them.

    Args:
        path: A file of any known format, a Minari id or an embedded name.
        task: Also check the shapes against this task.

    """
    demos = load_demos(path)
    _show(path, _flatten(describe(demos)))
    if task is not None:
        load_task_demos(get_task(task), path, None)
    else:
        for note in validate(demos)[1]:
            print(note)
    print("Checked: nothing prevents training on these.")


def demos_convert(
    source: Annotated[Positional[str], tyro.conf.arg(metavar="DEMOS")],
    out: Annotated[Positional[Path], tyro.conf.arg(metavar="FILE")],
) -> None:
    """Convert demonstrations of any known format to nppac's npz.

    Args:
        source: A file, a Minari id or an embedded name.
        out: The npz file to write.

    """
    for note in convert(source, out):
        print(note)
    print(f"{source} -> {out}")


def demos_record(
    policy: Path,
    out: Path,
    task: OptionalTask = None,
    episodes: int = 15,
    only_successes: bool = False,
    seed: int = EVALUATION_SEED,
) -> None:
    """Roll a trained policy out and keep its episodes as demonstrations.

    Args:
        policy: Directory of a run, or the file of a reference.
        out: The npz file to write.
        task: Task to act in; by default the run's own.
        episodes: Number of episodes to keep.
        only_successes: Keep only episodes that end in success; others are run but dropped.
        seed: Seed of the episodes.

    """
    _require_episodes(episodes)
    act, task = _policy(policy, task)
    spec = get_task(task)
    envs, kept, tried = [make_env(spec)], [], 0
    with progress_bar("Recording", episodes) as advance:
        for episode_seed in episode_seeds(seed, "demonstrations"):
            (episode,) = rollout(envs, act, [episode_seed])
            tried += 1
            if not only_successes or (episode.successes is not None and episode.successes[-1]):
                kept.append(episode)
            advance(len(kept), f"{tried} tried")
            if len(kept) == episodes or tried >= 20 * episodes:
                break
    if len(kept) < episodes:
        raise UserError(f"Only {len(kept)} of {tried} episodes succeeded; {out} was not written.")
    facts = {**provenance(), "task": task, "tried": tried, "seed": seed}
    save_demos(
        out,
        demos_from_episodes(
            kept, env_id=spec.env_id, env_kwargs=dict(spec.env_kwargs), provenance=facts
        ),
    )
    _show(str(out), _flatten(describe(load_demos(str(out)))))


def tasks() -> None:
    """List the tasks that have a name; any other Gymnasium id works too."""
    table = Table("task", "environment", "horizon", "what it is")
    for spec in TASKS.values():
        table.add_row(spec.name, spec.env_id, str(spec.horizon), spec.description)
    _console().print(table)


def _show(title: str, facts: dict[str, Any]) -> None:
    table = Table(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, Text(_text(value)))
    console = _console()
    console.print(Text(title), soft_wrap=True)  # a table would wrap its title to its own width
    console.print(table)


def _text(value: Any) -> str:
    """A fact as people write it: 10,650 rather than 1.065e+04."""
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value) or "none"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e9 else f"{value:.4g}"


def _console() -> Console:
    """Standard output; a pipe has no width, and rich would cut its tables at 80 columns."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def _flatten(facts: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name} ")
        else:
            flat[prefix + name] = value
    return flat


RAW: dict[str, Callable[[Sequence[str]], None]] = {"train": train, "fit": fit}
COMMANDS: dict[str, Callable[..., None]] = {
    "resume": resume,
    "compare": compare,
    "evaluate": evaluate,
    "render": render,
    "demos list": demos_list,
    "demos inspect": demos_inspect,
    "demos convert": demos_convert,
    "demos record": demos_record,
    "tasks": tasks,
}
HELP: dict[str, str] = {
    "train": "Train a policy from demonstrations.",
    "fit": "Fit a GP reference to demonstrations and save it.",
} | {name: (command.__doc__ or "").splitlines()[0] for name, command in COMMANDS.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command; a user's mistake becomes one clear message and exit code 1."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        _dispatch(args)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        raise SystemExit(130) from None


def _dispatch(args: list[str]) -> None:
    if not args or args[0] in ("-h", "--help", "help"):
        _overview()
        return
    if args[0] == "--version":
        print(nppac.__version__)
        return
    words = 2 if args[0] == "demos" else 1
    name, rest = " ".join(args[:words]), args[words:]
    if name in RAW:
        RAW[name](rest)
    elif name in COMMANDS:
        tyro.cli(COMMANDS[name], args=rest, prog=f"nppac {name}")
    elif args[0] == "demos" and (len(args) == 1 or args[1] in ("-h", "--help")):
        _overview("demos")
    else:
        raise unknown_name("command", name, [*HELP, "--help", "--version"])


def _overview(prefix: str = "") -> None:
    print("nppac: reinforcement learning from a few demonstrations.\n")
    for name, text in HELP.items():
        if name.startswith(prefix):
            print(f"  nppac {name:14} {text}")
    methods = "" if prefix else f"Methods: {', '.join(METHODS)}. "
    print(f"\n{methods}`nppac COMMAND --help` explains each.")
