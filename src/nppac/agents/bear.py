"""BEAR (Kumar et al., 2019): the policy stays within the support of a learned behaviour model."""

from dataclasses import replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray
from pydantic import Field

from nppac.agents.base import Info
from nppac.agents.common.actor_critic import ActorCritic
from nppac.agents.common.bear_state import BEARState
from nppac.agents.common.cvae import CVAE
from nppac.agents.common.discrepancy import MMDKernel, mmd
from nppac.agents.common.losses import lagrangian, over_mean_size, td_target
from nppac.agents.common.optimise import gradient_step, init_optimiser
from nppac.agents.common.paper_settings import (
    cloned_first,
    is_dexterous,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.common.sampling import (
    best_action,
    best_value,
    sample_actions,
    sample_values,
    state_key,
    unsquashed_samples,
)
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.nn.policies import HeadName, Policy
from nppac.nn.standardise import fit_standardiser
from nppac.types import Actions, Batch, DemoBatch, Family, Obs, ReferenceStats, Scalar, Values
from nppac.utils.errors import UserError
from nppac.utils.settings import (
    Fraction,
    NaturalNumber,
    NonNegative,
    Positive,
    Several,
    Widths,
    settings,
)

LOG_MULTIPLIER_MIN, LOG_MULTIPLIER_MAX = -5.0, 10.0


@settings
class BEAR(ActorCritic):
    """Settings of BEAR.

    J_π = E[-min_i Q_i(s, a) + e^ν (MMD(s) - ε)]; ν ascends the same function
    y = r + γ m max_k [λ min_i Q̄_i(s', a_k) + (1 - λ) max_i Q̄_i(s', a_k)]
    """

    head: HeadName = "tanh_normal"
    """Policy head; samples are compared before they are squashed, so it must be this one."""
    cvae_hidden: Annotated[Widths, Field(min_length=1)] = (256, 256)
    """Widths of the behaviour model's hidden layers; the authors' are 750, 750."""
    mmd_kernel: MMDKernel = "laplacian"
    """Kernel of the discrepancy between policy and behaviour model."""
    mmd_width: Positive = 50.0
    """σ of the kernel, in exp(-‖x - y‖₁ / 2σ) or exp(-‖x - y‖² / 2σ)."""
    mmd_samples: Several = 10
    """Samples of policy and behaviour model that the discrepancy is estimated from."""
    mmd_squashed: bool = False
    """Compare actions and not what is squashed to them, which differs most where it means least."""
    mmd_limit: NonNegative = 0.05
    """ε: largest discrepancy that the constraint allows."""
    multiplier_rate: Positive = 1e-3
    """Adam's step size for ν, the logarithm of the constraint's multiplier."""
    multiplier_in_q_units: bool = False
    """Measure the multiplier e^ν in units of the critics' mean |Q|, which its limits then suit."""
    warmup_updates: NaturalNumber = 0
    """Number of first updates in which the policy follows the constraint and not the critics."""
    target_samples: Several = 10
    """Actions of the policy whose best value is the critics' target."""
    target_minimum: Fraction = 0.75
    """λ: weight of the smallest critic in that value; the largest has 1 - λ."""
    act_samples: Several = 1
    """Number of samples from which the first critic chooses the action; 1: the policy alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head != "tanh_normal":
            raise UserError(f"'head' is '{self.head}'; BEAR needs 'tanh_normal'.")

    def init(self, key: PRNGKeyArray, obs_dim: int, action_dim: int) -> BEARState:
        """Policy, critics, behaviour model, and a multiplier of one."""
        networks = self.networks(key, obs_dim, action_dim)
        sizes = obs_dim, action_dim, self.cvae_hidden
        cvae = CVAE(jax.random.fold_in(key, 2), *sizes, standardise=self.standardise_obs)
        log_multiplier = jnp.zeros(())
        return BEARState(
            **networks._asdict(),
            cvae=cvae,
            cvae_optimiser=init_optimiser(self.optimiser(), cvae),
            log_multiplier=log_multiplier,
            multiplier_optimiser=init_optimiser(optax.adam(self.multiplier_rate), log_multiplier),
            updates=jnp.zeros((), jnp.int32),
        )

    def update(
        self, state: BEARState, batch: Batch, key: PRNGKeyArray, family: Family
    ) -> tuple[BEARState, Info]:
        """Behaviour model, policy evaluation, constrained improvement, multiplier."""
        cvae_key, critic_key, policy_key = jax.random.split(key, 3)
        state, cvae_value = self.step_cvae(state, batch.obs, batch.action, cvae_key)
        state, critic_info = self.step_critic(state, batch, self.target(state, batch, critic_key))
        state, policy_info = self.update_policy(state, batch, policy_key)
        state = state._replace(updates=state.updates + 1)
        return state, {**critic_info, **policy_info, "cvae_loss": cvae_value}

    def step_cvae(
        self, state: BEARState, obs: Obs, action: Actions, key: PRNGKeyArray
    ) -> tuple[BEARState, Scalar]:
        """One step of the behaviour model, and its loss."""
        cvae, optimiser, value = gradient_step(
            lambda cvae: cvae.loss(obs, action, key),
            state.cvae,
            self.optimiser(),
            state.cvae_optimiser,
        )
        return state._replace(cvae=cvae, cvae_optimiser=optimiser), value

    def with_demo_units(self, state: BEARState, obs: np.ndarray, actions: np.ndarray) -> BEARState:
        """A fresh state whose policy and behaviour model see the units of these, if asked to."""
        state = super().with_demo_units(state, obs, actions)
        if not self.standardise_obs:
            return state
        cvae = state.cvae.with_units(fit_standardiser(obs))
        return state._replace(cvae=cvae, cvae_optimiser=init_optimiser(self.optimiser(), cvae))

    def pretrain_step(
        self, state: BEARState, demo_batch: DemoBatch, key: PRNGKeyArray, family: Family
    ) -> tuple[BEARState, Info]:
        """One step of the policy's mode on the squared error, and one of the behaviour model.

        Where actions lie on the border of the box, a squashed density says little of the mode.
        """
        state, _ = self.step_cvae(state, demo_batch.obs, demo_batch.action, key)

        def loss(policy: Policy) -> tuple[Scalar, None]:
            return jnp.mean((policy.mode(demo_batch.obs) - demo_batch.action) ** 2), None

        state, info, _ = self.step_policy(state, loss)
        return state, {"pretrain_loss": info["policy_loss"]}

    def target(self, state: BEARState, batch: Batch, key: PRNGKeyArray) -> Values:
        """The critics' target at the best of several actions of the policy."""
        actions = sample_actions(state.policy, batch.next_obs, key, self.target_samples)
        q = sample_values(state.target_critic, batch.next_obs, actions)
        next_q = best_value(q, self.target_minimum)
        return td_target(batch.reward, batch.discount_mask, next_q, self.discount)

    def update_policy(
        self, state: BEARState, batch: Batch, key: PRNGKeyArray
    ) -> tuple[BEARState, Info]:
        """One step down the Lagrangian in the policy, and one up in the multiplier."""
        policy_key, cvae_key = jax.random.split(key)
        behaviour = state.cvae.sample(batch.obs, cvae_key, self.mmd_samples)
        how = self.mmd_kernel, self.mmd_width, self.mmd_squashed
        uses_critics = (state.updates >= self.warmup_updates).astype(jnp.float32)

        def loss(policy: Policy) -> tuple[Scalar, tuple[Values, Values]]:
            raw = unsquashed_samples(policy, batch.obs, policy_key, self.mmd_samples)
            q = jnp.min(state.critic(batch.obs, jnp.tanh(raw[0])), axis=0)
            if self.multiplier_in_q_units:
                q = over_mean_size(q)
            q = q * uses_critics
            discrepancy = mmd(raw, behaviour, *how)
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
        self, state: BEARState, obs: Obs, reference: ReferenceStats | None, key: PRNGKeyArray
    ) -> Actions:
        """Exploring actions, each the best of `act_samples`."""
        if self.act_samples == 1:
            return super().sample(state, obs, reference, key)
        keys = jax.random.split(key, self.act_samples)
        actions = jax.vmap(lambda k: state.policy.explore(obs, k, self.exploration_noise))(keys)
        return best_action(state.critic, obs, actions)

    def mode(self, state: BEARState, obs: Obs, reference: ReferenceStats | None) -> Actions:
        """The policy's mode, or the best of samples whose noise is a function of the state."""
        state = self.averaged(state)
        if self.act_samples == 1:
            return state.policy.mode(obs)
        keys = jax.random.split(jax.random.key(0), self.act_samples)
        draw = jax.vmap(lambda o, k: state.policy.sample(o, state_key(k, o))[0], in_axes=(0, None))
        actions = jax.vmap(draw, in_axes=(None, 0))(obs, keys)
        return best_action(state.critic, obs, actions)


def bear_recipe(task: str, preset: Preset) -> Recipe:
    """25,000 offline updates; in the first four fifths of them the policy ignores the critics."""
    agent = BEAR(warmup_updates=20_000)
    recipe = scheduled(
        without_reference(task, agent), demos_in_replay=True, offline_updates=25_000, batch_size=256
    )
    if preset == "paper":
        return recipe
    if is_dexterous(task):
        return reduced(recipe)
    agent = replace(
        agent,
        policy_hidden=(256, 256, 256, 256),
        warmup_updates=4_000,
        multiplier_in_q_units=True,
        # Many actions lie on the border of the box. There the constraint could not be met before
        # squashing, so that its multiplier stayed at its limit. With a Gaussian kernel it could be
        # met, and yet the policy fell.
        mmd_squashed=True,
        mmd_limit=0.06,
        multiplier_rate=1e-2,
    )
    recipe = cloned_first(reduced(replace(recipe, agent=agent)))
    return scheduled(recipe, offline_updates=5_000)  # policy and behaviour model are clones already


register_method(
    Method(
        name="bear",
        agent=BEAR,
        regulariser="other divergence",
        needs="rewards",
        reference="uniform",
        summary="Stays in a learned behaviour's support.",
        recipe=bear_recipe,
    )
)
