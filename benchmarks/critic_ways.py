"""Other ways to compute two critics on two cores, which `cores.py` measures beside ours.

They replace functions of the package in the process that measures, and nowhere else.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from nppac.agents.common import actor_critic
from nppac.agents.common.losses import critic_loss
from nppac.agents.common.optimise import apply_gradient, mean_magnitude, polyak_average
from nppac.nn.critics import CriticEnsemble
from nppac.training.updates import draw_batch

AXIS = "critics"
APART_FLAGS = "--xla_cpu_multi_thread_eigen=false"
"""Products on single threads: then XLA runs what does not depend on each other side by side."""
DEVICE_FLAGS = "--xla_force_host_platform_device_count=2"


def compute_apart() -> None:
    """Critics as networks of their own instead of stacked products."""

    def values(self: CriticEnsemble, obs: Any, action: Any) -> Any:
        inputs = jnp.concatenate([obs, action], axis=-1)
        count = len(self.members.weights[0])
        return jnp.stack([_member(self, i)(inputs)[..., 0] for i in range(count)])

    CriticEnsemble.__call__ = values


def compute_on_devices(agent: Any, state: Any, replay: Any, updates: int, batch: int) -> Callable:
    """A compiled scan of updates with each critic, its target and its Adam on a device of its own.

    What is no critic is computed on both.
    """

    def own(critic: CriticEnsemble, obs: Any, action: Any) -> Any:
        return _member(critic, 0)(jnp.concatenate([obs, action], axis=-1))[..., 0]

    def step_critic(self: Any, state: Any, batch: Any, target: Any) -> tuple[Any, dict]:
        def loss(critic: CriticEnsemble) -> Any:
            return critic_loss(own(critic, batch.obs, batch.action)[None], target)

        value, gradient = jax.value_and_grad(loss)(state.critic)
        adam = self.optimiser(), state.critic, gradient, state.critic_optimiser
        critic, optimiser = apply_gradient(*adam)
        smooth = polyak_average(critic, state.target_critic, self.tau)
        info = {"critic_loss": value, "q": value, "critic_gradient": mean_magnitude(gradient)}
        new = {"critic": critic, "critic_optimiser": optimiser, "target_critic": smooth}
        return state._replace(**new), info

    def step_policy(self: Any, state: Any, loss: Any) -> tuple[Any, dict, Any]:
        (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(state.policy)
        gradient = jax.lax.pmean(gradient, AXIS)
        adam = self.policy_optimiser(), state.policy, gradient, state.policy_optimiser
        policy, optimiser = apply_gradient(*adam)
        info = {"policy_loss": value, "policy_gradient": mean_magnitude(gradient)}
        return state._replace(policy=policy, policy_optimiser=optimiser), info, aux

    CriticEnsemble.__call__ = lambda self, o, a: jax.lax.all_gather(own(self, o, a), AXIS)
    actor_critic.ActorCritic.step_critic = step_critic
    actor_critic.ActorCritic.step_policy = step_policy
    return _compiled(agent, state, replay, updates, batch)


def _compiled(agent: Any, state: Any, replay: Any, updates: int, batch: int) -> Callable:
    whole, mesh = PartitionSpec(), jax.make_mesh((2,), (AXIS,), axis_types=(AxisType.Auto,))
    where = jax.tree_util.tree_map_with_path(_place, state)

    def many(state: Any, replay: Any, key: Any) -> Any:
        def step(state: Any, key: Any) -> tuple[Any, Any]:
            rows = draw_batch(replay, None, key, agent.batch_spec(batch))
            return agent.update(state, rows, key, "normal")

        return jax.lax.scan(step, state, jax.random.split(key, updates))[0]

    shape = {"in_specs": (where, whole, whole), "out_specs": where, "check_vma": False}
    run = jax.jit(jax.shard_map(many, mesh=mesh, **shape))

    def put(tree: Any, places: Any) -> Any:
        return jax.tree.map(lambda x, p: jax.device_put(x, NamedSharding(mesh, p)), tree, places)

    state = put(state, where)
    replay, key = jax.device_put((replay, jax.random.key(1)), NamedSharding(mesh, whole))
    return lambda: run(state, replay, key)


def _place(path: Any, leaf: Any) -> PartitionSpec:
    """Critics' arrays begin with the axis of critics; everything else is everywhere."""
    return PartitionSpec(AXIS) if "critic" in str(path[0]) and leaf.ndim else PartitionSpec()


def _member(ensemble: CriticEnsemble, i: int) -> Any:
    return jax.tree.map(lambda stacked: stacked[i], ensemble.members)
