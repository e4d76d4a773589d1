"""The machine's float32 peak in matrix products, as JAX reaches it: what an update is held against.

Measured twice. `square`: one large product. `layers`: the very layers of an update, forwards and
backwards, chained in one compiled scan and with nothing else between them.
"""

import time
from collections.abc import Callable
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

SQUARE = 2048
REPEATS = 20

Layer = tuple[int, int]


def square_peak() -> float:
    """GFLOP/s of one product of two 2048 x 2048 matrices, mean over a few in a row."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(SQUARE, SQUARE)), jnp.float32)
    began = time.monotonic()
    product = a
    for _ in range(REPEATS // 4):
        product = _square(a, product)
    jax.block_until_ready(product)
    return REPEATS // 4 * 2 * SQUARE**3 / (time.monotonic() - began) / 1e9


@jax.jit
def _square(a, b):
    return a @ b


def layers_of(obs_dim: int, action_dim: int, policy: tuple, critic: tuple) -> list[Layer]:
    """Inputs and outputs of every layer of a policy and one critic."""
    sizes = [(obs_dim, *policy, 2 * action_dim), (obs_dim + action_dim, *critic, 1)]
    return [pair for s in sizes for pair in pairwise(s)]


def layer_peak(layers: list[Layer], batch: int) -> Callable[[], float]:
    """A measurement, in GFLOP/s, of these layers' products at this batch."""
    start = [_orthogonal(batch, *layer) for layer in layers]
    flops = REPEATS * sum(3 * 2 * batch * i * j for i, j in layers)

    def measure() -> float:
        began = time.monotonic()
        jax.block_until_ready(_chain(start))
        return flops / (time.monotonic() - began) / 1e9

    return measure


@jax.jit
def _chain(pairs):
    """Each layer forwards, and backwards to its weights and to its input.

    Every result is the next product's operand, so that none can be left out. With orthogonal
    matrices both come back as they were, so that numbers neither grow nor vanish.
    """

    def step(pairs, _):
        return [_there_and_back(x, w) for x, w in pairs], None

    return jax.lax.scan(step, pairs, length=REPEATS)[0]


def _there_and_back(x, w):
    y = x @ w
    return y @ w.T, x.T @ y


def _orthogonal(batch: int, inputs: int, outputs: int):
    rng = np.random.default_rng(0)
    x = np.linalg.qr(rng.normal(size=(batch, inputs)))[0]
    wide = np.linalg.qr(rng.normal(size=(max(inputs, outputs), min(inputs, outputs))))[0]
    w = wide if inputs >= outputs else wide.T
    return jnp.asarray(x, jnp.float32), jnp.asarray(w, jnp.float32)
