"""Gradient steps and actions of any agent as compiled programs.

Many updates run inside one `lax.scan`, whose buffers are donated.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from nppac.agents.base import Agent, BatchSpec, Info, MinibatchAgent, ReplayAgent, State
from nppac.agents.replay import Replay, n_step_outcome, sample_rows, take
from nppac.tasks.rollout import Act
from nppac.types import Actions, Batch, DemoBatch, Family, Obs, ReferenceStats, Scalar
from nppac.utils.errors import UserError
from nppac.utils.progress import Advance, silent

ReferenceQuery = Callable[[np.ndarray], ReferenceStats]
"""The statistics of a reference at some observations."""

UPDATES_PER_SCAN = 250
"""Updates in one compiled scan: enough to hide its dispatch, few enough to show progress."""


def run_updates(
    agent: Agent,
    state: State,
    replay: Replay,
    key: PRNGKeyArray,
    updates: int,
    batch_size: int,
    family: Family,
    demos: Replay | None = None,
) -> tuple[State, dict[str, float]]:
    """Gradient steps in compiled scans, and the averages of what they report.

    An agent that learns from whole episodes decides itself how many steps it makes.
    """
    if isinstance(agent, ReplayAgent):
        state, info = _learn(agent, state, replay, demos, key, family) if updates else (state, {})
        means = {name: float(value) for name, value in info.items()}
        _check_finite(means)
        return state, means
    infos: list[Info] = []
    lengths = [UPDATES_PER_SCAN] * (updates // UPDATES_PER_SCAN)
    lengths += [updates % UPDATES_PER_SCAN] if updates % UPDATES_PER_SCAN else []
    for i, length in enumerate(lengths):
        scan_key = jax.random.fold_in(key, i)
        state, info = _scan_updates(
            agent, state, replay, scan_key, length, batch_size, family, demos
        )
        infos.append(info)
    weights = np.array(lengths) / max(updates, 1)
    means = {
        name: float(sum(w * float(info[name]) for w, info in zip(weights, infos, strict=True)))
        for name in (infos[0] if infos else {})
    }
    _check_finite(means)
    return state, means


@partial(jax.jit, static_argnames=("agent", "family"), donate_argnames=("state",))
def _learn(
    agent: ReplayAgent,
    state: State,
    replay: Replay,
    demos: Replay | None,
    key: PRNGKeyArray,
    family: Family,
) -> tuple[State, Info]:
    return agent.learn(state, replay, demos, key, family)


@partial(
    jax.jit,
    static_argnames=("agent", "updates", "batch_size", "family"),
    donate_argnames=("state",),
)
def _scan_updates(
    agent: MinibatchAgent,
    state: State,
    replay: Replay,
    key: PRNGKeyArray,
    updates: int,
    batch_size: int,
    family: Family,
    demos: Replay | None,
) -> tuple[State, Info]:
    spec = agent.batch_spec(batch_size)
    rows_key, update_key = jax.random.split(key)
    keys = jax.random.split(update_key, updates)
    row_keys = jax.random.split(rows_key, updates)

    def step(state: State, inputs: tuple[PRNGKeyArray, PRNGKeyArray]) -> tuple[State, Info]:
        row_key, key = inputs
        return update_once(agent, state, draw_batch(replay, demos, row_key, spec), key, family)

    state, infos = jax.lax.scan(step, state, (row_keys, keys))
    return state, jax.tree.map(jnp.mean, infos)


@partial(jax.jit, static_argnames=("agent", "family"), inline=True)
def update_once(
    agent: MinibatchAgent, state: State, batch: Batch, key: PRNGKeyArray, family: Family
) -> tuple[State, Info]:
    """One update, as a part of a program.

    A program of its own would be called; this one is traced once, and then copied into every
    program that updates: the check of a run's settings, learning offline, and its epochs.
    """
    return agent.update(state, batch, key, family)


def draw_batch(replay: Replay, demos: Replay | None, key: PRNGKeyArray, spec: BatchSpec) -> Batch:
    """The minibatch that an update takes; demonstrations follow the replayed rows."""
    batch = _draw_from(replay, key, spec, spec.replayed)
    if spec.demonstrated and demos is not None:
        demo_batch = _draw_from(demos, jax.random.fold_in(key, 1), spec, spec.demonstrated)
        batch = jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), batch, demo_batch)
    return batch if spec.minibatches else jax.tree.map(lambda column: column[0], batch)


def _draw_from(replay: Replay, key: PRNGKeyArray, spec: BatchSpec, count: int) -> Batch:
    """Rows of one replay, with a leading axis of minibatches."""
    rows = sample_rows(replay, key, spec.minibatches or 1, count)
    batch = take(replay, rows)
    if not spec.n_step:
        return batch
    outcome = jax.vmap(lambda r: n_step_outcome(replay, r, spec.n_step, spec.discount))(rows)
    return batch._replace(n_step=outcome)


def pretrain(
    agent: Agent,
    state: State,
    demo_batch: DemoBatch,
    key: PRNGKeyArray,
    epochs: int,
    batch_size: int,
    family: Family,
    advance: Advance = silent,
) -> State:
    """Pretrain the policy: `epochs` passes over the demonstrations in shuffled minibatches."""
    batch_size, loss = min(batch_size, len(demo_batch.obs)), 0.0
    for epoch in range(epochs):
        epoch_key = jax.random.fold_in(key, epoch)
        state, loss = _pretrain_epoch(agent, state, demo_batch, epoch_key, batch_size, family)
        advance(epoch + 1, f"loss {float(loss):.3g}")
    _check_finite({"pretrain_loss": float(loss)})
    return state


@partial(jax.jit, static_argnames=("agent", "batch_size", "family"), donate_argnames=("state",))
def _pretrain_epoch(
    agent: Agent,
    state: State,
    demo_batch: DemoBatch,
    key: PRNGKeyArray,
    batch_size: int,
    family: Family,
) -> tuple[State, Scalar]:
    order_key, step_key = jax.random.split(key)
    count = len(demo_batch.obs)
    batches = count // batch_size
    rows = jax.random.permutation(order_key, count)[: batches * batch_size]

    def step(state: State, inputs: tuple[Array, PRNGKeyArray]) -> tuple[State, Info]:
        rows, key = inputs
        minibatch = jax.tree.map(lambda column: column[rows], demo_batch)
        return agent.pretrain_step(state, minibatch, key, family)

    keys = jax.random.split(step_key, batches)
    state, info = jax.lax.scan(step, state, (rows.reshape(batches, batch_size), keys))
    return state, jnp.mean(info["pretrain_loss"])


def exploring_policy(agent: Agent, state: State, key: PRNGKeyArray, query: ReferenceQuery) -> Act:
    """The policy as a function of observations, with fresh noise at each call."""
    calls = 0
    leaves, structure = jax.tree.flatten(state)  # once: flattening takes longer than acting

    def act(obs: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        stats = query(obs) if agent.anchored else None
        return np.asarray(_sample(agent, structure, leaves, obs, stats, key, calls))

    return act


def random_policy(action_dim: int, key: PRNGKeyArray) -> Act:
    """Actions drawn uniformly from the box, whatever the observations."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    return lambda obs: rng.uniform(-1.0, 1.0, (len(obs), action_dim)).astype(np.float32)


def greedy_policy(agent: Agent, state: State, query: ReferenceQuery) -> Act:
    """The policy's deterministic actions as a function of observations."""
    leaves, structure = jax.tree.flatten(state)

    def act(obs: np.ndarray) -> np.ndarray:
        stats = query(obs) if agent.anchored else None
        return np.asarray(_mode(agent, structure, leaves, obs, stats))

    return act


@partial(jax.jit, static_argnames=("agent", "structure"))
def _sample(
    agent: Agent,
    structure: Hashable,
    leaves: list[Array],
    obs: Obs,
    stats: ReferenceStats | None,
    key: PRNGKeyArray,
    call: Int[Array, ""] | int,
) -> Actions:
    state = jax.tree.unflatten(structure, leaves)
    return agent.sample(state, obs, stats, jax.random.fold_in(key, call))


@partial(jax.jit, static_argnames=("agent", "structure"))
def _mode(
    agent: Agent,
    structure: Hashable,
    leaves: list[Array],
    obs: Obs,
    stats: ReferenceStats | None,
) -> Actions:
    return agent.mode(jax.tree.unflatten(structure, leaves), obs, stats)


def _check_finite(values: Mapping[str, float]) -> None:
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise UserError(
            f"Training diverged: {', '.join(bad)} became NaN or infinite. The checkpoint before it "
            "is kept. A reference whose variance is nearly zero does this (its KL explodes): use "
            "the GP, a variance floor, or a smaller temperature."
        )
