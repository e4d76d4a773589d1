import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nppac.evaluation.evaluate import Evaluation, evaluate_in, summarise_episodes
from nppac.types import Episode


def episode(rewards, successes=None):
    steps = len(rewards)
    return Episode(
        observations=np.zeros((steps + 1, 1), np.float32),
        actions=np.zeros((steps, 1), np.float32),
        rewards=np.float32(rewards),
        successes=None if successes is None else np.array(successes, bool),
    )


class BatchSpec(gym.Env):
    """Every step pays the number that the reset drew; three steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.value = 3, self.np_random.normal()
        return np.float32([self.value]), {}

    def step(self, action):
        self.left -= 1
        return np.float32([self.value]), self.value, False, self.left == 0, {}


def still(rows):
    return np.zeros((len(rows), 1), np.float32)


def test_hand_checked_numbers():
    outcome = summarise_episodes(
        [
            episode([1, 2, 3], [0, 1, 0]),
            episode([4], [1]),
            episode([0, -2], [0, 0]),
            episode([8, 0], [0, 1]),
        ]
    )
    assert outcome.returns == (6.0, 4.0, -2.0, 8.0)
    assert outcome.lengths == (3, 1, 2, 2)
    assert outcome.return_mean == 4.0
    assert outcome.return_std == pytest.approx(np.sqrt((4 + 0 + 36 + 16) / 4))
    assert outcome.success_any == 0.75
    assert outcome.success_end == 0.5


def test_successes_are_unknown_where_no_episode_reports_any():
    outcome = summarise_episodes([episode([1]), episode([2])])
    assert outcome.success_any is None
    assert outcome.success_end is None


def test_a_silent_episode_among_others_is_no_success():
    outcome = summarise_episodes([episode([1], [1]), episode([2])])
    assert outcome.success_any == outcome.success_end == 0.5


def test_returns_are_summed_in_double_precision():
    assert summarise_episodes([episode([2.0**24] + [1.0] * 3)]).returns == (2.0**24 + 3,)


def test_as_dict_is_json():
    outcome = Evaluation(returns=(1.0, 3.0), lengths=(2, 2), success_any=0.5, success_end=None)
    assert json.loads(json.dumps(outcome.as_dict())) == {
        "return_mean": 2.0,
        "return_std": 1.0,
        "success_any": 0.5,
        "success_end": None,
        "returns": [1.0, 3.0],
        "lengths": [2, 2],
    }


def test_evaluate_is_reproducible_and_independent_of_the_number_of_environments():
    alone = evaluate_in([BatchSpec()], still, episodes=5, seed=1)
    assert evaluate_in([BatchSpec() for _ in range(3)], still, episodes=5, seed=1) == alone
    assert alone.lengths == (3,) * 5
    assert len(set(alone.returns)) == 5
    assert evaluate_in([BatchSpec()], still, episodes=5, seed=2) != alone


def test_evaluate_reports_progress():
    heard = []
    evaluate_in(
        [BatchSpec(), BatchSpec()],
        still,
        episodes=3,
        seed=0,
        advance=lambda done, status="": heard.append((done, status)),
    )
    assert [done for done, _ in heard] == [1, 2, 3]
    assert all(status.startswith("return ") for _, status in heard)


def test_evaluate_needs_an_episode():
    with pytest.raises(ValueError, match="at least one"):
        evaluate_in([BatchSpec()], still, episodes=0, seed=0)
