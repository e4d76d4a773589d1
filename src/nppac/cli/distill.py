"""The command `distill`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from nppac.cli.arguments import OptionalCount, RunPath
from nppac.cli.show import console, text_of
from nppac.deploy.config import DistillConfig
from nppac.deploy.distill import DaggerRound, distill
from nppac.deploy.numpy_policy import NumpyPolicy
from nppac.deploy.run_result import EVALUATION_SEED
from nppac.deploy.teacher import Teacher, load_teacher
from nppac.evaluation.evaluate import evaluate_policy
from nppac.tasks import action_bounds, get_task, make_env
from nppac.utils.errors import UserError
from nppac.utils.locks import check_output
from nppac.utils.provenance import provenance

POLICY_FILE = "policy.npz"
ENVIRONMENTS = 8
MEASURES = {
    "success_any": "success at any step",
    "success_end": "success at the last step",
    "return_mean": "return",
    "return_std": "its standard deviation",
}
"""What both are judged by, in words."""


def distill_command(
    run: RunPath,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    hidden: tuple[int, ...] = DistillConfig.hidden,
    rounds: int = DistillConfig.rounds,
    episodes: int = DistillConfig.episodes,
    epochs: OptionalCount = DistillConfig.epochs,
    eval_episodes: int = 100,
    seed: int = DistillConfig.seed,
    trust: bool = False,
    latest: bool = False,
) -> None:
    """Distil a run's policy into a plain network, to be deployed with NumPy alone.

    The student learns what the run's policy does at the states of its replay and of its own
    episodes; then, in each round, the student acts and the policy says what it would have done.
    Both are judged on the same episodes, which neither has seen. The file acts by `nppac evaluate`,
    `nppac render` and `nppac.load_policy(FILE)`, without the run and without its reference.

    Args:
        run: Directory of the run.
        out: The npz file to write; by default policy.npz in the run's directory.
        hidden: Width of each hidden layer of the student.
        rounds: Rounds in which the student acts.
        episodes: Episodes of each round, and of the run's policy before the first.
        epochs: Passes over all states in each round; by default as many as make 10,000 updates.
        eval_episodes: Episodes that both are judged on at the end; 0 for none.
        seed: Seed of the episodes, of the initial weights and of the minibatches.
        trust: Import the modules that a run from elsewhere names.
        latest: Imitate a run's newest policy instead of its incumbent.
    """
    config = DistillConfig(hidden, rounds, episodes, epochs, seed)
    path = _output(run, out, eval_episodes)
    teacher = load_teacher(run, config.replayed, trust=trust, latest=latest)
    student = _taught(run, teacher, config)
    student.save(path)  # before the evaluation, which may be stopped
    if eval_episodes:
        _judged(teacher, student, eval_episodes).save(path)
    print(f"Policy: {path}")


def _judged(teacher: Teacher, student: NumpyPolicy, episodes: int) -> NumpyPolicy:
    """The student, with its evaluation beside the teacher's in its record."""
    judgement = _judge(teacher, student, episodes)
    return replace(student, record={**student.record, "evaluation": judgement})


def _output(run: Path, out: Path | None, eval_episodes: int) -> Path:
    """The file to write, once everything that was asked for makes sense."""
    if eval_episodes < 0:
        raise UserError(f"'eval_episodes' is {eval_episodes}; it must be 0 or more.")
    path = run / POLICY_FILE if out is None else out
    if out is not None or run.is_dir():  # a run that is not there is complained of by who reads it
        check_output(path)
    return path


def _taught(run: Path, teacher: Teacher, config: DistillConfig) -> NumpyPolicy:
    """The student, with a record of where it comes from."""
    spec = get_task(teacher.config.task)
    envs = [make_env(spec) for _ in range(min(ENVIRONMENTS, config.episodes))]
    student, course = distill(envs, teacher.act, teacher.replayed, config, spec.name)
    _show_course(course)
    record: dict[str, object] = {
        "run": str(run),
        "method": teacher.config.method,
        "rounds": [asdict(round) for round in course],
        "provenance": provenance(),
    }
    low, high = action_bounds(envs[0])
    return replace(student, record=record, low=low, high=high)


def _judge(teacher: Teacher, student: NumpyPolicy, episodes: int) -> dict[str, object]:
    """Evaluate both on the same fresh episodes, show the results, and return them."""
    spec = get_task(teacher.config.task)
    judged: dict[str, Mapping[str, object]] = {
        name: evaluate_policy(spec, act, episodes, EVALUATION_SEED)
        for name, act in (("teacher", teacher.act), ("student", student))
    }
    _show_both(spec.name, episodes, judged["teacher"], judged["student"])
    shown = {name: {k: result[k] for k in MEASURES} for name, result in judged.items()}
    return {"episodes": episodes, "seed": EVALUATION_SEED, **shown}


def _show_course(course: Sequence[DaggerRound]) -> None:
    """A row for each round."""
    table = Table("round", "who acts", "return", "success", "states", "error", "held out")
    for number, done in enumerate(course):
        driven = (text_of(done.return_mean), text_of(done.success_any), f"{done.lessons:,}")
        errors = (f"{done.error:.3g}", f"{done.held_out_error:.3g}")
        table.add_row(str(number), done.driver, *driven, *errors)
    console().print(table)
    print("Errors of an action, after the round: root mean square, on states learned and held out.")


def _show_both(
    task: str, episodes: int, teacher: Mapping[str, object], student: Mapping[str, object]
) -> None:
    """Both side by side, with the difference."""
    table = Table(f"{task}, {episodes} episodes", "teacher", "student", "difference")
    for name, words in MEASURES.items():
        ours, theirs = student[name], teacher[name]
        if isinstance(ours, float) and isinstance(theirs, float):
            table.add_row(words, text_of(theirs), text_of(ours), f"{ours - theirs:+.4g}")
    console().print(table)
