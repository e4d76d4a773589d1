"""A distilled policy to test with."""

import jax
import numpy as np

from nppac.deploy.student import Student
from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser

OBS_DIM, ACTION_DIM = 5, 3


def make_student():
    network = MLP(jax.random.key(0), OBS_DIM, (64, 32), ACTION_DIM, 1.0)
    rng = np.random.default_rng(0)
    return Student(
        network,
        Standardiser(
            rng.normal(size=OBS_DIM).astype(np.float32),
            rng.uniform(0.5, 2, OBS_DIM).astype(np.float32),
        ),
    )


def states(count=50):
    return np.random.default_rng(1).normal(size=(count, OBS_DIM)).astype(np.float32)


def bounds(low, high):
    """The least and the largest action, as a file has them."""
    low, high = (np.full(ACTION_DIM, value) for value in (low, high))
    number = low.dtype.kind != "U"
    return {
        "low": low.astype("f4") if number else low,
        "high": high.astype("f4") if number else high,
    }
