"""The KL-regularised actor-critic of the paper.

N-PPAC, BRAC and SAC are this one agent with a Gaussian-process, a network and a uniform reference.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.losses import critic_loss, policy_loss, soft_target, temperature_loss
from nppac.distributions import LOG_2, normal_kl, reference_log_prob
from nppac.errors import UserError
from nppac.networks import CriticEnsemble, HeadName, NormalPolicy, Policy, make_policy
from nppac.types import Batch, Family, ReferenceStats

Scalar = Float[Array, ""]
Values = Float[Array, " batch"]


class KLActorCriticState(NamedTuple):
    """Everything that learns."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    log_temperature: Scalar
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    temperature_optimiser: optax.OptState


@dataclass(frozen=True)
class KLActorCritic:
    """Settings of the agent; its methods are pure functions of a state."""

    head: HeadName = "tanh_normal"
    """Policy head: tanh-squashed Gaussian, or N(tanh μ(s), σ(s)²)."""
    policy_hidden: tuple[int, ...] = (256, 256)
    """Widths of the policy's hidden layers."""
    critic_hidden: tuple[int, ...] = (256, 256)
    """Widths of each critic's hidden layers."""
    critics: int = 2
    """Number of critics; targets and policy use their minimum."""
    learning_rate: float = 3e-4
    """Adam's step size for every network and for the temperature."""
    discount: float = 0.99
    """Discount factor γ."""
    smoothing: float = 0.005
    """Target smoothing coefficient τ, applied at every update."""
    temperature: float = 0.1
    """Weight α of the KL penalty; the starting value where it is tuned."""
    tune_temperature: bool = False
    """Adapt α so that the KL meets `target_kl`."""
    target_kl: float | None = None
    """KL that a tuned α aims at; by default SAC's: an entropy of -d, or a KL of d."""
    kl: Literal["sample", "closed"] = "sample"
    """Estimate of the KL: one sample, or in closed form (unsquashed head, Gaussian reference)."""

    exploration: float = 1.0
    """Noise of the exploring policy, as a multiple of its own scale."""

    def __post_init__(self) -> None:
        for name in ("temperature", "learning_rate", "smoothing", "critics"):
            if not getattr(self, name) > 0:
                raise UserError(f"'{name}' is {getattr(self, name)}; it must be positive.")
        for name in ("discount", "smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"'{name}' is {getattr(self, name)}; it must be within 0 and 1.")
        if not self.exploration >= 0:
            raise UserError(f"'exploration' is {self.exploration}; it must not be negative.")
        if min((*self.policy_hidden, *self.critic_hidden), default=1) < 1:
            raise UserError("The width of a hidden layer must be at least 1.")

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> KLActorCriticState:
        """Fresh networks; the target critic starts as a copy of the critic (Algorithm 1)."""
        policy_key, critic_key = jax.random.split(key)
        policy = make_policy(policy_key, self.head, obs_dim, action_dim, self.policy_hidden)
        critic = CriticEnsemble(critic_key, self.critics, obs_dim, action_dim, self.critic_hidden)
        log_temperature = jnp.asarray(math.log(self.temperature), jnp.float32)
        optimiser = self._optimiser()
        return KLActorCriticState(
            policy=policy,
            critic=critic,
            target_critic=jax.tree.map(jnp.copy, critic),
            log_temperature=log_temperature,
            policy_optimiser=optimiser.init(policy),
            critic_optimiser=optimiser.init(critic),
            temperature_optimiser=optimiser.init(log_temperature),
        )

    def update(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """Policy evaluation, policy improvement, temperature, target smoothing."""
        critic_key, policy_key = jax.random.split(key)
        state, critic_info = self.update_critic(state, batch, critic_key, family)
        state, policy_info, log_ratio = self.update_policy(state, batch, policy_key, family)
        state = self.update_temperature(state, log_ratio, batch.action.shape[-1], family)
        target = smoothed(state.critic, state.target_critic, self.smoothing)
        info = {
            **critic_info,
            **policy_info,
            "temperature": jnp.exp(state.log_temperature),
            "reference_scale": jnp.mean(batch.reference.scale),
        }
        return state._replace(target_critic=target), info

    def update_critic(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info]:
        """One step on the Bellman residual."""
        next_action, next_log_ratio = self.act_with_log_ratio(
            state.policy, batch.next_obs, batch.next_reference, key, family
        )
        target = soft_target(
            batch.reward,
            batch.discount_mask,
            jnp.min(state.target_critic(batch.next_obs, next_action), axis=0),
            next_log_ratio,
            jnp.exp(state.log_temperature),
            self.discount,
        )

        def loss(critic: CriticEnsemble) -> tuple[Scalar, Scalar]:
            q = critic(batch.obs, batch.action)
            return critic_loss(q, target), jnp.mean(q)

        (value, q_mean), grads = jax.value_and_grad(loss, has_aux=True)(state.critic)
        critic, optimiser = self._step(state.critic, grads, state.critic_optimiser)
        info = {"critic_loss": value, "critic_gradient": mean_magnitude(grads), "q": q_mean}
        return state._replace(critic=critic, critic_optimiser=optimiser), info

    def update_policy(
        self, state: KLActorCriticState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[KLActorCriticState, Info, Values]:
        """One step on the KL-augmented policy objective."""
        temperature = jnp.exp(state.log_temperature)

        def loss(policy: Policy) -> tuple[Scalar, Values]:
            action, log_ratio = self.act_with_log_ratio(
                policy, batch.obs, batch.reference, key, family
            )
            q = jnp.min(state.critic(batch.obs, action), axis=0)
            return policy_loss(q, log_ratio, temperature), log_ratio

        (value, log_ratio), grads = jax.value_and_grad(loss, has_aux=True)(state.policy)
        policy, optimiser = self._step(state.policy, grads, state.policy_optimiser)
        info = {
            "policy_loss": value,
            "policy_gradient": mean_magnitude(grads),
            "kl": jnp.mean(log_ratio),
        }
        return state._replace(policy=policy, policy_optimiser=optimiser), info, log_ratio

    def update_temperature(
        self, state: KLActorCriticState, log_ratio: Values, action_dim: int, family: Family
    ) -> KLActorCriticState:
        """One step of α towards the target KL, where it is tuned."""
        if not self.tune_temperature:
            return state
        target_kl = self.target_kl
        if target_kl is None:
            # SAC aims at log π = d, a log-ratio of d + d ln 2 against the uniform reference.
            target_kl = action_dim * (1.0 + (LOG_2 if family == "uniform" else 0.0))
        grads = jax.grad(temperature_loss)(state.log_temperature, log_ratio, target_kl)
        log_temperature, optimiser = self._step(
            state.log_temperature, grads, state.temperature_optimiser
        )
        return state._replace(log_temperature=log_temperature, temperature_optimiser=optimiser)

    def clone_reference(
        self,
        state: KLActorCriticState,
        obs: Float[Array, "batch o"],
        stats: ReferenceStats,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[KLActorCriticState, Info]:
        """One step on J_GP(φ) = E_{s ~ D0}[KL(π(·|s) ‖ π0(·|s))]; Adam's state carries over."""

        def loss(policy: Policy) -> Scalar:
            return jnp.mean(self.act_with_log_ratio(policy, obs, stats, key, family)[1])

        kl, grads = jax.value_and_grad(loss)(state.policy)
        policy, optimiser = self._step(state.policy, grads, state.policy_optimiser)
        return state._replace(policy=policy, policy_optimiser=optimiser), {"kl": kl}

    def sample(
        self, state: KLActorCriticState, obs: Float[Array, "batch o"], key: PRNGKeyArray
    ) -> Float[Array, "batch d"]:
        """Actions sampled from the policy, its noise scaled by `exploration`."""
        return state.policy.explore(obs, key, self.exploration)

    def mode(
        self, state: KLActorCriticState, obs: Float[Array, "batch o"]
    ) -> Float[Array, "batch d"]:
        """The policy's deterministic actions."""
        return state.policy.mode(obs)

    def act_with_log_ratio(
        self,
        policy: Policy,
        obs: Float[Array, "batch o"],
        stats: ReferenceStats,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[Float[Array, "batch d"], Values]:
        """A reparameterised action and the estimate of KL(π ‖ π0) at each state."""
        action, log_prob = policy.sample(obs, key)
        if self.kl == "sample":
            return action, log_prob - reference_log_prob(family, stats, action)
        if not isinstance(policy, NormalPolicy) or family != "normal":
            raise UserError(
                "The closed-form KL needs the unsquashed policy head ('normal') and a Gaussian "
                f"reference; here they are '{self.head}' and '{family}'. Use kl='sample'."
            )
        return action, normal_kl(*policy.loc_scale(obs), stats.loc, stats.scale)

    def _optimiser(self) -> Any:  # optax's own type does not admit Equinox modules
        return optax.adam(self.learning_rate)

    def _step(self, params, grads, optimiser_state):
        updates, optimiser_state = self._optimiser().update(grads, optimiser_state, params)
        return optax.apply_updates(params, updates), optimiser_state


def smoothed(new: CriticEnsemble, old: CriticEnsemble, smoothing: float) -> CriticEnsemble:
    """θ̄ ← τ θ + (1 - τ) θ̄."""
    return jax.tree.map(lambda n, o: smoothing * n + (1.0 - smoothing) * o, new, old)


def mean_magnitude(grads: object) -> Scalar:
    """Average absolute gradient over all parameters, the paper's gradient magnitude."""
    leaves = jax.tree.leaves(grads)
    return jnp.sum(jnp.stack([jnp.sum(jnp.abs(g)) for g in leaves])) / sum(g.size for g in leaves)
