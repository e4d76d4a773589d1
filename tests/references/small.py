"""A small noisy problem and small networks: one shape and one program for all tests."""

import numpy as np

from nppac.references import NetworkConfig, load_reference

CONFIG = NetworkConfig(hidden=(8, 8), learning_rate=1e-2, batch_size=32, max_epochs=4)


def make_data(n=160, seed=0):
    """States with a constant entry; the second action is noisy."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(n, 3)) * [1.0, 30.0, 0.0] + [0.0, 5.0, 0.1]
    actions = np.stack([np.tanh(obs[:, 0]), 0.5 * rng.normal(size=n)], axis=1)
    return obs, actions


def assert_round_trips(reference, obs, folder):
    """What is loaded is of the same kind, and answers bit for bit the same."""
    reference.save(folder / "reference.npz")
    loaded = load_reference(folder / "reference.npz")
    assert type(loaded) is type(reference)
    assert loaded.family == reference.family
    assert loaded.summary() == reference.summary()
    np.testing.assert_array_equal(loaded.mean(obs), reference.mean(obs))
    for before, after in zip(reference(obs), loaded(obs), strict=True):
        assert before.dtype == after.dtype == np.float32
        np.testing.assert_array_equal(before, after)
    return loaded
