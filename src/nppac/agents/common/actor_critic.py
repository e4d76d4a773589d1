"""What all actor-critics share: settings, networks, and steps of a critic or a policy."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import BatchSpec, Info, State
from nppac.agents.common.losses import critic_loss
from nppac.agents.common.optimise import (
    Optimiser,
    apply_gradient,
    init_optimiser,
    mean_magnitude,
    polyak_average,
    with_average,
)
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import HeadName, Policy, make_policy
from nppac.nn.standardise import fit_standardiser
from nppac.types import (
    Actions,
    Batch,
    DemoBatch,
    Family,
    Obs,
    ReferenceStats,
    Scalar,
    Values,
)
from nppac.utils.errors import UserError
from nppac.utils.settings import (
    Fraction,
    NaturalNumber,
    NonNegative,
    Positive,
    PositiveFraction,
    ProperFraction,
    Several,
    Widths,
    settings,
)

Aux = TypeVar("Aux")


class Networks(NamedTuple):
    """Policy, critics and their optimisers; the state of every actor-critic has these fields."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState


@settings
class ActorCritic(ABC):
    """Settings and common steps of an actor-critic; a method adds its own update.

    J_Q(θ) = Σ_i E[(Q_θi(s, a) - y)²],    θ̄ ← τ θ + (1 - τ) θ̄
    """

    uses_reference: ClassVar[bool] = False
    """Whether updates condition the policy on the reference, as the head 'anchored' needs."""

    head: HeadName = "tanh_normal"
    """Policy head: squashed Gaussian, N(tanh μ(s), σ(s)²), or the same with a constant σ."""
    policy_hidden: Widths = (256, 256)
    """Widths of the policy's hidden layers."""
    critic_hidden: Widths = (256, 256)
    """Widths of each critic's hidden layers."""
    num_qs: Several = 2
    """Number of critics."""
    layer_norm: bool = False
    """Apply layer normalisation in the critics."""
    clip_actions: bool = False
    """Clip actions to the box before the critics judge them, as the environment does. Otherwise the
    critics must learn that nothing changes beyond the box."""
    learning_rate: Positive = 3e-4
    """Adam's step size for every network."""
    weight_decay: NonNegative = 0.0
    """Weight of the policy's parameters in its gradient."""
    discount: Fraction = 0.99
    """Discount factor γ."""
    tau: PositiveFraction = 0.005
    """Target smoothing coefficient τ, applied at every update of the critics."""
    exploration_noise: NonNegative = 1.0
    """Noise of the exploring policy, as a multiple of its own scale."""
    policy_ema_updates: NaturalNumber = 0
    """Updates over which the evaluated policy is averaged; 0 evaluates the newest policy."""
    policy_ema_ratio: ProperFraction = 0.0
    """The same as a fraction of the policy's updates so far, pretraining included, where that is
    more. Needs `policy_ema_updates`."""
    standardise_obs: bool = False
    """Let the policy see observations in the units of the demonstrations, if there are any."""

    def __post_init__(self) -> None:
        if self.head == "anchored" and not self.uses_reference:
            raise UserError(
                f"The head 'anchored' corrects a reference, which {type(self).__name__} does not "
                "use. Choose another --head, or the method nppac-anchored."
            )
        if self.policy_ema_ratio and not self.policy_ema_updates:
            raise UserError(
                f"'policy_ema_ratio' is {self.policy_ema_ratio}, but 'policy_ema_updates' is 0, so "
                "nothing is averaged. Give a number of updates, such as 2000, or a ratio of 0."
            )
        if self.standardise_obs and self.weight_decay:
            raise UserError(
                "'weight_decay' would shrink the units of the observations. Give 0, or no "
                "'standardise_obs'."
            )

    @abstractmethod
    def update(
        self, state: State, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One gradient step of everything that learns."""

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """One minibatch of replayed transitions."""
        return BatchSpec(batch_size)

    def networks(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Networks:
        """Fresh networks; the target critics start as a copy of the critics (Algorithm 1)."""
        policy_key, critic_key = jax.random.split(key)
        policy = self.make_policy(policy_key, obs_dim, action_dim)
        critic = self.make_critic(critic_key, obs_dim, action_dim)
        return Networks(
            policy=policy,
            critic=critic,
            target_critic=jax.tree.map(jnp.copy, critic),
            policy_optimiser=init_optimiser(self.policy_optimiser(), policy),
            critic_optimiser=init_optimiser(self.optimiser(), critic),
        )

    def make_policy(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Policy:
        """A fresh policy."""
        sizes = obs_dim, action_dim, self.policy_hidden
        return make_policy(key, self.head, *sizes, standardise=self.standardise_obs)

    def make_critic(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> CriticEnsemble:
        """Fresh critics."""
        sizes = self.num_qs, obs_dim, action_dim, self.critic_hidden
        return CriticEnsemble(key, *sizes, self.layer_norm, self.clip_actions)

    def judge(
        self, critic: CriticEnsemble, obs: Obs, action: Actions, reference: ReferenceStats
    ) -> Float[Array, "n *batch"]:
        """Every critic's value of an action."""
        return critic(obs, action)

    def with_demo_units(self, state: State, obs: np.ndarray, actions: np.ndarray) -> State:
        """A fresh state whose policy sees observations in the units of these, where asked to."""
        if not self.standardise_obs:
            return state
        trunk = state.policy.trunk.with_units(fit_standardiser(obs))
        return self.with_policy(state, eqx.tree_at(lambda p: p.trunk, state.policy, trunk))

    def with_policy(self, state: State, policy: Policy) -> State:
        """A fresh state with this policy, of which the optimiser may hold an average."""
        optimiser = init_optimiser(self.policy_optimiser(), policy)
        return state._replace(policy=policy, policy_optimiser=optimiser)

    def step_critic(self, state: State, batch: Batch, target: Values) -> tuple[State, Info]:
        """One step of every critic towards the target, then of the target critics."""

        def loss(critic: CriticEnsemble) -> tuple[Scalar, Scalar]:
            q = self.judge(critic, batch.obs, batch.action, batch.reference)
            return critic_loss(q, target), jnp.mean(q)

        (value, q_mean), gradient = jax.value_and_grad(loss, has_aux=True)(state.critic)
        critic, optimiser = apply_gradient(
            self.optimiser(), state.critic, gradient, state.critic_optimiser
        )
        info = {"critic_loss": value, "critic_gradient": mean_magnitude(gradient), "q": q_mean}
        state = state._replace(
            critic=critic,
            critic_optimiser=optimiser,
            target_critic=polyak_average(critic, state.target_critic, self.tau),
        )
        return state, info

    def step_policy(
        self, state: State, loss: Callable[[Policy], tuple[Scalar, Aux]]
    ) -> tuple[State, Info, Aux]:
        """One step of the policy on a loss; the loss's auxiliary value is returned too."""
        (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(state.policy)
        policy, optimiser = apply_gradient(
            self.policy_optimiser(), state.policy, gradient, state.policy_optimiser
        )
        info = {"policy_loss": value, "policy_gradient": mean_magnitude(gradient)}
        return state._replace(policy=policy, policy_optimiser=optimiser), info, aux

    def pretrain_step(
        self, state: State, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """Behaviour cloning: one step on -E[log π(a|s)] over the demonstrations."""

        def loss(policy: Policy) -> tuple[Scalar, None]:
            return -jnp.mean(policy.log_prob(demo_batch.obs, demo_batch.action)), None

        state, info, _ = self.step_policy(state, loss)
        return state, {"pretrain_loss": info["policy_loss"]}

    @property
    def anchored(self) -> bool:
        """Whether the policy is a correction to the reference."""
        return self.head == "anchored"

    def sample(
        self, state: State, obs: Obs, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Actions:
        """Actions sampled from the policy, with its noise times `exploration_noise`."""
        return state.policy.condition_on(reference).explore(obs, key, self.exploration_noise)

    def mode(self, state: State, obs: Obs, reference: ReferenceStats | None) -> Actions:
        """The deterministic actions of the policy, or of its average over updates."""
        return self.averaged(state).policy.condition_on(reference).mode(obs)

    def averaged(self, state: State) -> State:
        """The state with the policy that is evaluated."""
        if not self.policy_ema_updates:
            return state
        policy = optax.tree_utils.tree_get(state.policy_optimiser, "average")
        return state._replace(policy=policy)

    def optimiser(self) -> Optimiser:
        """Adam, without weight decay."""
        return optax.adam(self.learning_rate)

    def policy_optimiser(self) -> Optimiser:
        """Adam; weight decay is added to the gradient, an average follows the parameters."""
        optimiser = self.optimiser()
        if self.weight_decay:
            optimiser = optax.chain(optax.add_decayed_weights(self.weight_decay), optimiser)
        if self.policy_ema_updates:
            # An anchored policy starts as the reference's mean, any other with random weights.
            optimiser = with_average(
                optimiser, self.policy_ema_updates, self.policy_ema_ratio, self.anchored
            )
        return optimiser
