import math

import jax
import jax.numpy as jnp
import pytest

from flops import update_flops
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.replay import empty_replay
from nppac.training.updates import draw_batch

OBS_DIM, ACTION_DIM, BATCH = 5, 3, 8


def products(jaxpr) -> int:
    """Operations of every matrix product in a traced program, those of inner programs too."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left, out = equation.invars[0].aval, equation.outvars[0].aval
            total += 2 * out.size * math.prod(left.shape[i] for i in contracted)
        repeats = equation.params.get("length", 1)
        inner = [value for value in equation.params.values() if hasattr(value, "jaxpr")]
        total += repeats * sum(products(program.jaxpr) for program in inner)
    return total


@pytest.mark.parametrize(
    "agent",
    [
        KLActorCritic(policy_hidden=(16, 12), critic_hidden=(10, 14)),
        KLActorCritic(policy_hidden=(16,), critic_hidden=(10, 14, 6), num_qs=3, utd_ratio=2),
    ],
)
def test_every_product_of_an_update_is_counted(agent):
    state = agent.init(jax.random.key(0), OBS_DIM, ACTION_DIM)
    replay = empty_replay(BATCH, OBS_DIM, ACTION_DIM)._replace(size=jnp.int32(BATCH))
    batch = draw_batch(replay, None, jax.random.key(0), agent.batch_spec(BATCH))
    traced = jax.make_jaxpr(lambda *args: agent.update(*args, "uniform"))(
        state, batch, jax.random.key(0)
    )
    assert update_flops(agent, OBS_DIM, ACTION_DIM, BATCH) == products(traced.jaxpr)
