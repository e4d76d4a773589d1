"""DAPG (Rajeswaran et al., 2018): natural policy gradient, augmented with demonstrations."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import (
    Scalar,
    apply,
    mean_magnitude,
    require_not_negative,
    require_positive,
)
from nppac.agents.common.episodic import (
    EpisodicAgent,
    Scaling,
    explained_variance,
    filled,
    unscaled,
)
from nppac.agents.common.natural_gradient import fisher_product, natural_step
from nppac.agents.common.returns import Rows, generalised_advantage, standardised
from nppac.agents.replay import Replay, sample_rows
from nppac.nn.distributions import normal_kl
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy
from nppac.types import DemoBatch, Family, ReferenceStats

ADVANTAGE_EPSILON = 1e-6
LAST_BOUND = 0.01
LARGEST_LOG_RATIO = 10.0


class DAPGState(NamedTuple):
    """Everything that learns; the policy acts in scaled actions on scaled observations."""

    policy: LinearPolicy
    critic: MLP
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    scaling: Scaling
    action_scaling: Scaling
    iteration: Int[Array, ""]


@dataclass(frozen=True)
class DAPG(EpisodicAgent):
    """Settings of DAPG; an epoch ends with one step of the policy, then steps of its baseline."""

    on_policy: ClassVar[bool] = True
    """What older policies collected must not be in the replay."""

    policy_hidden: tuple[int, ...] = (32, 32)
    """Widths of the policy's hidden layers, which are tanh."""
    critic_hidden: tuple[int, ...] = (128, 128)
    """Widths of the value network's hidden layers."""
    discount: float = 0.995
    """Discount factor γ."""
    gae_lambda: float = 0.97
    """ℓ of the generalised advantages: 0 looks one step ahead, 1 to the end of the episode."""
    minibatch_size: int = 64
    """Transitions in a minibatch of the value network."""
    critic_updates: int = 1_250
    """Gradient steps of the value network at the end of each epoch."""
    critic_learning_rate: float = 1e-3
    """Adam's step size for the value network."""
    critic_decay: float = 1e-3
    """Weight of the value network's own parameters in its gradient."""
    pretrain_learning_rate: float = 1e-3
    """Adam's step size in pretraining."""
    step_size: float = 0.05
    """2δ: twice the KL divergence that a step of the policy makes, to second order."""
    demo_weight: float = 0.01
    """λ₀: weight of the demonstrations' gradient at first; 0 gives the natural policy gradient."""
    demo_decay: float = 0.95
    """λ₁: factor on that weight with each step of the policy."""
    solver_iterations: int = 10
    """Iterations of conjugate gradients."""
    damping: float = 1e-4
    """Multiple of the identity that is added to the Fisher matrix."""
    fisher_rows: int | None = None
    """Transitions, drawn at random, that the Fisher matrix is estimated from; by default all."""
    smallest_log_scale: float = -3.0
    """Floor of log σ, in the units of actions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "step_size", "solver_iterations", "pretrain_learning_rate")
        require_positive(self, "critic_learning_rate", "demo_decay")
        require_not_negative(self, "critic_decay", "demo_weight", "damping")
        if self.fisher_rows is not None:
            require_positive(self, "fisher_rows")

    @property
    def updates_per_epoch(self) -> int:
        """Gradient steps that one call of `learn` makes."""
        return 1 + self.critic_updates

    def pretrain_optimiser(self) -> Any:
        """What the policy is pretrained with."""
        return optax.adam(self.pretrain_learning_rate)

    def critic_optimiser(self) -> Any:
        """What the value network is fitted with."""
        decay = optax.add_decayed_weights(self.critic_decay)
        return optax.chain(decay, optax.adam(self.critic_learning_rate))

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> DAPGState:
        """Fresh networks and σ = 1."""
        policy_key, critic_key = jax.random.split(key)
        trunk = MLP(
            policy_key, obs_dim, self.policy_hidden, action_dim, LAST_BOUND, activation=jnp.tanh
        )
        critic = self.make_critic(critic_key, obs_dim)
        return DAPGState(
            policy=LinearPolicy(trunk, jnp.zeros(action_dim)),
            critic=critic,
            policy_optimiser=self.pretrain_optimiser().init(trunk),
            critic_optimiser=self.critic_optimiser().init(critic),
            scaling=unscaled(obs_dim),
            action_scaling=unscaled(action_dim),
            iteration=jnp.array(0, jnp.int32),
        )

    def sample(
        self,
        state: DAPGState,
        obs: Float[Array, "batch o"],
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Float[Array, "batch d"]:
        """Actions sampled from the policy."""
        action, _ = state.policy.sample(state.scaling.scaled(obs), key)
        return state.action_scaling.unscaled(action)

    def mode(
        self, state: DAPGState, obs: Float[Array, "batch o"], reference: ReferenceStats | None
    ) -> Float[Array, "batch d"]:
        """The policy's mean."""
        return state.action_scaling.unscaled(state.policy.mode(state.scaling.scaled(obs)))

    def pretrain_step(
        self, state: DAPGState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[DAPGState, Info]:
        """One step on E[‖μ(s) - a‖²] / d; only here are the scalings learned."""
        ones = jnp.ones(len(demo_batch.obs))
        state = state._replace(
            scaling=state.scaling.extended(demo_batch.obs, ones),
            action_scaling=state.action_scaling.extended(demo_batch.action, ones),
        )

        def loss(trunk: MLP) -> Scalar:
            mean = state.action_scaling.unscaled(trunk(state.scaling.scaled(demo_batch.obs)))
            return jnp.mean((mean - demo_batch.action) ** 2)

        value, grads = jax.value_and_grad(loss)(state.policy.trunk)
        optimiser = self.pretrain_optimiser()
        trunk, moments = apply(optimiser, state.policy.trunk, grads, state.policy_optimiser)
        policy = LinearPolicy(trunk, state.policy.log_scale)
        return state._replace(policy=policy, policy_optimiser=moments), {"pretrain_loss": value}

    def learn(
        self,
        state: DAPGState,
        replay: Replay,
        demos: Replay | None,
        key: PRNGKeyArray,
        family: Family,
    ) -> tuple[DAPGState, Info]:
        """A step of the policy by the old values' advantages; then the values catch up."""
        policy_key, critic_key = jax.random.split(key)
        estimate, inside = self.estimate(state, replay), filled(replay)
        advantage = generalised_advantage(estimate.returns, estimate.value)
        advantage = standardised(advantage, inside, ADVANTAGE_EPSILON)
        info = {
            "value": jnp.average(estimate.value, weights=inside),
            "explained_variance": explained_variance(estimate, inside),
        }
        state, policy_info = self.step_policy(state, replay, demos, advantage, policy_key)
        state, critic_info = self.fit_critic(state, replay, estimate.returns, critic_key)
        return state, {**policy_info, **critic_info, **info}

    def step_policy(
        self,
        state: DAPGState,
        replay: Replay,
        demos: Replay | None,
        advantage: Rows,
        key: PRNGKeyArray,
    ) -> tuple[DAPGState, Info]:
        """One natural-gradient step; only the demonstrations' states and actions are read."""
        obs, action = self.scaled(state, replay)
        old, inside = state.policy, filled(replay)
        gradient = jax.grad(log_likelihood)(old, obs, action, inside * advantage / replay.size)
        info = {}
        if demos is not None:
            weight = self.demo_weight * self.demo_decay**state.iteration
            demo_batch = (*self.scaled(state, demos), jnp.full(demos.capacity, 1.0 / replay.size))
            likelihood, pull = jax.value_and_grad(log_likelihood)(old, *demo_batch)
            gradient = jax.tree.map(lambda g, d: g + weight * d, gradient, pull)
            log_prob = likelihood * replay.size / demos.capacity
            info = {"demo_weight": weight, "demo_log_prob": log_prob}
        product = fisher_product(old, *self.fisher_sample(obs, inside, replay, key), self.damping)
        size, direction = natural_step(product, gradient, self.step_size, self.solver_iterations)
        policy = self.bounded(
            jax.tree.map(lambda p, x: p + size * x, old, direction), state.action_scaling
        )
        log_ratio = policy.log_prob(obs, action) - old.log_prob(obs, action)
        ratio = jnp.exp(jnp.minimum(log_ratio, LARGEST_LOG_RATIO))
        moved = normal_kl(*policy.loc_scale(obs), *old.loc_scale(obs))
        info |= {
            "policy_loss": -jnp.average(ratio * advantage, weights=inside),
            "policy_gradient": mean_magnitude(gradient),
            "step_kl": jnp.average(moved, weights=inside),
            "step_length": size,
            "policy_scale": jnp.mean(state.action_scaling.spread * jnp.exp(policy.log_scale)),
        }
        return state._replace(policy=policy, iteration=state.iteration + 1), info

    def scaled(
        self, state: DAPGState, replay: Replay
    ) -> tuple[Float[Array, "rows o"], Float[Array, "rows d"]]:
        """Observations and actions as the policy network knows them."""
        stored = replay.storage
        return state.scaling.scaled(stored.obs), state.action_scaling.scaled(stored.action)

    def fisher_sample(
        self, obs: Float[Array, "rows o"], inside: Rows, replay: Replay, key: PRNGKeyArray
    ) -> tuple[Float[Array, "few o"], Float[Array, " few"]]:
        """States that the Fisher matrix is estimated at, and their weights."""
        if self.fisher_rows is None:
            return obs, inside
        rows = sample_rows(replay, key, 1, self.fisher_rows)[0]
        return obs[rows], jnp.ones(self.fisher_rows)

    def bounded(self, policy: LinearPolicy, action_scaling: Scaling) -> LinearPolicy:
        """The policy with σ at its floor where the step went below."""
        floor = self.smallest_log_scale - jnp.log(action_scaling.spread)
        return LinearPolicy(policy.trunk, jnp.maximum(policy.log_scale, floor))


def log_likelihood(
    policy: LinearPolicy,
    obs: Float[Array, "rows o"],
    action: Float[Array, "rows d"],
    weights: Rows,
) -> Scalar:
    """Σ_i w_i log π(a_i|s_i)."""
    return jnp.sum(weights * policy.log_prob(obs, action))
