"""The state of DAPG."""

from typing import NamedTuple

import optax
from jaxtyping import Array, Int

from nppac.agents.common.episodic import Scaling
from nppac.nn.mlp import MLP
from nppac.nn.policies import LinearPolicy


class DAPGState(NamedTuple):
    """Everything that learns; the policy maps scaled observations to scaled actions."""

    policy: LinearPolicy
    critic: MLP
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState
    scaling: Scaling
    action_scaling: Scaling
    iteration: Int[Array, ""]
