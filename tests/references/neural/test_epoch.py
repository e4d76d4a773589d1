import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.references import NetworkConfig
from nppac.references.neural.batches import Batches
from nppac.references.neural.epoch import start, train_epoch
from nppac.references.neural.model import negative_log_likelihood, squared_error

TINY = NetworkConfig(hidden=(4,)).objective


def run_epoch(part, rows):
    rng = np.random.default_rng(0)
    x, targets = (jnp.asarray(rng.normal(size=(10, k)), jnp.float32) for k in (3, 2))
    state = start(jax.random.key(0), 3, 2, TINY)
    held = np.array([8, 9], np.int32)
    batches = Batches(np.array(rows, np.int32))
    key, rate = jax.random.key(1), np.asarray(1e-2, np.float32)
    after, record = train_epoch(state, batches, held, key, rate, x, targets, None, part, TINY, 0.0)
    return state, after, record, (x[8:], targets[8:])


@pytest.mark.parametrize("part", ["mean", "variance"])
def test_first_step_of_adam_is_the_learning_rate(part):
    before, after, _, _ = run_epoch(part, [range(8)])
    moved = [
        np.abs(np.asarray(new) - np.asarray(old)).max()
        for old, new in zip(
            jax.tree.leaves(before.network), jax.tree.leaves(after.network), strict=True
        )
    ]
    np.testing.assert_allclose(moved, 1e-2, rtol=2e-2)


def test_an_epoch_validates_the_network_that_it_leaves():
    _, after, record, held = run_epoch("mean", [range(4), range(4, 8)])
    assert float(record.validation) == pytest.approx(float(squared_error(after.network, *held)))
    _, after, record, held = run_epoch("variance", [range(4), range(4, 8)])
    expected = float(negative_log_likelihood(after.network, *held, TINY))
    assert float(record.validation) == pytest.approx(expected)
