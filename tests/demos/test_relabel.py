from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from demos.samples import make_demos, make_episode
from nppac.demos import Demos, demos_from_episodes, load_demos, relabel, task_rewards, validate
from nppac.demos.relabel import SEEDS, _seeds, default_by, relabel_by_replay
from nppac.tasks import TaskSpec, get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.utils.errors import UserError
from toy_task import TASK, expert

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SUCCESS = TaskSpec("sign", "Sign-v0", reward="success", success_in=lambda obs: obs[:, 0] > 0)
RECORDED = TaskSpec("own", "Own-v0", reward="success")


def test_a_step_is_rewarded_for_the_observation_that_it_led_to():
    observations = np.float32([[1, 0, 0], [-1, 0, 0], [2, 0, 0], [3, 0, 0], [-2, 0, 0]])
    demos = Demos((make_episode(4, observations=observations),), "sample")
    (episode,) = task_rewards(demos, SUCCESS).episodes
    np.testing.assert_array_equal(episode.rewards, np.float32([0, 1, 1, 0]), strict=True)
    np.testing.assert_array_equal(episode.successes, [False, True, True, False])
    assert demos.episodes[0].successes is None


@pytest.mark.parametrize("rewards", [None, np.float32([-1, -1, 0, 0]), np.float32([3, 9, -2, 20])])
def test_recorded_rewards_of_another_convention_never_leak_in(rewards):
    episode = make_episode(4, rewards=rewards)
    expected = (episode.observations[1:, 0] > 0).astype(np.float32)
    found = task_rewards(Demos((episode,), "sample"), SUCCESS)
    np.testing.assert_array_equal(found.episodes[0].rewards, expected, strict=True)


def test_recorded_successes_go_before_the_rule():
    flags = np.array([True, False, False, True])
    demos = Demos((make_episode(4, successes=flags),), "sample")
    for spec in (SUCCESS, RECORDED):
        (episode,) = task_rewards(demos, spec).episodes
        np.testing.assert_array_equal(episode.rewards, flags.astype(np.float32), strict=True)


def test_a_last_step_of_unknown_outcome_is_dropped():
    demos = make_demos(extra=0, terminated=True)
    found = task_rewards(demos, SUCCESS)
    assert [len(e) for e in found.episodes] == [3, 2]
    assert all(len(e.observations) == len(e.rewards) + 1 for e in found.episodes)
    assert not any(e.terminated for e in found.episodes)


def test_an_unknown_outcome_does_not_matter_where_successes_were_recorded():
    flags = np.array([False, False, True])
    demos = Demos((make_episode(3, extra=0, successes=flags, terminated=True),), "sample")
    (episode,) = task_rewards(demos, SUCCESS).episodes
    np.testing.assert_array_equal(episode.rewards, [0, 0, 1])
    assert episode.terminated


def test_rewards_of_the_environment_are_kept():
    demos = make_demos()
    assert task_rewards(demos, get_task("halfcheetah")) is demos


def test_what_cannot_be_told_is_refused():
    bare = make_demos(rewards=None)
    with pytest.raises(UserError, match=r"sample have no rewards.*demos relabel sample .*ant --by"):
        task_rewards(bare, get_task("ant"))
    with pytest.raises(UserError, match=r"sample: episode 0 does not tell which steps succeeded"):
        task_rewards(bare, RECORDED)
    with pytest.raises(UserError, match=r"rewarded by its environment.*--by replay"):
        relabel(bare, get_task("ant"), "success")
    with pytest.raises(UserError, match=r"Unknown way to relabel 'repaly'\. Did you mean 'replay'"):
        relabel(bare, get_task("ant"), "repaly")


@pytest.mark.parametrize("odd", ["x", -1, 10**30, None, 1.5, True])
def test_seeds_that_are_none_are_refused(odd):
    demos = replace(make_demos(), metadata={"provenance": {SEEDS: [1, odd]}})
    with pytest.raises(UserError, match="is no seed of an episode"):
        _seeds(demos, RECORDED)


def test_the_way_is_the_tasks():
    assert [default_by(get_task(t)) for t in ("door", "pen", "ant")] == [
        "success",
        "success",
        "replay",
    ]
    assert default_by(RECORDED) == "replay"


def recorded(task: str, act, seeds=(3, 4), **changes) -> Demos:
    spec = replace(get_task(task), **changes)
    episodes = rollout([make_env(spec)], act, seeds)
    provenance = {SEEDS: list(seeds)}
    return demos_from_episodes(episodes, env_id=spec.env_id, env_kwargs={}, provenance=provenance)


def without_rewards(demos: Demos) -> Demos:
    bare = (replace(e, rewards=None, successes=None) for e in demos.episodes)
    return replace(demos, episodes=tuple(bare))


def noise(dim: int, scale: float = 1.0):
    rng = np.random.default_rng(0)
    return lambda rows: np.clip(scale * rng.normal(size=(len(rows), dim)), -1, 1)


@pytest.mark.parametrize(
    ("task", "dim"),
    [("halfcheetah", 6), ("walker2d", 6), ("ant", 8), ("Hopper-v5", 3), ("Swimmer-v5", 2)],
)
def test_a_runner_is_replayed_from_its_recorded_states(task, dim):
    demos = recorded(task, noise(dim), horizon=150)
    bare = replace(without_rewards(demos), metadata={})
    found, deviations = relabel_by_replay(bare, get_task(task))
    assert max(deviations) < 1e-3
    for new, old in zip(found.episodes, demos.episodes, strict=True):
        np.testing.assert_allclose(new.rewards, old.rewards, atol=1e-4)
        np.testing.assert_array_equal(new.observations, old.observations)
        assert new.terminated == old.terminated


def test_velocities_beyond_what_is_observed_survive_a_replay():
    """Walker2d clips them at 10; begun from the clipped ones, steps would lead elsewhere."""
    demos = recorded("walker2d", noise(6), seeds=range(6), horizon=150)
    assert max(np.abs(e.observations[:, 8:]).max() for e in demos.episodes) == 10
    found, deviations = relabel_by_replay(without_rewards(demos), get_task("walker2d"))
    assert max(deviations) < 1e-3
    rewards = found.stack("rewards")
    np.testing.assert_allclose(rewards, demos.stack("rewards"), atol=1e-4)


def test_a_replay_without_the_last_observation_still_knows_every_reward():
    demos = recorded("halfcheetah", noise(6), horizon=20)
    cut = tuple(replace(e, observations=e.observations[:-1]) for e in demos.episodes)
    found, _ = relabel_by_replay(replace(demos, episodes=cut), get_task("halfcheetah"))
    np.testing.assert_allclose(found.stack("rewards"), demos.stack("rewards"), atol=1e-4)


def test_any_task_is_replayed_from_its_seeds():
    demos = recorded(TASK, expert)
    found, deviations = relabel_by_replay(without_rewards(demos), get_task(TASK))
    assert deviations == (0.0, 0.0)
    for new, old in zip(found.episodes, demos.episodes, strict=True):
        np.testing.assert_array_equal(new.rewards, old.rewards, strict=True)
        np.testing.assert_array_equal(new.successes, old.successes, strict=True)


def test_a_replay_gives_the_tasks_own_reward():
    demos = recorded(TASK, expert)
    spec = replace(get_task(TASK), reward="success")
    found, _ = relabel(demos, spec)
    np.testing.assert_array_equal(found.stack("rewards"), demos.stack("successes"))


def test_a_replay_without_seeds_or_states_is_refused():
    demos = replace(recorded(TASK, expert), metadata={})
    with pytest.raises(UserError, match=r"cannot be replayed .*the seed of each episode"):
        relabel_by_replay(demos, get_task(TASK))
    with pytest.raises(UserError, match=r"--by success"):
        relabel_by_replay(
            replace(recorded("pen", noise(24), horizon=2), metadata={}), get_task("pen")
        )


def test_a_replay_that_strays_is_refused_unless_forced():
    demos = recorded("halfcheetah", noise(6), horizon=30)
    swapped = tuple(replace(e, actions=-e.actions) for e in demos.episodes)
    other = replace(demos, episodes=swapped)
    with pytest.raises(UserError, match=r"2 of 2 episodes do not happen again in HalfCheetah-v5"):
        relabel_by_replay(other, get_task("halfcheetah"))
    found, deviations = relabel_by_replay(other, get_task("halfcheetah"), force=True)
    assert min(deviations) > 0.5
    assert np.isfinite(found.stack("rewards")).all()


FILES = [name for name in ("door-v0_demos.pickle", "pen2_sparse.npy") if (DATA / name).is_file()]

if FILES:

    @pytest.mark.parametrize("name", FILES)
    def test_published_files_by_the_rule(name):
        """How many episodes succeed; the pen's file itself counts only 17."""
        task, expected = {"door-v0_demos.pickle": ("door", 6), "pen2_sparse.npy": ("pen", 25)}[name]
        demos = validate(load_demos(DATA / name))[0].truncate(200 if task == "door" else 100)
        rewards = [e.rewards for e in task_rewards(demos, get_task(task)).episodes]
        assert sum(bool(r.any()) for r in rewards) == expected
        assert set(np.concatenate(rewards).tolist()) == {0.0, 1.0}
