"""Critics Q_θ(s, a): an ensemble that is evaluated as one network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser
from nppac.nn.units import FURTHEST, InputUnits, at_least, measured_in, neutral_units, units_from
from nppac.types import Actions, Obs, ReferenceStats

CRITIC_LAST_BOUND = 3e-3


class CriticEnsemble(eqx.Module):
    """n independent critics Q_θ(s, a), their weights stacked in one network.

    With `residuals` they also see (a - μ0(s)) / σ0(s), where an action lies within the reference's
    density. Where σ0 is 0.02 of the box, the action alone hardly tells two of them apart.
    """

    members: MLP
    obs_units: InputUnits
    smallest: tuple[Float[Array, " d"], ...]
    """With residuals, the smallest σ0 of each action."""
    clip_actions: bool = eqx.field(static=True)
    residuals: bool = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        n: int,
        obs_dim: int,
        action_dim: int,
        hidden: tuple[int, ...],
        layer_norm: bool = False,
        clip_actions: bool = False,
        residuals: bool = False,
    ) -> None:
        def member(k: PRNGKeyArray) -> MLP:
            inputs = obs_dim + action_dim * (2 if residuals else 1)
            return MLP(k, inputs, hidden, 1, CRITIC_LAST_BOUND, layer_norm=layer_norm)

        self.members = jax.vmap(member)(jax.random.split(key, n))
        self.obs_units = neutral_units(obs_dim) if residuals else ()
        self.smallest = (jnp.zeros(action_dim),) if residuals else ()
        self.clip_actions = clip_actions
        self.residuals = residuals

    def with_units(
        self, units: Standardiser, smallest: Float[np.ndarray, " d"]
    ) -> "CriticEnsemble":
        """The same critics, with these units of observations and these smallest σ0."""
        known = units_from(units), (jnp.asarray(smallest, jnp.float32),)
        return eqx.tree_at(lambda critic: (critic.obs_units, critic.smallest), self, known)

    def __call__(
        self, obs: Obs, action: Actions, reference: ReferenceStats | None = None
    ) -> Float[Array, "n *batch"]:
        """Values of every member; with `clip_actions` of the action that the environment takes."""
        action = jnp.clip(action, -1.0, 1.0) if self.clip_actions else action
        inputs = [measured_in(jnp.asarray(obs), self.obs_units), action]
        if self.residuals:
            inputs.append(_residual(action, reference, self.smallest))
        inputs = jnp.concatenate(inputs, axis=-1)
        if self.members.norms or len(self.members.weights) == 1:
            return jax.vmap(lambda member: member(inputs))(self.members)[..., 0]
        return self._side_by_side(inputs)

    def random_members(self, key: PRNGKeyArray, count: int | None) -> "CriticEnsemble":
        """So many members, without replacement; None: all. The others are not evaluated."""
        n = len(self.members.weights[0])
        if count in (None, n):
            return self
        chosen = jax.random.choice(key, n, (count,), replace=False)
        members = jax.tree.map(lambda stacked: stacked[chosen], self.members)
        return eqx.tree_at(lambda critic: critic.members, self, members)

    def _side_by_side(self, inputs: Float[Array, "*batch i"]) -> Float[Array, "n *batch"]:
        """Values of members without layer normalisation, one matrix product per member and layer.

        This is faster on CPUs than batched products. The first layers, whose inputs are narrow and
        common to all members, are one wide product.
        """
        (first, *weights), (bias, *biases) = self.members.weights, self.members.biases
        activation, n = self.members.activation, len(first)
        wide = activation(inputs @ jnp.concatenate(first, axis=-1) + jnp.ravel(bias))
        values = []
        for i, x in enumerate(jnp.split(wide, n, axis=-1)):
            x = x @ weights[0][i] + biases[0][i]
            for weight, bias in zip(weights[1:], biases[1:], strict=True):
                x = activation(x) @ weight[i] + bias[i]
            values.append(x[..., 0])
        return jnp.stack(values)


def _residual(
    action: Actions,
    reference: ReferenceStats | None,
    smallest: tuple[Float[Array, " d"], ...],
) -> Actions:
    """(a - μ0(s)) / σ0(s), no further than what a network can use."""
    if reference is None:
        raise ValueError("critics of residuals need the reference's statistics")
    loc, scale = at_least(reference, smallest)
    return jnp.clip((action - loc) / scale, -FURTHEST, FURTHEST)
