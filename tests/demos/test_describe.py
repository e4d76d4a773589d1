import json

import numpy as np
import pytest

from nppac.demos import Demos, describe

from .samples import make_episode


def episode(steps, reward, success=False, terminated=False):
    obs = np.arange((steps + 1) * 3, dtype=np.float32).reshape(-1, 3)
    obs[:, 1] = 4.0
    actions = np.linspace(-0.5, 2.0, steps * 2, dtype=np.float32).reshape(steps, 2)
    rewards = np.full(steps, reward, np.float32)
    return make_episode(
        observations=obs,
        actions=actions,
        rewards=rewards,
        successes=np.array([False] * (steps - 1) + [success]),
        terminated=terminated,
    )


def test_description():
    demos = Demos(
        (episode(4, 1.0, success=True, terminated=True), episode(2, -1.0)),
        "file.npz",
        {"env_id": "Door-v1", "provenance": {"by": "hand"}},
    )
    found = describe(demos)
    assert found == {
        "source": "file.npz",
        "env_id": "Door-v1",
        "episodes": 2,
        "steps": 6,
        "obs_dim": 3,
        "action_dim": 2,
        "lengths": {"min": 2, "mean": 3.0, "max": 4},
        "terminated": 1,
        "returns": {"min": -2.0, "mean": 1.0, "max": 4.0},
        "successes": 1,
        "action_range": (-0.5, 2.0),
        "constant_obs_dims": [1],
        "provenance": {"by": "hand"},
    }
    assert json.loads(json.dumps(found))["action_range"] == [-0.5, 2.0]


def test_unknown_rewards_and_successes_are_none():
    found = describe(Demos((make_episode(), make_episode(rewards=None))))
    assert found["returns"] is None
    assert found["successes"] is None
    assert found["provenance"] is None


def test_a_reward_too_many_does_not_count():
    found = describe(Demos((make_episode(4, rewards=np.ones(5, np.float32)),)))
    assert found["returns"]["mean"] == 4.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_describes_what_validation_would_refuse(value):
    bad = np.full((5, 3), value, np.float32)
    assert describe(Demos((make_episode(observations=bad),)))["steps"] == 4
