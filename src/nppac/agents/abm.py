"""ABM (Siegel et al., 2020): a policy improved upon a prior that imitates only what went well."""

from dataclasses import dataclass
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import BatchSpec, Info
from nppac.agents.common.actor_critic import ActorCritic, Scalar, Values, require_positive
from nppac.agents.common.losses import imitation_loss, td_target
from nppac.agents.common.sampling import gradient_step, sample_often, value_each
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import HeadName, Policy, make_policy
from nppac.types import Batch, Family, NStepOutcome

LOG_TEMPERATURE_MIN = -18.0

Sampled = Float[Array, "count batch"]


class ABMState(NamedTuple):
    """Everything that learns."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    prior: Policy
    prior_optimiser: optax.OptState
    log_temperature: Scalar
    temperature_optimiser: optax.OptState


@dataclass(frozen=True)
class ABM(ActorCritic):
    """Settings of ABM with MPO as its improvement."""

    head: HeadName = "constant_scale"
    """Head of policy and prior."""
    policy_hidden: tuple[int, ...] = (256, 256, 256, 256)
    """Widths of the hidden layers of policy and prior."""
    n_step: int = 10
    """N: rewarded steps before the value of a state stands for the rest of the return."""
    value_samples: int = 4
    """Actions of the policy that the value of a state averages over."""
    prior_samples: int = 20
    """Actions of the prior that the policy is improved on."""
    kl_limit: float = 0.1
    """ε: how far the improved distribution may be from the prior."""
    log_temperature: float = 1.0
    """Starting value of log η."""
    temperature_rate: float = 1e-2
    """Adam's step size for log η."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "n_step", "value_samples", "prior_samples", "kl_limit")
        require_positive(self, "temperature_rate")

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """Replayed transitions and what came of each."""
        return BatchSpec(batch_size, n_step=self.n_step, discount=self.discount)

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> ABMState:
        """Policy, critics, a prior of the policy's make, and the starting temperature."""
        networks = self.networks(key, obs_dim, action_dim)
        prior_key = jax.random.fold_in(key, 2)
        prior = make_policy(prior_key, self.head, obs_dim, action_dim, self.policy_hidden)
        log_temperature = jnp.array(self.log_temperature, jnp.float32)
        return ABMState(
            **networks._asdict(),
            prior=prior,
            prior_optimiser=self.policy_optimiser().init(prior),
            log_temperature=log_temperature,
            temperature_optimiser=optax.adam(self.temperature_rate).init(log_temperature),
        )

    def update(
        self, state: ABMState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[ABMState, Info]:
        """Policy evaluation, prior, policy improvement on the prior, temperature."""
        critic_key, prior_key, policy_key = jax.random.split(key, 3)
        next_q = self.value(state, batch.next_obs, critic_key)
        target = td_target(batch.reward, batch.discount_mask, next_q, self.discount)
        state, critic_info = self.step_critic(state, batch, target)
        state, prior_info = self.update_prior(state, batch, prior_key)
        state, policy_info = self.update_policy(state, batch, policy_key)
        return state, {**critic_info, **prior_info, **policy_info}

    def value(self, state: ABMState, obs: Float[Array, "batch o"], key: PRNGKeyArray) -> Values:
        """V̂(s) = E_{a ~ π}[min_i Q̄_i(s, a)] over a few actions."""
        actions = sample_often(state.policy, obs, key, self.value_samples)
        return jnp.mean(jnp.min(value_each(state.target_critic, obs, actions), axis=0), axis=0)

    def update_prior(
        self, state: ABMState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[ABMState, Info]:
        """One step of imitating the actions that did at least as well as expected."""
        here_key, there_key = jax.random.split(key)
        outcome = cast(NStepOutcome, batch.n_step)
        value_ahead = self.value(state, outcome.obs, there_key)
        advantage = n_step_return(outcome, value_ahead) - self.value(state, batch.obs, here_key)
        accepted = (advantage >= 0).astype(jnp.float32)
        prior, optimiser, loss = gradient_step(
            lambda prior: imitation_loss(prior.log_prob(batch.obs, batch.action), accepted),
            state.prior,
            self.policy_optimiser(),
            state.prior_optimiser,
        )
        own = {"prior_loss": loss, "advantage": jnp.mean(advantage), "accepted": jnp.mean(accepted)}
        return state._replace(prior=prior, prior_optimiser=optimiser), own

    def update_policy(
        self, state: ABMState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[ABMState, Info]:
        """One step of imitating the prior's samples, weighted by their value; then the dual's."""
        actions = sample_often(state.prior, batch.obs, key, self.prior_samples)
        q = jnp.min(value_each(state.critic, batch.obs, actions), axis=0)
        weights = improvement_weights(q, jnp.exp(state.log_temperature))

        def loss(policy: Policy) -> tuple[Scalar, None]:
            log_prob = jax.vmap(lambda action: policy.log_prob(batch.obs, action))(actions)
            return improvement_loss(log_prob, weights), None

        state, info, _ = self.step_policy(state, loss)
        log_temperature, optimiser, dual = gradient_step(
            lambda log_eta: temperature_dual(q, jnp.exp(log_eta), self.kl_limit),
            state.log_temperature,
            optax.adam(self.temperature_rate),
            state.temperature_optimiser,
        )
        log_temperature = jnp.maximum(log_temperature, LOG_TEMPERATURE_MIN)
        state = state._replace(log_temperature=log_temperature, temperature_optimiser=optimiser)
        own = {"kl": jnp.mean(weights_kl(weights)), "temperature": jnp.exp(log_temperature)}
        return state, {**info, **own, "dual_loss": dual}


def n_step_return(outcome: NStepOutcome, value: Values) -> Values:
    """R_{t:N} = Σ_{j<N} γʲ r_{t+j} + γᴺ V̂(s_{t+N}), cut where the episode ends."""
    return outcome.reward + outcome.discount * value


def improvement_weights(q: Sampled, temperature: Scalar | float) -> Sampled:
    """w_k = softmax over the samples of Q(s, a_k) / η."""
    return jax.nn.softmax(q / temperature, axis=0)


def improvement_loss(log_prob: Sampled, weights: Sampled) -> Scalar:
    """-E_s[Σ_k w_k log π(a_k|s)], with w a constant."""
    return -jnp.mean(jnp.sum(jax.lax.stop_gradient(weights) * log_prob, axis=0))


def temperature_dual(q: Sampled, temperature: Scalar | float, limit: float) -> Scalar:
    """G(η) = η (ε + E_s[log (1/K) Σ_k exp(Q(s, a_k) / η)])."""
    log_mean = jax.nn.logsumexp(q / temperature, axis=0) - jnp.log(q.shape[0])
    return temperature * (limit + jnp.mean(log_mean))


def weights_kl(weights: Sampled) -> Values:
    """Σ_k w_k log(K w_k): KL of the improved distribution to the prior, from its samples."""
    return jnp.sum(weights * jnp.log(jnp.maximum(weights * len(weights), 1e-30)), axis=0)
