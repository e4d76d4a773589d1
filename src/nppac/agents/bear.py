"""BEAR (Kumar et al., 2019): the policy stays within the support of a learned behaviour model."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import (
    ActorCritic,
    Scalar,
    Values,
    require_not_negative,
    require_positive,
)
from nppac.agents.common.cvae import CVAE
from nppac.agents.common.losses import td_target
from nppac.agents.common.sampling import gradient_step, own_key, sample_often, value_each
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import HeadName, Policy, TanhNormalPolicy
from nppac.types import Batch, Family, ReferenceStats
from nppac.utils.errors import UserError

Kernel = Literal["laplacian", "gaussian"]
Samples = Float[Array, "count batch d"]
LOG_MULTIPLIER_MIN, LOG_MULTIPLIER_MAX = -5.0, 10.0
MMD_EPSILON = 1e-6


class BEARState(NamedTuple):
    """Everything that learns, and how often it has."""

    policy: Policy
    critic: CriticEnsemble
    target_critic: CriticEnsemble
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    cvae: CVAE
    cvae_optimiser: optax.OptState
    log_multiplier: Scalar
    multiplier_optimiser: optax.OptState
    updates: Int[Array, ""]


@dataclass(frozen=True)
class BEAR(ActorCritic):
    """Settings of BEAR."""

    head: HeadName = "tanh_normal"
    """Policy head; samples are compared before they are squashed, so it must be this one."""
    cvae_hidden: tuple[int, ...] = (256, 256)
    """Widths of the behaviour model's hidden layers; the authors' are 750, 750."""
    mmd_kernel: Kernel = "laplacian"
    """Kernel of the discrepancy between policy and behaviour model."""
    mmd_width: float = 50.0
    """σ of the kernel, in exp(-‖x - y‖₁ / 2σ) or exp(-‖x - y‖² / 2σ)."""
    mmd_samples: int = 10
    """Samples of each side that the discrepancy is estimated from."""
    mmd_limit: float = 0.05
    """ε: the discrepancy that the policy may have."""
    multiplier_rate: float = 1e-3
    """Adam's step size for ν, the logarithm of the constraint's multiplier."""
    warmup_updates: int = 0
    """First updates, in which the policy heeds the constraint alone and not the critics."""
    target_samples: int = 10
    """Actions of the policy whose best value is the critics' target."""
    target_minimum: float = 0.75
    """Weight of the least critic in that value; the greatest has the rest."""
    act_samples: int = 1
    """Act with the best of so many samples by the first critic; 1: with the policy itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "mmd_width", "mmd_samples", "multiplier_rate", "target_samples")
        require_positive(self, "act_samples")
        require_not_negative(self, "mmd_limit", "warmup_updates")
        if self.head != "tanh_normal":
            raise UserError(f"BEAR's policy head is 'tanh_normal', not '{self.head}'.")
        if min(self.cvae_hidden, default=0) < 1:
            raise UserError("'cvae_hidden' needs one layer at least, of width 1 at least.")
        if not 0 <= self.target_minimum <= 1:
            raise UserError(f"'target_minimum' is {self.target_minimum}; it is a share, 0 to 1.")

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> BEARState:
        """Policy, critics, behaviour model, and a multiplier of one."""
        networks = self.networks(key, obs_dim, action_dim)
        cvae = CVAE(jax.random.fold_in(key, 2), obs_dim, action_dim, self.cvae_hidden)
        log_multiplier = jnp.zeros(())
        return BEARState(
            **networks._asdict(),
            cvae=cvae,
            cvae_optimiser=self.optimiser().init(cvae),
            log_multiplier=log_multiplier,
            multiplier_optimiser=optax.adam(self.multiplier_rate).init(log_multiplier),
            updates=jnp.zeros((), jnp.int32),
        )

    def update(
        self, state: BEARState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[BEARState, Info]:
        """Behaviour model, policy evaluation, constrained improvement, multiplier."""
        cvae_key, critic_key, policy_key = jax.random.split(key, 3)
        cvae, optimiser, cvae_value = gradient_step(
            lambda cvae: cvae.loss(batch.obs, batch.action, cvae_key),
            state.cvae,
            self.optimiser(),
            state.cvae_optimiser,
        )
        state = state._replace(cvae=cvae, cvae_optimiser=optimiser)
        state, critic_info = self.step_critic(state, batch, self.target(state, batch, critic_key))
        state, policy_info = self.update_policy(state, batch, policy_key)
        state = state._replace(updates=state.updates + 1)
        return state, {**critic_info, **policy_info, "cvae_loss": cvae_value}

    def target(self, state: BEARState, batch: Batch, key: PRNGKeyArray) -> Values:
        """The critics' target at the best of several actions of the policy."""
        actions = sample_often(state.policy, batch.next_obs, key, self.target_samples)
        q = value_each(state.target_critic, batch.next_obs, actions)
        next_q = best_value(q, self.target_minimum)
        return td_target(batch.reward, batch.discount_mask, next_q, self.discount)

    def update_policy(
        self, state: BEARState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[BEARState, Info]:
        """One step down the Lagrangian in the policy, and one up in the multiplier."""
        policy_key, cvae_key = jax.random.split(key)
        behaviour = state.cvae.sample(batch.obs, cvae_key, self.mmd_samples)
        heeds_critics = (state.updates >= self.warmup_updates).astype(jnp.float32)

        def loss(policy: Policy) -> tuple[Scalar, tuple[Values, Values]]:
            raw = unsquashed_samples(policy, batch.obs, policy_key, self.mmd_samples)
            q = jnp.min(state.critic(batch.obs, jnp.tanh(raw[0])), axis=0) * heeds_critics
            discrepancy = mmd(raw, behaviour, self.mmd_kernel, self.mmd_width)
            value = lagrangian(q, discrepancy, state.log_multiplier, self.mmd_limit)
            return value, (q, discrepancy)

        state, info, (q, discrepancy) = self.step_policy(state, loss)
        log_multiplier, optimiser, _ = gradient_step(
            lambda nu: -lagrangian(q, discrepancy, nu, self.mmd_limit),
            state.log_multiplier,
            optax.adam(self.multiplier_rate),
            state.multiplier_optimiser,
        )
        log_multiplier = jnp.clip(log_multiplier, LOG_MULTIPLIER_MIN, LOG_MULTIPLIER_MAX)
        state = state._replace(log_multiplier=log_multiplier, multiplier_optimiser=optimiser)
        own = {"mmd": jnp.mean(discrepancy), "multiplier": jnp.exp(log_multiplier)}
        return state, {**info, **own}

    def sample(
        self,
        state: BEARState,
        obs: Float[Array, "batch o"],
        reference: ReferenceStats | None,
        key: PRNGKeyArray,
    ) -> Float[Array, "batch d"]:
        """Exploring actions: each the best of `act_samples`."""
        if self.act_samples == 1:
            return super().sample(state, obs, reference, key)
        keys = jax.random.split(key, self.act_samples)
        actions = jax.vmap(lambda k: state.policy.explore(obs, k, self.exploration))(keys)
        return best_action(state.critic, obs, actions)

    def mode(
        self, state: BEARState, obs: Float[Array, "batch o"], reference: ReferenceStats | None
    ) -> Float[Array, "batch d"]:
        """The policy's mode, or the best of samples whose noise is each state's own."""
        if self.act_samples == 1:
            return state.policy.mode(obs)
        keys = jax.random.split(jax.random.key(0), self.act_samples)
        draw = jax.vmap(lambda o, k: state.policy.sample(o, own_key(k, o))[0], in_axes=(0, None))
        actions = jax.vmap(draw, in_axes=(None, 0))(obs, keys)
        return best_action(state.critic, obs, actions)


def unsquashed_samples(
    policy: Policy, obs: Float[Array, "batch o"], key: PRNGKeyArray, count: int
) -> Samples:
    """Reparameterised samples of a squashed policy, before the squashing."""
    assert isinstance(policy, TanhNormalPolicy)
    loc, scale = policy.loc_scale(obs)
    return loc + scale * jax.random.normal(key, (count, *loc.shape))


def best_action(
    critic: CriticEnsemble, obs: Float[Array, "batch o"], actions: Samples
) -> Float[Array, "batch d"]:
    """Of several actions at each state the one that the first critic values most."""
    best = jnp.argmax(value_each(critic, obs, actions)[0], axis=0)
    return jnp.take_along_axis(actions, best[None, :, None], axis=0)[0]


def best_value(q: Float[Array, "n count batch"], minimum: float) -> Values:
    """max_k [λ min_i Q_i(s, a_k) + (1 - λ) max_i Q_i(s, a_k)]."""
    mixed = minimum * jnp.min(q, axis=0) + (1.0 - minimum) * jnp.max(q, axis=0)
    return jnp.max(mixed, axis=0)


def mmd(x: Samples, y: Float[Array, "other batch d"], kernel: Kernel, width: float) -> Values:
    """MMD = √(k̄xx + k̄yy - 2 k̄xy + 1e-6), k = exp(-‖·‖₁ / 2σ) or exp(-‖·‖² / 2σ).

    The means are of k - 1, which leaves the sum as it is and keeps its digits where k is near 1.
    """

    def mean_kernel(x: Array, y: Array) -> Values:
        apart = jnp.abs(x[:, None] - y[None])
        distance = jnp.sum(apart if kernel == "laplacian" else apart**2, axis=-1)
        return jnp.mean(jnp.expm1(-distance / (2.0 * width)), axis=(0, 1))

    squared = mean_kernel(x, x) + mean_kernel(y, y) - 2.0 * mean_kernel(x, y)
    return jnp.sqrt(squared + MMD_EPSILON)


def lagrangian(q: Values, discrepancy: Values, log_multiplier: Scalar, limit: float) -> Scalar:
    """E[-Q(s, a) + e^ν (MMD(s) - ε)]: the policy descends it, ν ascends."""
    return jnp.mean(-q + jnp.exp(log_multiplier) * (discrepancy - limit))
