from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac import updates
from nppac.agents.base import Draw
from nppac.errors import UserError
from nppac.replay import empty_replay, insert, transitions
from nppac.types import Demonstrated, Episode, ReferenceStats
from nppac.updates import exploring_policy, greedy_policy, pretrain, run_updates
from toy_task import ACTION_DIM, AGENT, OBS_DIM

KEY = jax.random.key(0)


def unasked(obs):
    raise AssertionError("these policies act without their reference")


@dataclass(frozen=True)
class Tally:
    """An agent whose state is how often it was updated; it reports that number."""

    def init(self, key, obs_dim, action_dim):
        return jnp.float32(0)

    def update(self, state, batch, key, family):
        state = state + 1
        info = {"count": state, "reward": batch.reward.mean(), "batch": jnp.float32(len(batch.obs))}
        return state, info

    def draw(self, batch_size):
        return Draw(batch_size)

    def clone(self, state, shown, key, family):
        # Each row's number is added up: a pass over all rows adds their sum.
        loss = jnp.where(state > 1e6, jnp.nan, 1.0)
        return state + shown.obs[:, 0].sum(), {"pretrain_loss": loss}

    anchored = False

    def sample(self, state, obs, reference, key):
        return obs

    def mode(self, state, obs, reference):
        return obs


def make_replay(rows=10, scale=0.5):
    states = np.random.default_rng(0).normal(size=(rows + 1, OBS_DIM)).astype(np.float32)
    episode = Episode(
        states, np.zeros((rows, ACTION_DIM), np.float32), np.arange(rows, dtype=np.float32)
    )

    def ask(obs):
        loc = np.full((len(obs), ACTION_DIM), 0.3)
        return ReferenceStats(loc, np.full_like(loc, scale))

    return insert(empty_replay(60, OBS_DIM, ACTION_DIM), transitions([episode], ask))


@pytest.mark.parametrize(
    ("wanted", "lengths"), [(0, []), (3, [3]), (7, [7]), (14, [7, 7]), (17, [7, 7, 3])]
)
def test_updates_run_in_scans_and_the_remainder_is_not_lost(monkeypatch, wanted, lengths):
    monkeypatch.setattr(updates, "UPDATES_PER_SCAN", 7)
    scans, inner = [], updates._scan_updates

    def scan(agent, state, replay, key, count, *rest):
        scans.append(count)
        return inner(agent, state, replay, key, count, *rest)

    monkeypatch.setattr(updates, "_scan_updates", scan)
    state, info = run_updates(Tally(), jnp.float32(0), make_replay(), KEY, wanted, 4, "normal")
    assert scans == lengths
    assert float(state) == wanted
    if not wanted:
        assert info == {}
        return
    assert info["count"] == pytest.approx((wanted + 1) / 2)  # the mean of 1 ... wanted
    assert info["batch"] == 4
    assert 0 < info["reward"] < 9


def test_each_scan_has_its_own_minibatches(monkeypatch):
    monkeypatch.setattr(updates, "UPDATES_PER_SCAN", 1)
    rewards = []
    inner = updates._scan_updates

    def scan(*args):
        state, info = inner(*args)
        rewards.append(float(info["reward"]))
        return state, info

    monkeypatch.setattr(updates, "_scan_updates", scan)
    run_updates(Tally(), jnp.float32(0), make_replay(), KEY, 5, 4, "normal")
    assert len(set(rewards)) > 1


def test_updates_follow_from_their_key():
    def run(key):
        state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
        return run_updates(AGENT, state, make_replay(), key, 20, 16, "normal")

    (state, info), (same, same_info), (_, other_info) = run(KEY), run(KEY), run(jax.random.key(1))
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert info == same_info
    assert info != other_info


def test_a_reference_without_variance_is_named_as_the_cause():
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    with pytest.raises(UserError, match=r"diverged: .*kl.*NaN or infinite.*variance floor"):
        run_updates(AGENT, state, make_replay(scale=1e-30), KEY, 20, 16, "normal")


def pretraining_set(rows):
    obs = np.random.default_rng(1).normal(size=(rows, OBS_DIM)).astype(np.float32)
    stats = ReferenceStats(np.tanh(obs[:, :ACTION_DIM]), np.full((rows, ACTION_DIM), 0.3))
    return Demonstrated(obs, np.tanh(obs[:, :ACTION_DIM]), ReferenceStats(*map(np.float32, stats)))


def test_pretraining_lowers_the_kl():
    heard: list[tuple[int, float]] = []

    def advance(done, status=""):
        heard.append((done, float(status.removeprefix("loss "))))

    agent = replace(AGENT, learning_rate=0.01)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    pretrain(agent, state, pretraining_set(64), KEY, 60, 16, "normal", advance)
    assert [done for done, _ in heard] == list(range(1, 61))
    assert heard[-1][1] < 0.5 * heard[0][1]


@pytest.mark.parametrize(("rows", "batch_size", "seen"), [(8, 4, 8), (10, 4, 8), (3, 64, 3)])
def test_a_pass_visits_each_state_at_most_once(rows, batch_size, seen):
    """Whole minibatches only; fewer states than a minibatch make one of their own."""
    obs = np.zeros((rows, OBS_DIM), np.float32)
    obs[:, 0] = 1.0
    actions = np.ones((rows, ACTION_DIM), np.float32)
    shown = Demonstrated(obs, actions, ReferenceStats(actions, actions))
    state = pretrain(Tally(), jnp.float32(0), shown, KEY, 3, batch_size, "normal")
    assert float(state) == 3 * seen


def test_pretraining_that_diverges_is_named():
    with pytest.raises(UserError, match="diverged: pretrain_loss"):
        pretrain(Tally(), jnp.float32(1e7), pretraining_set(16), KEY, 1, 8, "normal")


def test_exploring_has_fresh_noise_at_each_call_and_follows_from_its_key():
    state, obs = AGENT.init(KEY, OBS_DIM, ACTION_DIM), np.zeros((2, OBS_DIM), np.float32)
    act, again = (exploring_policy(AGENT, state, KEY, unasked) for _ in range(2))
    first, second = act(obs), act(obs)
    assert first.shape == (2, ACTION_DIM)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_array_equal(again(obs), first)
    np.testing.assert_array_equal(again(obs), second)
    assert not np.array_equal(
        exploring_policy(AGENT, state, jax.random.key(1), unasked)(obs), first
    )


def test_the_greedy_policy_has_no_noise():
    state, obs = AGENT.init(KEY, OBS_DIM, ACTION_DIM), np.ones((2, OBS_DIM), np.float32)
    act = greedy_policy(AGENT, state, unasked)
    np.testing.assert_array_equal(act(obs), act(obs))
    np.testing.assert_allclose(act(obs), AGENT.mode(state, jnp.asarray(obs), None), rtol=1e-6)
