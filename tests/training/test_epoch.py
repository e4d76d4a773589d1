from dataclasses import replace

import numpy as np
import pytest

from nppac.types import ReferenceStats
from toy_run import Watched, column, run
from toy_task import AGENT, HORIZON, SCHEDULE


class Fading(Watched):
    """Knows less and less as an episode goes on; its scale is the share of the time that passed."""

    def __call__(self, obs):
        scale = np.maximum(obs[:, 2:], 0.1).repeat(2, axis=1)
        return ReferenceStats(super().__call__(obs).loc, scale.astype(np.float32))


def lengths(storage, size):
    return np.diff(np.flatnonzero(np.asarray(storage.episode_end)[:size]), prepend=-1)


@pytest.mark.parametrize(("max_lost_steps", "longest"), [(None, HORIZON), (1, 4), (2, 5)])
def test_training_episodes_end_where_the_agent_stays_lost(tmp_path, max_lost_steps, longest):
    agent = replace(AGENT, lost_scale=3.5 / HORIZON, max_lost_steps=max_lost_steps)
    schedule = replace(SCHEDULE, updates_per_step=0.0, replay_capacity=1000)
    replay = run(tmp_path, schedule, agent=agent, reference=Fading()).replay
    assert lengths(replay.storage, int(replay.size)).max() == longest
    cut = np.isclose(np.asarray(replay.storage.next_obs)[:, 2], longest / HORIZON)
    assert np.asarray(replay.storage.discount_mask)[cut].all()  # a truncation, no end of the world


def test_training_episodes_end_at_their_longest(tmp_path):
    schedule = replace(SCHEDULE, updates_per_step=0.0, replay_capacity=1000, train_episode_steps=3)
    replay = run(tmp_path, schedule).replay
    assert lengths(replay.storage, int(replay.size)).max() == 3


def test_the_share_of_lost_steps_is_logged(tmp_path):
    schedule = replace(SCHEDULE, updates_per_step=0.0, replay_capacity=1000)
    agent = replace(AGENT, lost_scale=3.5 / HORIZON)
    replay = run(tmp_path, schedule, agent=agent, reference=Fading()).replay
    scale = np.asarray(replay.storage.reference.scale)[:, 0]
    share = np.mean(scale > agent.lost_scale)
    assert 0.1 < share < 0.9
    assert np.mean(column(tmp_path, "lost_share")[1:]) == pytest.approx(share, abs=1e-6)
