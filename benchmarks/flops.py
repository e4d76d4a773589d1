"""Floating-point operations of one update of a KL actor-critic: its matrix products alone."""

from itertools import pairwise

from nppac.agents.kl_actor_critic import KLActorCritic


def layer_products(inputs: int, hidden: tuple[int, ...], outputs: int) -> list[int]:
    """Operations of each layer's product for one row: a multiplication and an addition a weight."""
    sizes = (inputs, *hidden, outputs)
    return [2 * i * j for i, j in pairwise(sizes)]


def update_flops(agent: KLActorCritic, obs_dim: int, action_dim: int, batch_size: int) -> int:
    """Operations of one update's products.

    A product backwards is one for the weights and one for its input; the input of a network's first
    layer needs none, unless it is an action that the policy is asked about.

    - Target: policy and target critics forward.
    - Critics: forward, and backwards to their weights.
    - Policy: forward, and backwards to its weights through the critics, whose weights stay.
    """
    policy = layer_products(obs_dim, agent.policy_hidden, 2 * action_dim)
    critic = layer_products(obs_dim + action_dim, agent.critic_hidden, 1)
    target = sum(policy) + agent.num_qs * sum(critic)
    num_qs = agent.num_qs * (3 * sum(critic) - critic[0])
    improvement = 3 * sum(policy) - policy[0] + agent.num_qs * 2 * sum(critic)
    return batch_size * (agent.utd_ratio * (target + num_qs) + improvement)
