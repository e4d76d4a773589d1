import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nppac.demos import load_demos, save_demos
from nppac.demos.for_task import load_task_demos
from nppac.evaluation.metrics import load_metrics
from nppac.references import NetworkConfig, UniformReference, load_reference
from nppac.tasks import get_task
from nppac.training import problem
from nppac.training.config import read_config
from nppac.training.restore import load_run_policy
from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from nppac.utils.files import TEMPORARY
from nppac.utils.imports import FailedEnvironment
from nppac.utils.locks import directory_lock
from toy_task import (
    ACTION_DIM,
    AGENT,
    OBS_DIM,
    SCHEDULE,
    TASK,
    Reach,
    assert_same_run,
    expert,
    make_config,
    state_of,
    write_demos,
)


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    return str(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


@pytest.fixture(scope="module")
def gp_config(demos):
    return make_config(reference="gp", demos=demos, schedule=replace(SCHEDULE, pretrain_epochs=2))


@pytest.fixture(scope="module")
def finished(tmp_path_factory, gp_config):
    directory = tmp_path_factory.mktemp("runs") / "finished"
    start_run(gp_config, directory)
    return directory


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


def test_resuming_a_finished_run_changes_nothing(tmp_path, finished):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    summary = resume_run(directory)
    assert summary == json.loads((finished / "summary.json").read_text())
    assert_same_run(directory, finished)


NETWORK = NetworkConfig(hidden=(8,), max_epochs=2, entropy_bonus="tuned")


@pytest.mark.parametrize("reference", ["network", "mixed:gp+dropout", "constant"])
def test_a_run_against_any_reference_is_resumed(tmp_path, demos, reference, capsys):
    config = make_config(reference=reference, demos=demos, network=NETWORK)
    start_run(config, tmp_path / "run")
    assert read_config(tmp_path / "run").network == NETWORK
    capsys.readouterr()
    resume_run(tmp_path / "run", steps=120)
    assert "Imported" not in capsys.readouterr().err


def test_a_run_cut_after_its_configuration_starts_over(tmp_path, finished):
    for kept in (["config.json"], ["config.json", "reference.npz"]):
        directory = tmp_path / f"with-{len(kept)}"
        directory.mkdir()
        for name in kept:
            shutil.copy(finished / name, directory)
        resume_run(directory)
        assert_same_run(directory, finished)
        assert (directory / "reference.npz").read_bytes() == (
            finished / "reference.npz"
        ).read_bytes()


def test_a_resumed_run_asks_the_reference_that_it_began_with(tmp_path, finished, monkeypatch):
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.setattr(problem, "fitted_reference", lambda *_, **__: pytest.fail("fitted again"))
    resume_run(tmp_path / "run", steps=120)
    assert state_of(tmp_path / "run")["progress/env_steps"] == 120


def test_what_killed_writers_left_is_removed(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    leftover = tmp_path / "run" / f".checkpoint.npz.abc{TEMPORARY}"
    leftover.write_bytes(b"half")
    resume_run(tmp_path / "run")
    assert not leftover.exists()


def test_an_extended_run_says_so_in_its_record(tmp_path):
    config = make_config(schedule=replace(SCHEDULE, steps=60))
    start_run(config, tmp_path / "run")
    before = json.loads((tmp_path / "run" / "config.json").read_text())
    summary = resume_run(tmp_path / "run", steps=100)
    assert summary["env_steps"] == 100
    after = json.loads((tmp_path / "run" / "config.json").read_text())
    assert after["schedule"]["steps"] == 100
    assert after["provenance"] == before["provenance"]
    start_run(make_config(), tmp_path / "whole")
    ours, theirs = state_of(tmp_path / "run"), state_of(tmp_path / "whole")
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    ("steps", "message"), [(60, "has done 100 steps already"), (110, "multiple of the epoch")]
)
def test_a_run_cannot_end_before_where_it_is_nor_within_an_epoch(
    tmp_path, finished, steps, message
):
    directory = tmp_path / "copy"
    shutil.copytree(finished, directory)
    with pytest.raises(UserError, match=message):
        resume_run(directory, steps)
    assert read_config(directory).schedule.steps == 100


def test_demonstrations_are_found_from_another_directory(tmp_path, monkeypatch, demos):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    shutil.copy(demos, here / "demos.npz")
    monkeypatch.chdir(here)
    start_run(make_config(demos="demos.npz", schedule=replace(SCHEDULE, steps=60)), "run")
    monkeypatch.chdir(there)
    assert resume_run(here / "run", steps=100)["env_steps"] == 100


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


def test_a_run_that_another_process_trains_is_not_resumed(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    with (
        directory_lock(tmp_path / "run"),
        pytest.raises(UserError, match="Another process is at work"),
    ):
        resume_run(tmp_path / "run", steps=120)
    assert read_config(tmp_path / "run").schedule.steps == 100


def test_demonstrations_as_long_as_the_task_lasts_were_cut(tmp_path, demos, capsys):
    spec, known = get_task(TASK), load_demos(demos)
    ended = replace(known, episodes=tuple(replace(e, terminated=True) for e in known.episodes))
    save_demos(tmp_path / "ended.npz", ended)
    whole = load_task_demos(spec, str(tmp_path / "ended.npz"), None)
    assert [e.terminated for e in whole.episodes] == [False] * len(known)
    err = capsys.readouterr().err
    assert f"{len(known)} episodes of {spec.horizon} steps are marked as terminated" in err
    own = load_task_demos(replace(spec, horizon=None), str(tmp_path / "ended.npz"), None)
    assert not any(e.terminated for e in own.episodes)
    capsys.readouterr()
    longer = load_task_demos(replace(spec, horizon=999), str(tmp_path / "ended.npz"), None)
    assert [e.terminated for e in longer.episodes] == [True] * len(known)
    assert "marked" not in capsys.readouterr().err


def test_actions_that_may_be_in_the_robots_units_are_questioned(tmp_path, capsys):
    spec = get_task("Pendulum-v1")  # its torque is within ±2
    demos = write_demos(tmp_path / "p.npz", spec.name, lambda rows: np.zeros((len(rows), 1)), 1)
    load_task_demos(spec, str(demos), None)
    assert capsys.readouterr().err == ""  # recorded by the project itself, which scales
    save_demos(tmp_path / "foreign.npz", replace(load_demos(demos), metadata={}))
    with pytest.raises(UserError, match=r"own bounds are \[-2, 2\].*--demo-actions environment"):
        load_task_demos(spec, str(tmp_path / "foreign.npz"), None)


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


def test_demonstrations_are_cut_to_the_tasks_length(demos):
    spec = replace(get_task(TASK), demo_steps=3)
    cut = load_task_demos(spec, demos, 2)
    assert cut is not None
    assert [len(episode) for episode in cut.episodes] == [3, 3]
    assert load_task_demos(spec, None, None) is None


def test_what_had_to_be_mended_is_said(tmp_path, capsys):
    path = write_demos(tmp_path / "wild.npz", act=lambda rows: 3 * expert(rows) - 0.1)
    mended = load_task_demos(get_task(TASK), str(path), None)
    assert mended is not None
    assert np.abs(mended.actions).max() == 1.0
    out, err = capsys.readouterr()
    assert "Clipped" in err
    assert out == ""


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path, finished, capsys):
    shutil.copytree(finished, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:1000])
    load_run_policy(tmp_path / "run")
    resume_run(tmp_path / "run")
    assert capsys.readouterr().err.count("checkpoint.previous.npz, is used instead") == 2
    assert_same_run(tmp_path / "run", finished)


def test_checkpoints_that_are_all_damaged_are_named(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        path = tmp_path / "run" / name
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"checkpoint\.npz"):
        resume_run(tmp_path / "run")


def test_a_run_without_its_checkpoint_keeps_its_history(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "run")
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        (tmp_path / "run" / name).unlink()
    with pytest.raises(UserError, match=r"metrics up to step 100 but no checkpoint.*Restore"):
        resume_run(tmp_path / "run")
    assert (tmp_path / "run" / "metrics.csv").read_bytes() == (
        finished / "metrics.csv"
    ).read_bytes()


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


@pytest.mark.parametrize("error", [SystemExit(0), ValueError("boom")])
def test_an_environment_that_fails_leaves_the_run_to_be_resumed(
    tmp_path, monkeypatch, gp_config, finished, error
):
    inner, steps = Reach.step, 0

    def step(env, action):
        nonlocal steps
        steps += 1
        if steps == 100:
            raise error
        return inner(env, action)

    with monkeypatch.context() as patch:
        patch.setattr(Reach, "step", step)
        with pytest.raises(FailedEnvironment) as caught:
            start_run(gp_config, tmp_path / "my run")
    *_, shown, remedy = str(caught.value).splitlines()
    assert shown.startswith("The environment failed at step")
    assert remedy == f"Mend it, then continue with: nppac resume '{tmp_path / 'my run'}'"
    assert "raise error" in str(caught.value)
    resume_run(tmp_path / "my run")
    assert_same_run(tmp_path / "my run", finished)


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
