"""The weight α of the KL penalty: its settings, its unit, and how it is tuned."""

import math

import jax
import jax.numpy as jnp
import optax

from nppac.agents.common.kl_state import KLActorCriticState
from nppac.agents.common.losses import temperature_loss
from nppac.agents.common.optimise import Optimiser, apply_gradient
from nppac.agents.common.searching import SearchingActorCritic
from nppac.nn.distributions import LOG_2
from nppac.types import Family, Scalar, Values
from nppac.utils.settings import AtLeastOne, Finite, NaturalNumber, Positive, settings


@settings
class TemperedActorCritic(SearchingActorCritic):
    """An actor-critic with a temperature, fixed or tuned."""

    temperature: Positive = 0.1
    """Weight α of the KL penalty; the initial value if it is tuned."""
    temperature_in_q_units: bool = False
    """Measure α in units of the critics' mean |Q|, so that it does not depend on reward scale."""
    tune_temperature: bool = False
    """Adapt α so that the KL meets `target_kl`."""
    temperature_learning_rate: Positive | None = None
    """Adam's step size for a tuned α; by default `learning_rate`."""
    target_kl: Finite | None = None
    """Target KL of a tuned α; by default it follows from `target_kl_per_root_action`."""
    target_kl_per_root_action: Finite | None = None
    """The same over the square root of the number of actions; by default it follows from
    `entropy_target`, as in SAC."""
    entropy_target: Finite = -1.0
    """Target entropy of a tuned α, in nats per action dimension."""
    target_kl_doubling_updates: NaturalNumber = 0
    """Updates after which the target KL has doubled; it grows linearly. With 0 it stays."""
    target_kl_max_growth: AtLeastOne | None = None
    """The target KL grows to so many times where it began, and stays there; None: without end."""

    def weight(self, state: KLActorCriticState, q: Values) -> Scalar:
        """The weight α of the KL, times E|Q| with `temperature_in_q_units`."""
        temperature = jnp.exp(state.log_temperature)
        if not self.temperature_in_q_units:
            return temperature
        return temperature * jnp.mean(jnp.abs(jax.lax.stop_gradient(q)))

    def temperature_adam(self) -> Optimiser:
        """The optimiser of a tuned α."""
        return optax.adam(self.temperature_learning_rate or self.learning_rate)

    def update_temperature(
        self, state: KLActorCriticState, log_ratio: Values, action_dim: int, family: Family
    ) -> KLActorCriticState:
        """One step of α towards the target KL, if α is tuned."""
        if not self.tune_temperature:
            return state
        target_kl = self.kl_target(action_dim, family) * self.kl_growth(state)
        gradient = jax.grad(temperature_loss)(state.log_temperature, log_ratio, target_kl)
        log_temperature, optimiser = apply_gradient(
            self.temperature_adam(), state.log_temperature, gradient, state.temperature_optimiser
        )
        return state._replace(log_temperature=log_temperature, temperature_optimiser=optimiser)

    def kl_growth(self, state: KLActorCriticState) -> Scalar | float:
        """1 + t / T after t steps of α, with an end if it has one.

        The more the critics have seen, the less a prior counts.
        """
        if not self.target_kl_doubling_updates:
            return 1.0
        steps = optax.tree_utils.tree_get(state.temperature_optimiser, "count")  # Adam's own
        growth = 1.0 + steps / float(self.target_kl_doubling_updates)
        return jnp.minimum(growth, self.target_kl_max_growth or jnp.inf)

    def kl_target(self, action_dim: int, family: Family) -> float:
        """The KL that a tuned α holds at first.

        SAC's target log π = d is a log-ratio of d + d ln 2 against the uniform reference.
        """
        if self.target_kl is not None:
            return self.target_kl
        if self.target_kl_per_root_action is not None:
            return math.sqrt(action_dim) * self.target_kl_per_root_action
        return action_dim * (-self.entropy_target + (LOG_2 if family == "uniform" else 0.0))
