import re
from dataclasses import replace

import numpy as np
import pytest

from nppac.demos import Demos, validate
from nppac.utils.errors import UserError

from .samples import assert_same, make_demos, make_episode


def demos_with(*episodes):
    return Demos(tuple(episodes), "file.npz")


def changed(episode, key, place, value):
    array = getattr(episode, key).copy()
    array[place] = value
    return replace(episode, **{key: array})


def refuse(demos, *parts, **expected):
    with pytest.raises(UserError) as caught:
        validate(demos, **expected)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("extra", [0, 1])
def test_clean_demos_pass_unchanged(extra):
    demos = make_demos(extra)
    found, notes = validate(demos, obs_dim=3, action_dim=2)
    assert notes == []
    assert_same(found, demos)


def test_wrong_observation_size():
    refuse(
        demos_with(make_episode()),
        "file.npz: episode 0, step 0: observations have 3 entries where door has 39",
        "Choose the task they were recorded on",
        obs_dim=39,
        task_name="door",
    )


def test_wrong_action_size():
    refuse(make_demos(), "actions have 2 entries where the task has 28", action_dim=28)


def test_episodes_of_different_sizes():
    odd = make_episode(observations=np.zeros((5, 7), np.float32))
    refuse(
        demos_with(make_episode(), odd),
        "episode 1, step 0: observations have 7 entries where episode 0 has 3",
    )


@pytest.mark.parametrize(
    ("key", "place", "value", "message"),
    [
        ("observations", (2, 1), np.nan, "episode 1, step 2: observations, entry 1 is nan"),
        ("actions", (3, 0), np.inf, "episode 1, step 3: actions, entry 0 is inf"),
        ("rewards", 1, -np.inf, "episode 1, step 1: rewards is -inf"),
    ],
)
def test_not_finite(key, place, value, message):
    bad = changed(make_episode(), key, place, value)
    refuse(demos_with(make_episode(), bad), message, "remove or repair the episode")


def test_no_episodes():
    refuse(demos_with(), "file.npz hold no episodes", "record or load at least one")


def test_empty_episode():
    refuse(demos_with(make_episode(), make_episode(0)), "episode 1 has no actions", "Remove it")


def test_one_step_episodes_are_dropped():
    kept = make_episode(4)
    found, notes = validate(demos_with(make_episode(1), kept, make_episode(1)))
    assert_same(found, demos_with(kept))
    assert notes == ["Dropped 2 episodes (0, 2): one step only."]
    seeded = replace(
        demos_with(make_episode(1), kept),
        metadata={"provenance": {"episode_seeds": [7, 8], "x": 1}},
    )
    assert validate(seeded)[0].metadata == {"provenance": {"episode_seeds": [8], "x": 1}}
    more = replace(
        seeded, metadata={"provenance": {"episode_seeds": [7, 8, 9]}}
    )  # of more episodes
    assert validate(more)[0].metadata == {"provenance": {"episode_seeds": [8]}}
    assert validate(demos_with(kept, make_episode(1)))[1] == ["Dropped episode 1: one step only."]


def test_nothing_but_one_step_episodes():
    refuse(demos_with(make_episode(1)), "hold only episodes of one step")


def test_one_reward_more_is_dropped():
    plain = make_episode(4)
    longer = replace(plain, rewards=np.append(plain.rewards, np.float32(np.nan)))
    found, notes = validate(demos_with(plain, longer))
    assert_same(found, demos_with(plain, plain))
    assert notes == ["Dropped the last of the rewards in episode 1: one more than actions."]


def test_many_episodes_are_listed_briefly():
    longer = make_episode(rewards=np.zeros(5, np.float32))
    _, notes = validate(demos_with(*[longer] * 10))
    assert "in 10 episodes (0, 1, 2, 3, 4, 5, 6, 7, ...)" in notes[0]


def test_one_success_more_is_dropped():
    (found,), notes = (lambda r: (r[0].episodes, r[1]))(
        validate(demos_with(make_episode(successes=np.array([0, 0, 0, 1, 0], bool))))
    )
    np.testing.assert_array_equal(found.successes, [False, False, False, True])
    assert "the successes in episode 0" in notes[0]


@pytest.mark.parametrize("count", [3, 6])
def test_other_counts_of_rewards(count):
    bad = make_episode(rewards=np.zeros(count, np.float32))
    refuse(demos_with(bad), f"episode 0 has {count} rewards for 4 actions", "leave 'rewards' out")


@pytest.mark.parametrize("extra", [-1, 2])
def test_other_counts_of_observations(extra):
    refuse(
        demos_with(make_episode(4, extra=extra)),
        f"episode 0 has {4 + extra} observations for 4 actions",
        "Expected 4, or 5",
    )


def test_actions_are_clipped_and_counted():
    first = changed(make_episode(), "actions", (0, 0), 1.5)
    second = changed(make_episode(seed=1), "actions", (1, slice(None)), -3.25)
    demos = demos_with(first, second)
    found, notes = validate(replace(demos, metadata={"actions": "normalised"}))
    assert notes == ["Clipped 3 of 16 action values to [-1, 1]; the largest magnitude was 3.25."]
    assert found.episodes[0].actions[0, 0] == 1
    np.testing.assert_array_equal(found.episodes[1].actions[1], [-1, -1])
    assert found.actions.dtype == np.float32
    assert first.actions[0, 0] == 1.5
    kept, notes = validate(demos)  # they may be in the environment's units
    np.testing.assert_array_equal(kept.actions, demos.actions)
    assert notes[0].startswith("Kept 3 of 16 action values beyond [-1, 1], the largest of magn")


def test_source_may_be_unknown():
    with pytest.raises(UserError, match=re.escape("The demonstrations: episode 0 has no actions.")):
        validate(Demos((make_episode(0),)))
