"""Estimates of KL(π(·|s) ‖ π0(·|s)) at each state, with the action that the policy draws there."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from nppac.nn.distributions import mean_kl, normal_kl, reference_log_prob
from nppac.nn.policies import GaussianPolicy, Policy
from nppac.types import Actions, Family, Obs, ReferenceStats, Values
from nppac.utils.errors import UserError

KLEstimate = Literal["sample", "closed", "mean"]
"""From samples, in closed form, or of the means alone."""


def draw_with_kl(
    policy: Policy,
    obs: Obs,
    stats: ReferenceStats,
    key: PRNGKeyArray,
    family: Family,
    kl: KLEstimate,
    samples: int,
) -> tuple[Actions, Values]:
    """A reparameterised action and the estimate of the KL at each state."""
    policy = policy.condition_on(stats)
    loc, scale = policy.loc_scale(obs)  # once: each use of the network is differentiated again
    action, log_prob = policy.draw(loc, scale, key)
    if kl == "sample":
        ratios = [log_prob - reference_log_prob(family, stats, action)]
        for k in range(1, samples):
            other, log_prob = policy.draw(loc, scale, jax.random.fold_in(key, k))
            ratios.append(log_prob - reference_log_prob(family, stats, other))
        return action, jnp.mean(jnp.stack(ratios), axis=0) if len(ratios) > 1 else ratios[0]
    if not isinstance(policy, GaussianPolicy) or family != "normal":
        raise UserError(
            "The closed-form KL needs the unsquashed policy head ('normal') and a Gaussian "
            f"reference; here they are a {type(policy).__name__} and '{family}'. Use kl='sample'."
        )
    if kl == "mean":
        return action, mean_kl(loc, stats.loc, stats.scale)
    return action, normal_kl(loc, scale, stats.loc, stats.scale)
