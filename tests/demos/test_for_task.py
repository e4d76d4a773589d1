from dataclasses import replace

import numpy as np
import pytest

from nppac.demos import Demos, convert, load_demos, save_demos
from nppac.demos.for_task import load_task_demos
from nppac.demos.units import in_normalised_units
from nppac.tasks import get_task, make_env
from nppac.types import Episode
from nppac.utils.errors import UserError
from toy_task import (
    TASK,
    expert,
    write_demos,
)

PENDULUM = get_task("Pendulum-v1")  # its torque is within ±2


REACHER = get_task("Reacher-v5")  # its actions are within ±1


def saved(path, largest, obs_dim=3, action_dim=1, **metadata) -> str:
    """Two episodes whose actions reach from -largest to largest."""
    actions = np.linspace(-largest, largest, 5 * action_dim, dtype=np.float32)
    episode = Episode(np.zeros((6, obs_dim), np.float32), actions.reshape(5, action_dim))
    save_demos(path, Demos((episode, episode), "", metadata))
    return str(path)


def loaded(*args, **settings) -> Demos:
    found = load_task_demos(*args, None, **settings)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    return str(write_demos(tmp_path_factory.mktemp("demos") / "demos.npz"))


def test_actions_in_the_environments_units_are_rescaled_where_the_user_says_so(tmp_path, capsys):
    path = saved(tmp_path / "d.npz", 2.0)
    found = loaded(PENDULUM, path, actions="environment")
    np.testing.assert_allclose(found.episodes[0].actions[:, 0], [-1, -0.5, 0, 0.5, 1])
    assert found.actions.dtype == np.float32
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("largest", "likely"),
    [(2.0, "the first seems"), (0.9, "both are poss"), (128, "it is beyond both")],
)
def test_units_that_nobody_tells_are_asked_for(tmp_path, largest, likely):
    path = saved(tmp_path / "d.npz", largest)
    with pytest.raises(UserError) as caught:
        load_task_demos(PENDULUM, path, None)
    for part in ("[-2, 2]", f"is {largest:g}: {likely}", "--demo-actions environment"):
        assert part in str(caught.value)


def test_a_named_environment_does_not_excuse_values_beyond_the_range(tmp_path):
    path = saved(tmp_path / "d.npz", 2.0, env_id="Pendulum-v1")
    with pytest.raises(UserError, match="does not say which units"):
        load_task_demos(PENDULUM, path, None)


def test_what_the_project_recorded_needs_no_word(tmp_path, capsys):
    known = {"env_id": "Pendulum-v1", "actions": "normalised"}
    loaded(PENDULUM, saved(tmp_path / "a.npz", 1.0, **known))
    loaded(PENDULUM, saved(tmp_path / "b.npz", 1.0, env_id="Pendulum-v1"))  # of older versions
    assert capsys.readouterr().err == ""
    found = loaded(PENDULUM, saved(tmp_path / "c.npz", 1.5, **known))  # what its policy asked for
    assert np.abs(found.actions).max() == 1.0
    assert "Clipped 4 of 10 action values" in capsys.readouterr().err
    with pytest.raises(UserError, match="says that its actions are normalised"):
        load_task_demos(PENDULUM, str(tmp_path / "c.npz"), None, "environment")


def test_normalised_actions_are_taken_as_they_are(tmp_path, capsys):
    found = loaded(PENDULUM, saved(tmp_path / "d.npz", 0.9), actions="normalised")
    assert found.episodes[0].actions[-1, 0] == np.float32(0.9)
    assert capsys.readouterr().err == ""


def test_small_excursions_are_clipped_where_the_bounds_are_one(tmp_path, capsys):
    path = saved(tmp_path / "d.npz", 1.3, obs_dim=10, action_dim=2)
    for units in ("auto", "environment", "normalised"):
        assert np.abs(loaded(REACHER, path, actions=units).actions).max() == 1.0
        assert "Clipped" in capsys.readouterr().err


def test_units_have_names(tmp_path):
    demos, env = load_demos(saved(tmp_path / "d.npz", 1.0)), make_env(PENDULUM)
    with pytest.raises(UserError, match="Did you mean 'normalised'"):
        in_normalised_units(demos, env, "normalized", "d.npz", 1)


def test_wrong_sizes_are_told_rather_than_rescaled(tmp_path):
    path = saved(tmp_path / "d.npz", 2.0, action_dim=3)
    with pytest.raises(UserError, match="actions have 3 entries where Pendulum-v1 has 1"):
        load_task_demos(PENDULUM, path, None, "environment")


def test_a_conversion_keeps_units_that_it_does_not_know(tmp_path):
    path = saved(tmp_path / "d.npz", 2.0)
    (note,) = convert(path, tmp_path / "new.npz")
    assert note.startswith("Kept 4 of 10 action values beyond [-1, 1]")
    assert load_demos(tmp_path / "new.npz").actions.max() == 2.0
    loaded(PENDULUM, str(tmp_path / "new.npz"), actions="environment")


def test_demonstrations_of_another_robot_are_refused(tmp_path):
    with pytest.raises(UserError) as caught:
        load_task_demos(get_task("walker2d"), "halfcheetah", None)
    for part in ("recorded in HalfCheetah-v5", "walker2d is Walker2d-v5", "--env-id Walker2d-v5"):
        assert part in str(caught.value)
    convert("halfcheetah", tmp_path / "new.npz", env_id="Walker2d-v5")
    loaded(get_task("walker2d"), str(tmp_path / "new.npz"))
    with pytest.raises(UserError, match="expected an id such as"):
        convert("halfcheetah", tmp_path / "bad.npz", env_id="no id")
    assert not (tmp_path / "bad.npz").exists()


def test_other_rewards_are_the_same_robot_and_other_versions_are_told(tmp_path, capsys):
    for name, note in [
        ("AdroitHandDoor-v1", ""),
        ("AdroitHandDoorSparse-v1", ""),
        ("my_robots:AdroitHandDoorDense-v1", ""),
        ("AdroitHandDoor-v0", "Recorded in AdroitHandDoor-v0, where the task door is"),
    ]:
        demos = load_demos("door")
        renamed = replace(demos, metadata={**demos.metadata, "env_id": name})
        save_demos(tmp_path / "d.npz", renamed)
        loaded(get_task("door"), str(tmp_path / "d.npz"))
        assert note in capsys.readouterr().err if note else capsys.readouterr().err == ""


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
