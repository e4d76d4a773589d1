import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nppac.nn.mlp import MLP
from nppac.references import NetworkConfig
from nppac.references.neural.epoch import Data, Rows, inverted, start, train_epoch
from nppac.references.neural.model import negative_log_likelihood

CONFIG = NetworkConfig(hidden=(4,), learning_rate=1e-2).compiled()


def make_epoch():
    rng = np.random.default_rng(0)
    data = Data(rng.normal(size=(10, 3)), rng.normal(size=(10, 2)), rng.normal(size=(5, 3)))
    data = Data(*(jnp.asarray(array, jnp.float32) for array in data))
    return data, Rows(np.arange(8).reshape(2, 4), np.array([8, 9]))


def test_masks_keep_the_expectation():
    (mask,) = inverted((np.array([True] * 9 + [False]),), 0.1)
    assert float(jnp.mean(mask)) == pytest.approx(1.0)
    assert inverted(None, 0.1) is None


def test_first_step_of_adam_is_the_learning_rate():
    data, _ = make_epoch()
    rows = Rows(np.arange(8).reshape(1, 8), np.array([8, 9]))
    member = start(jax.random.key(0), 3, 2, CONFIG, False)
    before = [np.array(leaf) for leaf in jax.tree.leaves(member.network)]
    after, _ = train_epoch(member, rows, jax.random.key(1), np.True_, data, CONFIG, 0.0, False)
    for old, new in zip(before, jax.tree.leaves(after.network), strict=True):
        moved = np.abs(new - old)
        assert moved.max() == pytest.approx(1e-2, rel=1e-2)


@pytest.mark.parametrize("active", [True, False])
def test_only_the_active_keep_a_better_epoch(active):
    data, rows = make_epoch()
    member = start(jax.random.key(0), 3, 2, CONFIG, False)
    first = np.array(member.network.weights[0])
    member, record = train_epoch(
        member, rows, jax.random.key(1), np.bool_(active), data, CONFIG, 0.0, False
    )
    assert isinstance(member.network, MLP)
    loss = negative_log_likelihood(member.network, data.x[8:], data.actions[8:], CONFIG)
    assert float(record.validation_nll) == pytest.approx(float(loss), rel=1e-5)
    assert np.isfinite(float(member.least)) == active
    assert (np.array(member.best.weights[0]) != first).any() == active
