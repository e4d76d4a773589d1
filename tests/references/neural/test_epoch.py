import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.references import NetworkConfig
from nppac.references.neural.batches import Batches
from nppac.references.neural.epoch import start, train_epoch
from nppac.references.neural.model import losses

TINY = NetworkConfig(hidden=(4,)).objective


def run_epoch(rows):
    rng = np.random.default_rng(0)
    x, actions = (jnp.asarray(rng.normal(size=(10, k)), jnp.float32) for k in (3, 2))
    state = start(jax.random.key(0), 3, 2, TINY)
    held = np.array([8, 9], np.int32)
    batches = Batches(np.array(rows, np.int32))
    key, rate = jax.random.key(1), np.asarray(1e-2, np.float32)
    after, record = train_epoch(state, batches, held, key, rate, x, actions, x[:3], TINY, 0.0)
    return state, after, record, (x, actions)


def test_first_step_of_adam_is_the_learning_rate():
    before, after, _, _ = run_epoch([range(8)])
    leaves = zip(jax.tree.leaves(before.networks), jax.tree.leaves(after.networks), strict=True)
    moved = [np.abs(np.asarray(new) - np.asarray(old)).max() for old, new in leaves]
    np.testing.assert_allclose(moved, 1e-2, rtol=2e-2)


def test_an_epoch_judges_the_networks_that_it_leaves():
    _, after, record, (x, actions) = run_epoch([range(4), range(4, 8)])
    expected = losses(after.networks, x[8:], actions[8:], TINY)
    assert [float(term) for term in record.validation] == pytest.approx([*map(float, expected)])
    probed = float(after.networks(x[:3], TINY.floor)[1].mean())
    assert float(record.probe_variance) == pytest.approx(probed)
