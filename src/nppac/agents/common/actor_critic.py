"""What all actor-critics share: settings, networks, and single steps on a critic or a policy."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.agents.base import BatchSpec, Info, State
from nppac.agents.common.losses import critic_loss
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import HeadName, Policy, make_policy
from nppac.types import Batch, DemoBatch, Family, ReferenceStats
from nppac.utils.errors import UserError

Scalar = Float[Array, ""]
Values = Float[Array, " batch"]


class Networks(NamedTuple):
    """Policy, critics and their optimisers; a method's state has these fields among its own."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState


@dataclass(frozen=True)
class ActorCritic(ABC):
    """Settings of any actor-critic; a method adds its own and says what an update is."""

    asks_reference: ClassVar[bool] = False
    """Whether updates tell the policy what its reference says, as the anchored head needs."""

    head: HeadName = "tanh_normal"
    """Policy head: squashed Gaussian, N(tanh μ(s), σ(s)²), or the same with a constant σ."""
    policy_hidden: tuple[int, ...] = (256, 256)
    """Widths of the policy's hidden layers."""
    critic_hidden: tuple[int, ...] = (256, 256)
    """Widths of each critic's hidden layers."""
    num_qs: int = 2
    """Number of critics."""
    layer_norm: bool = False
    """Normalise the critics' hidden layers."""
    learning_rate: float = 3e-4
    """Adam's step size for every network."""
    weight_decay: float = 0.0
    """Weight of the policy's own parameters in its gradient."""
    discount: float = 0.99
    """Discount factor γ."""
    tau: float = 0.005
    """Target smoothing coefficient τ, applied at every update of the critics."""
    exploration: float = 1.0
    """Noise of the exploring policy, as a multiple of its own scale."""

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "tau", "num_qs")
        require_not_negative(self, "exploration", "weight_decay")
        for name in ("discount", "tau"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"'{name}' is {getattr(self, name)}; it must be within 0 and 1.")
        if self.head == "anchored" and not self.asks_reference:
            raise UserError(
                f"The head 'anchored' corrects a reference, which {type(self).__name__} does not "
                "ask. Choose another --head, or the method nppac-anchored."
            )
        if min((*self.policy_hidden, *self.critic_hidden), default=1) < 1:
            raise UserError("The width of a hidden layer must be at least 1.")

    @abstractmethod
    def update(
        self, state: Any, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[State, Info]:
        """One gradient step on everything that learns."""

    def batch_spec(self, batch_size: int) -> BatchSpec:
        """One minibatch of replayed transitions."""
        return BatchSpec(batch_size)

    def networks(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Networks:
        """Fresh networks; the target critics start as a copy of the critics (Algorithm 1)."""
        policy_key, critic_key = jax.random.split(key)
        policy = self.make_policy(policy_key, obs_dim, action_dim)
        critic = CriticEnsemble(
            critic_key, self.num_qs, obs_dim, action_dim, self.critic_hidden, self.layer_norm
        )
        return Networks(
            policy=policy,
            critic=critic,
            target_critic=jax.tree.map(jnp.copy, critic),
            policy_optimiser=self.policy_optimiser().init(policy),
            critic_optimiser=self.optimiser().init(critic),
        )

    def make_policy(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> Policy:
        """A fresh policy."""
        return make_policy(key, self.head, obs_dim, action_dim, self.policy_hidden)

    def step_critic(self, state: Any, batch: Batch, target: Values) -> tuple[Any, Info]:
        """One step of every critic towards the target, and of the target critics after them."""

        def loss(critic: CriticEnsemble) -> tuple[Scalar, Scalar]:
            q = critic(batch.obs, batch.action)
            return critic_loss(q, target), jnp.mean(q)

        (value, q_mean), grads = jax.value_and_grad(loss, has_aux=True)(state.critic)
        critic, optimiser = apply(self.optimiser(), state.critic, grads, state.critic_optimiser)
        info = {"critic_loss": value, "critic_gradient": mean_magnitude(grads), "q": q_mean}
        state = state._replace(
            critic=critic,
            critic_optimiser=optimiser,
            target_critic=smoothed(critic, state.target_critic, self.tau),
        )
        return state, info

    def step_policy(
        self, state: Any, loss: Callable[[Policy], tuple[Scalar, Any]]
    ) -> tuple[Any, Info, Any]:
        """One step of the policy on a loss, whose second value is handed on."""
        (value, aux), grads = jax.value_and_grad(loss, has_aux=True)(state.policy)
        policy, optimiser = apply(
            self.policy_optimiser(), state.policy, grads, state.policy_optimiser
        )
        info = {"policy_loss": value, "policy_gradient": mean_magnitude(grads)}
        return state._replace(policy=policy, policy_optimiser=optimiser), info, aux

    def pretrain_step(
        self, state: Any, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
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
        self,
        state: Any,
        obs: Float[Array, "batch o"],
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Float[Array, "batch d"]:
        """Actions sampled from the policy, its noise scaled by `exploration`."""
        return state.policy.condition_on(reference).explore(obs, key, self.exploration)

    def mode(
        self, state: Any, obs: Float[Array, "batch o"], reference: ReferenceStats | None
    ) -> Float[Array, "batch d"]:
        """The policy's deterministic actions."""
        return state.policy.condition_on(reference).mode(obs)

    def optimiser(self) -> Any:  # optax's own type does not admit Equinox modules
        """Adam, for whatever has no weight decay."""
        return optax.adam(self.learning_rate)

    def policy_optimiser(self) -> Any:
        """Adam on the gradient with the weights added to it, where they decay."""
        if not self.weight_decay:
            return self.optimiser()
        return optax.chain(optax.add_decayed_weights(self.weight_decay), self.optimiser())


def apply(optimiser: Any, params: Any, grads: Any, optimiser_state: Any) -> tuple[Any, Any]:
    """One step of an optimiser: new parameters and its new state."""
    updates, optimiser_state = optimiser.update(grads, optimiser_state, params)
    return optax.apply_updates(params, updates), optimiser_state


def smoothed(new: Any, old: Any, tau: float) -> Any:
    """θ̄ ← τ θ + (1 - τ) θ̄."""
    return jax.tree.map(lambda n, o: tau * n + (1.0 - tau) * o, new, old)


def mean_magnitude(grads: object) -> Scalar:
    """Average absolute gradient over all parameters, the paper's gradient magnitude."""
    leaves = jax.tree.leaves(grads)
    return jnp.sum(jnp.stack([_sum_magnitude(g) for g in leaves])) / sum(g.size for g in leaves)


def _sum_magnitude(array: Float[Array, "..."]) -> Scalar:
    # Column by column first: XLA vectorises that on processors, but not a sum to a single number.
    return jnp.sum(jnp.sum(jnp.abs(array), axis=tuple(range(array.ndim - 1))))


def require_positive(settings: object, *names: str) -> None:
    """Refuse settings that are zero or less."""
    for name in names:
        if not getattr(settings, name) > 0:
            raise UserError(f"'{name}' is {getattr(settings, name)}; it must be positive.")


def require_not_negative(settings: object, *names: str) -> None:
    """Refuse settings below zero."""
    for name in names:
        if not getattr(settings, name) >= 0:
            raise UserError(f"'{name}' is {getattr(settings, name)}; it must not be negative.")
