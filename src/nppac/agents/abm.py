"""ABM (Siegel et al., 2020): a policy improved upon a prior that imitates only what went well."""

from dataclasses import replace
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from nppac.agents.base import BatchSpec, Info
from nppac.agents.common.losses import imitation_loss, td_target
from nppac.agents.common.optimise import gradient_step, init_optimiser
from nppac.agents.common.paper_settings import (
    cloned_first,
    is_dexterous,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.common.sampling import sample_actions, sample_values
from nppac.agents.common.value_units import (
    CalibratedActorCritic,
    in_critic_units,
    in_reward_units,
)
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import HeadName, Policy
from nppac.types import Batch, DemoBatch, Family, NStepOutcome, Obs, Scalar, Values, ValueSamples
from nppac.utils.settings import Finite, Positive, Several, Size, Widths, settings

LOG_TEMPERATURE_MIN = -18.0


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
    value_shift: Scalar
    """Value, in the rewards' units, at which the critics say 0."""
    value_scale: Scalar
    """What 1 of the critics is in the rewards' units."""


@settings
class ABM(CalibratedActorCritic):
    """Settings of ABM with MPO as its policy improvement.

    prior:  J = -E[1[R_{t:N} - V̂(s) ≥ 0] log π_prior(a|s)]
    policy: J = -E_s[Σ_k w_k log π(a_k|s)], a_k ~ π_prior, w = softmax_k(Q(s, a_k) / η)
    """

    head: HeadName = "constant_scale"
    """Head of policy and prior."""
    policy_hidden: Widths = (256, 256, 256, 256)
    """Widths of the hidden layers of policy and prior."""
    n_step: Size = 10
    """N: steps of reward in a return before it bootstraps with the value of a state."""
    value_samples: Several = 4
    """Actions of the policy that the value of a state averages over."""
    prior_samples: Several = 20
    """Actions of the prior that the policy is improved on."""
    kl_limit: Positive = 0.1
    """ε: largest KL of the improved distribution to the prior."""
    log_temperature: Finite = 1.0
    """Initial value of log η."""
    temperature_rate: Positive = 1e-2
    """Adam's step size for log η."""

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """Replayed transitions with their n-step outcomes."""
        return BatchSpec(batch_size, n_step=self.n_step, discount=self.discount)

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> ABMState:
        """Policy, critics, a prior with the policy's architecture, and the initial temperature."""
        networks = self.networks(key, obs_dim, action_dim)
        prior_key = jax.random.fold_in(key, 2)
        prior = self.make_policy(prior_key, obs_dim, action_dim)
        log_temperature = jnp.array(self.log_temperature, jnp.float32)
        return ABMState(
            **networks._asdict(),
            prior=prior,
            prior_optimiser=init_optimiser(self.policy_optimiser(), prior),
            log_temperature=log_temperature,
            temperature_optimiser=init_optimiser(
                optax.adam(self.temperature_rate), log_temperature
            ),
            value_shift=jnp.float32(0.0),
            value_scale=jnp.float32(1.0),
        )

    def with_demo_units(self, state: ABMState, obs: np.ndarray, actions: np.ndarray) -> ABMState:
        """A fresh state whose policy and prior see the units of these, where asked to."""
        state = super().with_demo_units(state, obs, actions)
        if not self.standardise_obs:
            return state
        units = jax.tree.map(jnp.copy, state.policy.trunk.units)
        prior = eqx.tree_at(lambda prior: prior.trunk.units, state.prior, units)
        optimiser = init_optimiser(self.policy_optimiser(), prior)
        return state._replace(prior=prior, prior_optimiser=optimiser)

    def pretrain_step(
        self, state: ABMState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[ABMState, Info]:
        """Behaviour cloning of the policy, which the prior is a copy of so far."""
        state, info = super().pretrain_step(state, demo_batch, key, family)
        copied = {"prior": state.policy, "prior_optimiser": state.policy_optimiser}
        return state._replace(**copied), info

    def update(
        self, state: ABMState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[ABMState, Info]:
        """Policy evaluation, prior, policy improvement on the prior, temperature."""
        critic_key, prior_key, policy_key = jax.random.split(key, 3)
        next_q = self.value(state, batch.next_obs, critic_key)
        target = td_target(batch.reward, batch.discount_mask, next_q, self.discount)
        state, critic_info = self.step_critic(state, batch, in_critic_units(state, target))
        critic_info["q"] = in_reward_units(state, critic_info["q"])
        state, prior_info = self.update_prior(state, batch, prior_key)
        state, policy_info = self.update_policy(state, batch, policy_key)
        return state, {**critic_info, **prior_info, **policy_info}

    def value(self, state: ABMState, obs: Obs, key: PRNGKeyArray) -> Values:
        """V̂(s) = E_{a ~ π}[min_i Q̄_i(s, a)], averaged over `value_samples` actions."""
        actions = sample_actions(state.policy, obs, key, self.value_samples)
        q = jnp.min(sample_values(state.target_critic, obs, actions), axis=0)
        return in_reward_units(state, jnp.mean(q, axis=0))

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
        """One step of imitating the prior's samples, weighted by value; then one of the dual."""
        actions = sample_actions(state.prior, batch.obs, key, self.prior_samples)
        q = jnp.min(sample_values(state.critic, batch.obs, actions), axis=0)
        q = in_reward_units(state, q)
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


def improvement_weights(q: ValueSamples, temperature: Scalar | float) -> ValueSamples:
    """w_k = softmax_k(Q(s, a_k) / η) over the samples."""
    return jax.nn.softmax(q / temperature, axis=0)


def improvement_loss(log_prob: ValueSamples, weights: ValueSamples) -> Scalar:
    """-E_s[Σ_k w_k log π(a_k|s)], with w a constant."""
    return -jnp.mean(jnp.sum(jax.lax.stop_gradient(weights) * log_prob, axis=0))


def temperature_dual(q: ValueSamples, temperature: Scalar | float, limit: float) -> Scalar:
    """G(η) = η (ε + E_s[log (1/K) Σ_k exp(Q(s, a_k) / η)])."""
    log_mean = jax.nn.logsumexp(q / temperature, axis=0) - jnp.log(q.shape[0])
    return temperature * (limit + jnp.mean(log_mean))


def weights_kl(weights: ValueSamples) -> Values:
    """Σ_k w_k log(K w_k): KL of the improved distribution to the prior, from its samples."""
    return jnp.sum(weights * jnp.log(jnp.maximum(weights * len(weights), 1e-30)), axis=0)


def abm_recipe(task: str, preset: Preset) -> Recipe:
    """The authors' settings, with offline updates on the demonstrations."""
    recipe = scheduled(without_reference(task, ABM()), demos_in_replay=True, offline_updates=25_000)
    if preset == "paper":
        return recipe
    if is_dexterous(task):
        return reduced(recipe)
    # Critics that have not reached the returns yet expect less than any fall brings: the prior
    # accepted 83 to 88 % of the actions, and imitated its own falls.
    agent = ABM(normalise_values=True, kl_limit=0.01)
    recipe = cloned_first(reduced(replace(recipe, agent=agent)))
    return scheduled(recipe, offline_updates=5_000)  # policy and prior are clones already


register_method(
    Method(
        name="abm",
        agent=ABM,
        regulariser="implicit KL",
        needs="episodes",
        reference="uniform",
        summary="MPO from a prior that imitates what went well.",
        recipe=abm_recipe,
    )
)
