"""The state of BEAR."""

from typing import NamedTuple

import optax
from jaxtyping import Array, Int

from nppac.agents.common.cvae import CVAE
from nppac.nn.critics import CriticEnsemble
from nppac.nn.policies import Policy
from nppac.types import Scalar


class BEARState(NamedTuple):
    """Everything that learns, and the number of updates so far."""

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
