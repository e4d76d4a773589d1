"""What an update reports and what a run keeps in memory, found without computing anything.

A run's settings may come from a stranger, and each may be sensible while their product is not. So
an update is traced with its real sizes, and its arrays are measured before one is allocated.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Agent, Info, ReplayAgent, State
from nppac.agents.replay import Replay, empty_replay
from nppac.agents.schedule import Schedule
from nppac.training.updates import draw_batch, update_once
from nppac.types import Family
from nppac.utils.memory import require_memory


@lru_cache(maxsize=8)  # a run asks twice
def reported_by(
    agent: Agent, schedule: Schedule, obs_dim: int, action_dim: int, family: Family
) -> tuple[str, ...]:
    """The names of what an update reports.

    Settings that contradict each other, or that the machine cannot hold, raise their error here.
    """

    def update(state: State, replay: Replay, key: PRNGKeyArray) -> tuple[State, Info]:
        if isinstance(agent, ReplayAgent):
            return agent.learn(state, replay, replay, key, family)
        batch = draw_batch(replay, replay, key, agent.batch_spec(schedule.batch_size))
        return update_once(agent, state, batch, key, family)

    state = state_shapes(agent, obs_dim, action_dim)
    narrower = "Give narrower hidden layers, or fewer networks."
    require_memory(_bytes(state), "The agent, with its optimisers,", narrower)
    replay = _replay_shapes(schedule, obs_dim, action_dim)
    traced = jax.make_jaxpr(update, return_shape=True)(state, replay, jax.random.key(0))
    program, (_, info) = traced
    smaller = "Give smaller minibatches, narrower hidden layers, or fewer networks or samples."
    require_memory(max(_array_sizes(program.jaxpr)), "One array of an update", smaller)
    return tuple(info)


def check_data_memory(schedule: Schedule, obs_dim: int, action_dim: int, states: int) -> None:
    """Refuse a replay, or copies of so many demonstrated states, that the machine cannot hold."""
    replay = _replay_shapes(schedule, obs_dim, action_dim)
    rows = f"A replay of {replay.capacity:,} transitions"
    require_memory(_bytes(replay), rows, "Give a smaller 'replay_capacity'.")
    if schedule.pretrain_epochs:
        copies = schedule.pretrain_copies
        row = 20 * obs_dim + 12 * action_dim  # a copy is made in float64, twice
        what = f"To pretrain on {copies:,} copies of {states:,} states"
        require_memory(copies * states * row, what, "Give fewer 'pretrain_copies'.")


@lru_cache(maxsize=8)  # a run asks twice too
def state_shapes(agent: Agent, obs_dim: int, action_dim: int) -> State:
    """The shapes and types of an agent's state, found without computing or compiling anything."""
    return jax.eval_shape(lambda key: agent.init(key, obs_dim, action_dim), jax.random.key(0))


def _replay_shapes(schedule: Schedule, obs_dim: int, action_dim: int) -> Replay:
    """The replay of a run, but for demonstrations that may be in it too."""
    rows = min(schedule.replay_capacity, schedule.steps)
    return jax.eval_shape(lambda: empty_replay(rows, obs_dim, action_dim))


def _bytes(tree: State) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _array_sizes(jaxpr: Jaxpr) -> Iterator[int]:
    """Bytes of each array that a program computes, or an inner one, were all in float32."""
    for equation in jaxpr.eqns:
        made = [getattr(variable.aval, "shape", None) for variable in equation.outvars]
        yield from (4 * math.prod(shape) for shape in made if shape is not None)
        for inner in jax.tree.leaves(equation.params, is_leaf=_is_program):
            if _is_program(inner):
                yield from _array_sizes(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _is_program(value: object) -> bool:
    return isinstance(value, ClosedJaxpr | Jaxpr)
