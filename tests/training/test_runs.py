import json
from dataclasses import replace

import numpy as np
import pytest

from nppac.evaluation.metrics import load_metrics
from nppac.references import UniformReference, load_reference
from nppac.training import problem
from nppac.training.config import read_config
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from nppac.utils.files import TEMPORARY
from toy_task import (
    ACTION_DIM,
    AGENT,
    OBS_DIM,
    SCHEDULE,
    make_config,
    state_of,
    write_demos,
)


def test_a_finished_run_has_its_record(finished, gp_config):
    files = {path.name for path in finished.iterdir()}
    assert files == {
        *("config.json", "metrics.csv", "summary.json"),
        *("checkpoint.npz", "checkpoint.previous.npz", "reference.npz"),
    }
    assert read_config(finished) == gp_config
    assert json.loads((finished / "config.json").read_text())["provenance"]["command"]
    summary = json.loads((finished / "summary.json").read_text())
    metrics = load_metrics(finished / "metrics.csv")
    returns = metrics["eval_return_mean"][np.isfinite(metrics["eval_return_mean"])]
    assert summary["eval_return"] == {
        "first": returns[0],
        "last": returns[-1],
        "best": returns.max(),
    }
    assert (summary["env_steps"], summary["updates"], summary["seed"]) == (100, 80, 0)
    assert summary["eval_success_any"]["last"] is not None


def test_seeds_differ(tmp_path, gp_config, finished):
    start_run(replace(gp_config, seed=1), tmp_path / "other")
    ours, theirs = state_of(tmp_path / "other"), state_of(finished)
    assert not np.array_equal(ours["replay/.obs"], theirs["replay/.obs"])


def wrong_shape(path):
    return str(write_demos(path, "Pendulum-v1", lambda rows: np.zeros((len(rows), 1)), episodes=1))


def saved(path, reference):
    reference.save(path)
    return str(path)


MISTAKES = {
    "no demonstrations": (lambda path: {"reference": "gp"}, "needs demonstrations"),
    "no such demonstrations": (lambda path: {"demos": "absent.npz"}, "absent.npz"),
    "demonstrations of another task": (
        lambda path: {"reference": "gp", "demos": wrong_shape(path / "d.npz")},
        r"d\.npz was recorded in Pendulum-v1, but the task .*Reach-v0 is",
    ),
    "no such reference": (lambda path: {"reference": "absent"}, "Unknown reference 'absent'"),
    "a reference of another task": (
        lambda path: {"reference": saved(path / "r.npz", UniformReference(5))},
        "The reference .* does not fit the task .* 3 observations and 2 actions",
    ),
    "a file that is no reference": (
        lambda path: {"reference": wrong_shape(path / "d.npz")},
        "holds no reference",
    ),
    "an unknown task": (lambda path: {"task": "Hoper-v5"}, "Did you mean 'Hopper-v5'"),
    "a task without continuous actions": (lambda path: {"task": "CartPole-v1"}, "action space"),
    "pretraining without demonstrations": (
        lambda path: {"schedule": replace(SCHEDULE, pretrain_epochs=1)},
        "Pretraining needs demonstrations",
    ),
    "settings that do not go together": (
        lambda path: {"agent": replace(AGENT, kl="closed")},
        "closed-form KL needs the unsquashed policy head",
    ),
    "no episodes": (
        lambda path: {"demos": wrong_shape(path / "d.npz"), "demo_episodes": 0},
        "'demo_episodes' is 0; it must be at least 1",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_leaves_no_directory_behind(tmp_path, mistake):
    settings, message = MISTAKES[mistake]
    with pytest.raises(UserError, match=message):
        start_run(make_config(**settings(tmp_path)), tmp_path / "runs" / "run")
    assert not (tmp_path / "runs").exists()


def test_a_fit_that_fails_leaves_no_directory_behind(tmp_path, gp_config, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(problem, "fitted_reference", fail)
    with pytest.raises(KeyboardInterrupt):
        start_run(gp_config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_directory_in_use_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"exists and is not empty.*nppac resume"):
        start_run(make_config(), tmp_path)
    with pytest.raises(UserError, match="is a file"):
        start_run(make_config(), tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_run_that_began_meanwhile_is_left_alone(tmp_path, monkeypatch, demos):
    other = make_config(seed=1)

    def slow(*args, **settings):
        start_run(other, tmp_path / "run")
        return UniformReference(ACTION_DIM)

    monkeypatch.setattr(problem, "fitted_reference", slow)
    with pytest.raises(UserError, match="exists and is not empty"):
        start_run(make_config(reference="gp", demos=demos), tmp_path / "run")
    assert read_config(tmp_path / "run") == other


def test_a_run_that_only_learns_offline_has_no_speed(tmp_path, demos):
    schedule = replace(SCHEDULE, offline_updates=3, warmup_steps=100)
    summary = start_run(make_config(demos=demos, schedule=schedule), tmp_path / "run")
    assert (summary["updates"], summary["updates_per_second"]) == (3, None)


def test_an_empty_directory_will_do(tmp_path):
    config = make_config(schedule=replace(SCHEDULE, updates_per_step=0.0))
    assert start_run(config, tmp_path)["updates_per_second"] is None


def test_a_saved_reference_can_be_used_again(tmp_path, finished):
    config = make_config(reference=str(finished / "reference.npz"))
    start_run(config, tmp_path / "run")
    assert (tmp_path / "run" / "reference.npz").read_bytes() == (
        finished / "reference.npz"
    ).read_bytes()
    obs = np.ones((2, OBS_DIM), np.float32)
    assert load_reference(finished / "reference.npz").mean(obs).shape == (2, ACTION_DIM)


def test_what_a_killed_start_left_is_no_obstacle(tmp_path):
    (tmp_path / f".config.json.abc{TEMPORARY}").write_text('{"task": ')
    config = make_config(schedule=replace(SCHEDULE, steps=20))
    assert start_run(config, tmp_path)["env_steps"] == 20
    assert not list(tmp_path.glob(f".*{TEMPORARY}"))


def test_a_directory_that_may_not_be_listed_is_named(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "iterdir", refuse)
    with pytest.raises(UserError, match=r"Cannot use the directory .*Permission denied"):
        start_run(make_config(), tmp_path)


def test_the_callback_sees_each_row_that_is_written(tmp_path):
    rows = []
    start_run(make_config(), tmp_path / "run", callback=rows.append)
    assert [row["env_steps"] for row in rows] == [20, 40, 60, 80, 100]
    resume_run(tmp_path / "run", 120, callback=rows.append)
    assert rows[-1]["env_steps"] == 120
    metrics = load_metrics(tmp_path / "run" / "metrics.csv")
    np.testing.assert_array_equal(
        metrics["train_return_mean"][1:], [row["train_return_mean"] for row in rows]
    )
