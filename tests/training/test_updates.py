from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.agents.base import BatchSpec
from nppac.agents.replay import empty_replay, insert, n_step_outcome
from nppac.training import updates
from nppac.training.transitions import transitions
from nppac.training.updates import (
    draw_batch,
    pretrain,
    run_updates,
)
from nppac.types import DemoBatch, Episode, ReferenceStats
from nppac.utils.errors import UserError
from toy_task import ACTION_DIM, AGENT, OBS_DIM

KEY = jax.random.key(0)


@dataclass(frozen=True)
class Tally:
    """An agent whose state is how often it was updated; it reports that number."""

    def init(self, key, obs_dim, action_dim):
        return jnp.float32(0)

    def update(self, state, batch, key, family):
        state = state + 1
        info = {"count": state, "reward": batch.reward.mean(), "batch": jnp.float32(len(batch.obs))}
        return state, info

    def batch_spec(self, batch_size):
        return BatchSpec(batch_size)

    def pretrain_step(self, state, demo_batch, key, family):
        # Each row's number is added up: a pass over all rows adds their sum.
        loss = jnp.where(state > 1e6, jnp.nan, 1.0)
        return state + demo_batch.obs[:, 0].sum(), {"pretrain_loss": loss}

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

    def query(obs):
        loc = np.full((len(obs), ACTION_DIM), 0.3)
        return ReferenceStats(loc, np.full_like(loc, scale))

    return insert(empty_replay(60, OBS_DIM, ACTION_DIM), transitions([episode], query))


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
    return DemoBatch(obs, np.tanh(obs[:, :ACTION_DIM]), ReferenceStats(*map(np.float32, stats)))


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
    demo_batch = DemoBatch(obs, actions, ReferenceStats(actions, actions))
    state = pretrain(Tally(), jnp.float32(0), demo_batch, KEY, 3, batch_size, "normal")
    assert float(state) == 3 * seen


def test_pretraining_that_diverges_is_named():
    with pytest.raises(UserError, match="diverged: pretrain_loss"):
        pretrain(Tally(), jnp.float32(1e7), pretraining_set(16), KEY, 1, 8, "normal")


drawn, outcome = eqx.filter_jit(draw_batch), eqx.filter_jit(n_step_outcome)
"""As in training; drawn as it is, every operation would be a program of its own."""


def demonstrated(rows=5):
    """A replay that is told from the other by its rewards, which are negative."""
    replay = make_replay(rows)
    return replay._replace(storage=replay.storage._replace(reward=-1 - replay.storage.reward))


def test_a_minibatch_has_its_demonstrations_behind_its_replayed_rows():
    batch = drawn(make_replay(), demonstrated(), KEY, BatchSpec(6, 3))
    assert batch.obs.shape == (9, OBS_DIM)
    np.testing.assert_array_equal(batch.reward < 0, [False] * 6 + [True] * 3)
    assert set(np.asarray(batch.reward[6:]).tolist()) <= {-1.0, -2.0, -3.0, -4.0, -5.0}


def test_several_minibatches_have_an_axis_of_their_own_and_rows_of_their_own():
    batch = drawn(make_replay(), demonstrated(), KEY, BatchSpec(6, 3, minibatches=4))
    assert batch.obs.shape == (4, 9, OBS_DIM)
    np.testing.assert_array_equal(batch.reward < 0, [[False] * 6 + [True] * 3] * 4)
    assert len({tuple(row) for row in np.asarray(batch.reward).tolist()}) == 4


@pytest.mark.parametrize(
    ("demos", "spec"), [(None, BatchSpec(6, 3)), (demonstrated(), BatchSpec(6))]
)
def test_a_minibatch_without_demonstrations(demos, spec):
    batch = drawn(make_replay(), demos, KEY, spec)
    assert batch.reward.shape == (6,)
    assert (batch.reward >= 0).all()
    assert batch.n_step is None


def test_replayed_rows_do_not_depend_on_the_demonstrations():
    alone = drawn(make_replay(), None, KEY, BatchSpec(6))
    mixed = drawn(make_replay(), demonstrated(), KEY, BatchSpec(6, 3))
    np.testing.assert_array_equal(mixed.reward[:6], alone.reward)
    other = drawn(make_replay(), demonstrated(), jax.random.key(1), BatchSpec(6, 3))
    assert not np.array_equal(mixed.reward, other.reward)


@pytest.mark.parametrize("minibatches", [None, 1, 2])
def test_a_minibatch_that_looks_ahead(minibatches):
    spec = BatchSpec(6, 3, minibatches=minibatches, n_step=2, discount=0.5)
    batch = drawn(make_replay(), demonstrated(), KEY, spec)
    leading = (9,) if minibatches is None else (minibatches, 9)
    assert batch.n_step.reward.shape == batch.n_step.discount.shape == leading
    assert batch.n_step.obs.shape == (*leading, OBS_DIM)
    # Rewards are the rows' numbers, so that each tells what the next step brought.
    reward, ahead = (
        np.asarray(a).reshape(-1, 9)[:, :6] for a in (batch.reward, batch.n_step.reward)
    )
    expected = np.where(reward < 9, reward + 0.5 * (reward + 1), reward)
    np.testing.assert_allclose(ahead, expected)
    everything = outcome(demonstrated(), np.arange(5), 2, 0.5).reward
    shown = np.asarray(batch.n_step.reward).reshape(-1, 9)[:, 6:]
    assert np.isin(shown, everything).all()
