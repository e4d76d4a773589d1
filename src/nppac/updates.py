"""Gradient steps and actions of any agent as compiled programs.

Many updates run inside one `lax.scan` whose buffers are donated; Python is entered once per scan.
"""

from collections.abc import Callable, Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Agent, Info, State
from nppac.errors import UserError
from nppac.progress import Advance, silent
from nppac.replay import Replay, empty_replay, sample_rows, take
from nppac.types import Family, ReferenceStats

UPDATES_PER_SCAN = 250
"""Updates in one compiled scan: long enough to hide its dispatch, short enough to show progress."""


def run_updates(
    agent: Agent,
    state: State,
    replay: Replay,
    key: PRNGKeyArray,
    updates: int,
    batch_size: int,
    family: Family,
) -> tuple[State, dict[str, float]]:
    """So many gradient steps, in compiled scans; their reports averaged and checked."""
    infos: list[Info] = []
    lengths = [UPDATES_PER_SCAN] * (updates // UPDATES_PER_SCAN)
    lengths += [updates % UPDATES_PER_SCAN] if updates % UPDATES_PER_SCAN else []
    for i, length in enumerate(lengths):
        scan_key = jax.random.fold_in(key, i)
        state, info = _scan_updates(agent, state, replay, scan_key, length, batch_size, family)
        infos.append(info)
    weights = np.array(lengths) / max(updates, 1)
    means = {
        name: float(sum(w * float(info[name]) for w, info in zip(weights, infos, strict=True)))
        for name in (infos[0] if infos else {})
    }
    _check_finite(means)
    return state, means


def check_settings(agent: Agent, obs_dim: int, action_dim: int, family: Family) -> None:
    """Trace one update without running it: settings that do not go together show at once."""

    def trace(key: PRNGKeyArray) -> tuple[State, Info]:
        state = agent.init(key, obs_dim, action_dim)
        batch = empty_replay(1, obs_dim, action_dim).storage
        return agent.update(state, batch, key, family)

    jax.eval_shape(trace, jax.random.key(0))


@partial(
    jax.jit,
    static_argnames=("agent", "updates", "batch_size", "family"),
    donate_argnames=("state",),
)
def _scan_updates(
    agent: Agent,
    state: State,
    replay: Replay,
    key: PRNGKeyArray,
    updates: int,
    batch_size: int,
    family: Family,
) -> tuple[State, Info]:
    rows_key, update_key = jax.random.split(key)
    rows = sample_rows(replay, rows_key, updates, batch_size)
    keys = jax.random.split(update_key, updates)

    def step(state: State, inputs: tuple[Array, PRNGKeyArray]) -> tuple[State, Info]:
        rows, key = inputs
        return agent.update(state, take(replay, rows), key, family)

    state, infos = jax.lax.scan(step, state, (rows, keys))
    return state, jax.tree.map(jnp.mean, infos)


def pretrain(
    agent: Agent,
    state: State,
    obs: np.ndarray,
    stats: ReferenceStats,
    key: PRNGKeyArray,
    epochs: int,
    batch_size: int,
    family: Family,
    advance: Advance = silent,
) -> State:
    """Pull the policy to the reference on these states: so many passes in shuffled minibatches."""
    batch_size, kl = min(batch_size, len(obs)), 0.0
    for epoch in range(epochs):
        epoch_key = jax.random.fold_in(key, epoch)
        state, kl = _pretrain_epoch(agent, state, obs, stats, epoch_key, batch_size, family)
        advance(epoch + 1, f"KL {float(kl):.3g}")
    _check_finite({"kl": float(kl)})
    return state


@partial(jax.jit, static_argnames=("agent", "batch_size", "family"), donate_argnames=("state",))
def _pretrain_epoch(
    agent: Agent,
    state: State,
    obs: Float[Array, "n o"],
    stats: ReferenceStats,
    key: PRNGKeyArray,
    batch_size: int,
    family: Family,
) -> tuple[State, Float[Array, ""]]:
    order_key, step_key = jax.random.split(key)
    batches = len(obs) // batch_size
    rows = jax.random.permutation(order_key, len(obs))[: batches * batch_size]

    def step(state: State, inputs: tuple[Array, PRNGKeyArray]) -> tuple[State, Info]:
        rows, key = inputs
        chosen = jax.tree.map(lambda array: array[rows], stats)
        return agent.clone_reference(state, obs[rows], chosen, key, family)

    keys = jax.random.split(step_key, batches)
    state, info = jax.lax.scan(step, state, (rows.reshape(batches, batch_size), keys))
    return state, jnp.mean(info["kl"])


def exploring_policy(
    agent: Agent, state: State, key: PRNGKeyArray
) -> Callable[[np.ndarray], np.ndarray]:
    """The policy as a function of observations, with fresh noise at each call."""
    calls = 0

    def act(obs: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return np.asarray(_sample(agent, state, obs, key, calls))

    return act


def greedy_policy(agent: Agent, state: State) -> Callable[[np.ndarray], np.ndarray]:
    """The policy's deterministic actions as a function of observations."""
    return lambda obs: np.asarray(_mode(agent, state, obs))


@partial(jax.jit, static_argnames="agent")
def _sample(
    agent: Agent, state: State, obs: Array, key: PRNGKeyArray, call: Int[Array, ""] | int
) -> Array:
    return agent.sample(state, obs, jax.random.fold_in(key, call))


@partial(jax.jit, static_argnames="agent")
def _mode(agent: Agent, state: State, obs: Array) -> Array:
    return agent.mode(state, obs)


def _check_finite(values: Mapping[str, float]) -> None:
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise UserError(
            f"Training diverged: {', '.join(bad)} became NaN or infinite. The checkpoint before it "
            "is kept. A reference whose variance is nearly zero does this (its KL explodes): use "
            "the GP, a variance floor, or a smaller temperature."
        )
