"""DAPG (Rajeswaran et al., 2018): natural policy gradient, augmented with demonstrations."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.dapg_state import DAPGState
from nppac.agents.common.episodic import (
    EpisodicAgent,
    filled,
    identity_scaling,
    step_trunk,
    value_report,
)
from nppac.agents.common.natural_gradient import (
    fisher_product,
    fisher_sample,
    log_likelihood,
    natural_step,
    step_report,
    with_scale_floor,
)
from nppac.agents.common.optimise import Optimiser, init_optimiser, mean_magnitude
from nppac.agents.common.paper_settings import reduced, scheduled, without_reference
from nppac.agents.common.returns import RowValues, generalised_advantage, standardised
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.agents.replay import Replay
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy
from nppac.types import Actions, DemoBatch, Family, Obs, ReferenceStats, Scalar
from nppac.utils.settings import (
    Finite,
    Fraction,
    NonNegative,
    Positive,
    ProperFraction,
    Size,
    Widths,
    settings,
)

DAPG_ADVANTAGE_EPSILON, DAPG_LAST_BOUND = 1e-6, 0.01


@settings
class DAPG(EpisodicAgent):
    """Settings of DAPG; an epoch ends with one step of the policy, then steps of its baseline.

    g = Σ_replay ∇ log π(a|s) A(s, a) + λ₀ λ₁ᵏ Σ_demos ∇ log π(a|s),    φ ← φ + √(2δ / gᵀF⁻¹g) F⁻¹g
    """

    on_policy: ClassVar[bool] = True
    """The replay must hold only what the current policy collected."""

    policy_hidden: Widths = (32, 32)
    """Widths of the policy's hidden layers, which are tanh."""
    critic_hidden: Widths = (128, 128)
    """Widths of the value network's hidden layers."""
    discount: ProperFraction = 0.995
    """Discount factor γ."""
    gae_lambda: Fraction = 0.97
    """λ of the generalised advantages: 0 bootstraps after one step, 1 at the episode's end."""
    minibatch_size: Size = 64
    """Transitions in a minibatch of the value network."""
    critic_updates: Size = 1_250
    """Gradient steps of the value network at the end of each epoch."""
    critic_learning_rate: Positive = 1e-3
    """Adam's step size for the value network."""
    critic_decay: NonNegative = 1e-3
    """Weight of the value network's parameters in its gradient."""
    pretrain_learning_rate: Positive = 1e-3
    """Adam's step size in pretraining."""
    step_size: Positive = 0.05
    """2δ: twice the KL divergence of a policy step, to second order."""
    demo_weight: NonNegative = 0.01
    """λ₀: initial weight of the demonstrations' gradient; 0 gives the natural policy gradient."""
    demo_decay: Positive = 0.95
    """λ₁: factor on that weight at each policy step."""
    solver_iterations: Size = 10
    """Iterations of conjugate gradients."""
    damping: NonNegative = 1e-4
    """Multiple of the identity that is added to the Fisher matrix."""
    fisher_rows: Size | None = None
    """Number of random transitions that the Fisher matrix is estimated from; by default all."""
    smallest_log_scale: Finite = -3.0
    """Floor of log σ, in the units of actions."""

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        return 1 + self.critic_updates

    def pretrain_optimiser(self) -> Optimiser:
        """The optimiser of the policy in pretraining."""
        return optax.adam(self.pretrain_learning_rate)

    def critic_optimiser(self) -> Optimiser:
        """The optimiser of the value network."""
        decay = optax.add_decayed_weights(self.critic_decay)
        return optax.chain(decay, optax.adam(self.critic_learning_rate))

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> DAPGState:
        """Fresh networks and σ = 1."""
        policy_key, critic_key = jax.random.split(key)
        hidden, bound = self.policy_hidden, DAPG_LAST_BOUND
        trunk = MLP(policy_key, obs_dim, hidden, action_dim, bound, activation=jnp.tanh)
        critic = self.make_critic(critic_key, obs_dim)
        return DAPGState(
            policy=LinearPolicy(trunk, jnp.zeros(action_dim)),
            critic=critic,
            policy_optimiser=init_optimiser(self.pretrain_optimiser(), trunk),
            critic_optimiser=init_optimiser(self.critic_optimiser(), critic),
            scaling=identity_scaling(obs_dim),
            action_scaling=identity_scaling(action_dim),
            iteration=jnp.array(0, jnp.int32),
        )

    def sample(
        self, state: DAPGState, obs: Obs, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Actions:
        """Actions sampled from the policy."""
        action, _ = state.policy.sample(state.scaling.scaled(obs), key)
        return state.action_scaling.unscaled(action)

    def mode(self, state: DAPGState, obs: Obs, reference: ReferenceStats | None) -> Actions:
        """The policy's mean."""
        return state.action_scaling.unscaled(state.policy.mode(state.scaling.scaled(obs)))

    def pretrain_step(
        self, state: DAPGState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[DAPGState, Info]:
        """One step on E[‖μ(s) - a‖²] / d; the scalings are learned here only."""
        ones = jnp.ones(len(demo_batch.obs))
        state = state._replace(
            scaling=state.scaling.extended(demo_batch.obs, ones),
            action_scaling=state.action_scaling.extended(demo_batch.action, ones),
        )

        def loss(trunk: MLP) -> Scalar:
            mean = state.action_scaling.unscaled(trunk(state.scaling.scaled(demo_batch.obs)))
            return jnp.mean((mean - demo_batch.action) ** 2)

        return step_trunk(state, loss, self.pretrain_optimiser())

    def learn(
        self,
        state: DAPGState,
        replay: Replay,
        demos: Replay | None,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[DAPGState, Info]:
        """A policy step with advantages from the old values; then steps of the values."""
        policy_key, critic_key = jax.random.split(key)
        estimate, inside = self.estimate(state, replay), filled(replay)
        advantage = standardised(generalised_advantage(*estimate), inside, DAPG_ADVANTAGE_EPSILON)
        state, policy_info = self.step_policy(state, replay, demos, advantage, policy_key)
        state, critic_info = self.fit_critic(state, replay, estimate.returns, critic_key)
        return state, {**policy_info, **critic_info, **value_report(estimate, inside)}

    def step_policy(
        self,
        state: DAPGState,
        replay: Replay,
        demos: Replay | None,
        advantage: RowValues,
        key: PRNGKeyArray,
    ) -> tuple[DAPGState, Info]:
        """One natural-gradient step; only the demonstrations' states and actions are used."""
        obs, action = self.scaled(state, replay)
        old, inside = state.policy, filled(replay)
        gradient = jax.grad(log_likelihood)(old, obs, action, inside * advantage / replay.size)
        gradient, info = self.augmented(gradient, state, replay, demos)
        fisher_obs, weights = fisher_sample(obs, inside, replay, key, self.fisher_rows)
        product = fisher_product(old, fisher_obs, weights, self.damping)
        size, direction = natural_step(product, gradient, self.step_size, self.solver_iterations)
        policy = jax.tree.map(lambda p, x: p + size * x, old, direction)
        floor = self.smallest_log_scale - jnp.log(state.action_scaling.std)
        policy = with_scale_floor(policy, floor)
        info |= step_report(policy, old, obs, action, advantage, inside) | {
            "policy_gradient": mean_magnitude(gradient),
            "step_length": size,
            "policy_scale": jnp.mean(state.action_scaling.std * jnp.exp(policy.log_scale)),
        }
        return state._replace(policy=policy, iteration=state.iteration + 1), info

    def augmented(
        self, gradient: LinearPolicy, state: DAPGState, replay: Replay, demos: Replay | None
    ) -> tuple[LinearPolicy, Info]:
        """The policy gradient plus the weighted gradient of the demonstrations' likelihood."""
        if demos is None:
            return gradient, {}
        weight = self.demo_weight * self.demo_decay**state.iteration
        demo_batch = (*self.scaled(state, demos), jnp.full(demos.capacity, 1.0 / replay.size))
        likelihood, pull = jax.value_and_grad(log_likelihood)(state.policy, *demo_batch)
        gradient = jax.tree.map(lambda g, d: g + weight * d, gradient, pull)
        log_prob = likelihood * replay.size / demos.capacity
        return gradient, {"demo_weight": weight, "demo_log_prob": log_prob}

    def scaled(self, state: DAPGState, replay: Replay) -> tuple[Obs, Actions]:
        """Observations and actions in the units of the policy network."""
        stored = replay.storage
        return state.scaling.scaled(stored.obs), state.action_scaling.scaled(stored.action)


def dapg_recipe(task: str, preset: Preset) -> Recipe:
    """Epochs of 200 episodes on the dexterous tasks, as the authors', and of 10 on the others.

    After the authors' five passes of cloning the policy hardly moves on HalfCheetah (a return of
    25); after a hundred it acts as well as a plain regression (6,526).
    """
    epoch = {"door": 40_000, "pen": 20_000}.get(task, 10_000)
    recipe = without_reference(task, DAPG(critic_updates=2 * epoch // DAPG.minibatch_size))
    recipe = scheduled(
        recipe,
        steps=-(-recipe.schedule.steps // epoch) * epoch,
        epoch_steps=epoch,
        warmup_steps=0,
        replay_capacity=epoch,
        eval_every=epoch,
        checkpoint_every=epoch,
        pretrain_epochs=5 if preset == "paper" else 100,
        pretrain_batch_size=32,
    )
    return recipe if preset == "paper" else reduced(recipe)


register_method(
    Method(
        name="dapg",
        agent=DAPG,
        regulariser="other divergence",
        needs="actions",
        reference="uniform",
        summary="Natural policy gradient plus cloning.",
        recipe=dapg_recipe,
    )
)
