import json
import warnings

import gymnasium as gym
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from nppac.demos import Demos, load_demos
from nppac.demos.formats.minari import is_minari_id
from nppac.utils.errors import UserError

from ..samples import assert_same, make_demos

NAME = "test/tiny-v0"
BOX = gym.spaces.Box(-1, 1, (2,), np.float32)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def buffer(episode, index, **changes) -> EpisodeBuffer:
    steps = len(episode)
    fields = {
        "observations": episode.observations,
        "actions": episode.actions,
        "rewards": episode.rewards.tolist(),
        "terminations": [False] * (steps - 1) + [index == 0],
        "truncations": [False] * (steps - 1) + [index != 0],
    }
    return EpisodeBuffer(id=index, **(fields | changes))


def create(buffers, action_space=BOX, observation_space=None, **settings):
    space = observation_space or gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari asks for an author, a description, ...
        minari.create_dataset_from_buffers(
            NAME, buffers, action_space=action_space, observation_space=space, **settings
        )


def sample_buffers(**changes):
    return [buffer(e, i, **changes) for i, e in enumerate(make_demos().episodes)]


def expected() -> Demos:
    return Demos(
        tuple(
            type(e)(e.observations, e.actions, e.rewards, None, terminated=i == 0)
            for i, e in enumerate(make_demos().episodes)
        )
    )


def test_by_id(store):
    create(sample_buffers())
    found = load_demos(NAME)
    assert_same(found, expected())
    assert found.source == f"Minari {NAME}"
    assert found.metadata == {"provenance": {"minari_id": NAME}, "actions": "normalised"}


@pytest.mark.parametrize("inside", ["", "data", "data/main_data.hdf5"])
def test_by_path(store, inside):
    create(sample_buffers())
    assert_same(load_demos(store / NAME / inside), expected())


def test_environment_and_success_are_kept(store):
    infos = [{"success": np.array([1, 0, 0, 1, 0], bool)}, {"success": np.zeros(4, bool)}]
    buffers = [buffer(e, i, infos=infos[i]) for i, e in enumerate(make_demos().episodes)]
    create(buffers, env="Reacher-v5")
    found = load_demos(NAME)
    assert found.metadata["env_id"] == "Reacher-v5"
    assert found.metadata["env_kwargs"] == {}
    assert found.episodes[0].successes is not None
    assert found.episodes[0].successes.tolist() == [False, False, True, False]


def test_actions_are_brought_to_the_normalised_range(store):
    space = gym.spaces.Box(np.float32([0, -2]), np.float32([4, 2]))
    actions = np.array([[0, 0.5], [4, 2], [3, -1]], np.float32)
    _, second = make_demos().episodes
    create([buffer(second, 0, actions=actions)], action_space=space)
    found = load_demos(NAME)
    wanted = np.array([[-1, 0.25], [1, 1], [0.5, -0.5]], np.float32)
    np.testing.assert_array_equal(found.actions, wanted)
    assert found.metadata["actions"] == "normalised"


def test_actions_without_bounds_stay_as_they_are(store):
    space = gym.spaces.Box(np.float32([0, -np.inf]), np.float32([4, np.inf]))
    actions = np.array([[0, 0.5], [4, 2], [3, -1]], np.float32)
    _, second = make_demos().episodes
    create([buffer(second, 0, actions=actions)], action_space=space)
    found = load_demos(NAME)
    np.testing.assert_array_equal(found.actions, actions)
    assert "actions" not in found.metadata


def test_dict_observations_are_laid_side_by_side(store):
    space = gym.spaces.Dict(
        goal=gym.spaces.Box(-9, 9, (1,)), observation=gym.spaces.Box(-9, 9, (3,))
    )
    first = make_demos().episodes[0]
    goal = np.full((5, 1), 7, np.float32)
    observations = {"observation": first.observations, "goal": goal}
    create([buffer(first, 0, observations=observations)], observation_space=space)
    (found,) = load_demos(NAME).episodes
    flat = gym.spaces.flatten(space, {"observation": first.observations[2], "goal": goal[2]})
    np.testing.assert_array_equal(found.observations[2], flat)
    assert found.observations.shape == (5, 4)


def test_discrete_actions_are_the_users_error(store):
    first = make_demos().episodes[0]
    create([buffer(first, 0, actions=np.zeros(4, np.int64))], action_space=gym.spaces.Discrete(2))
    with pytest.raises(UserError, match=r"Discrete\(2\); expected continuous"):
        load_demos(NAME)


def test_unknown_id_says_how_to_fetch_it(store):
    with pytest.raises(UserError, match="minari download other/thing-v1"):
        load_demos("other/thing-v1")


@pytest.mark.parametrize("by_id", [True, False])
def test_unsupported_version_is_the_users_error(store, by_id):
    create(sample_buffers())
    path = store / NAME / "data" / "metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"minari_version": "99.0"}))
    with pytest.raises(UserError, match="cannot be read as a Minari dataset"):
        load_demos(NAME if by_id else store / NAME)


def test_missing_data_is_the_users_error(store):
    create(sample_buffers())
    data = store / NAME / "data" / "main_data.hdf5"
    data.write_bytes(b"")
    with pytest.raises(UserError, match="cannot be read as HDF5"):
        load_demos(NAME)
    data.unlink()
    with pytest.raises(UserError, match=r"cannot be read as a Minari dataset: main_data.* missing"):
        load_demos(NAME)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("D4RL/door/human-v2", True), ("door-v0", True), ("door", False), ("../x.npz", False)],
)
def test_what_an_id_looks_like(name, answer):
    assert is_minari_id(name) == answer
