"""A conditional variational autoencoder of actions: BEAR's model of the behaviour policy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser
from nppac.types import Actions, ActionSamples, Obs, Scalar

LATENT_LOG_SCALE_MIN, LATENT_LOG_SCALE_MAX = -4.0, 15.0
LATENT_LIMIT = 0.5
"""Latents are clipped to this when actions are sampled: the decoder saw few latents beyond."""
KL_WEIGHT = 0.5

Latents = Float[Array, "batch l"]


class CVAE(eqx.Module):
    """Encoder q(z|s, a) = N(μ, σ²) and decoder â = tanh(u(s, z)); z has 2d dimensions."""

    encoder: MLP
    decoder: MLP

    def __init__(
        self,
        key: PRNGKeyArray,
        obs_dim: int,
        action_dim: int,
        hidden: tuple[int, ...],
        standardise: bool = False,
    ) -> None:
        encoder_key, decoder_key = jax.random.split(key)
        latent, bound = 2 * action_dim, hidden[-1] ** -0.5
        encoder_sizes = obs_dim + action_dim, hidden, 2 * latent, bound
        decoder_sizes = obs_dim + latent, hidden, action_dim, bound
        self.encoder = MLP(encoder_key, *encoder_sizes, standardise=standardise)
        self.decoder = MLP(decoder_key, *decoder_sizes, standardise=standardise)

    def with_units(self, units: Standardiser) -> "CVAE":
        """The same networks, which see observations in these units."""
        networks = [self.encoder, self.decoder]
        seen = [
            network.with_units(_padded(units, network.weights[0].shape[0])) for network in networks
        ]
        return eqx.tree_at(lambda cvae: (cvae.encoder, cvae.decoder), self, tuple(seen))

    def encode(self, obs: Obs, action: Actions) -> tuple[Latents, Latents]:
        """Location and scale of the latent of a state and action."""
        loc, log_scale = jnp.split(self.encoder(jnp.concatenate([obs, action], -1)), 2, axis=-1)
        return loc, jnp.exp(jnp.clip(log_scale, LATENT_LOG_SCALE_MIN, LATENT_LOG_SCALE_MAX))

    def decode(self, obs: Obs, latent: Latents) -> Actions:
        """The action that a latent decodes to, before squashing."""
        return self.decoder(jnp.concatenate([obs, latent], -1))

    def sample(self, obs: Obs, key: PRNGKeyArray, count: int) -> ActionSamples:
        """Unsquashed actions from `count` latents z ~ N(0, 1) at each state, clipped to ±½."""
        latent = 2 * self.decoder.biases[-1].shape[-1]
        z = jax.random.normal(key, (count, len(obs), latent))
        return jax.vmap(lambda z: self.decode(obs, z))(jnp.clip(z, -LATENT_LIMIT, LATENT_LIMIT))

    def loss(self, obs: Obs, action: Actions, key: PRNGKeyArray) -> Scalar:
        """The loss with one reparameterised latent for each state and action."""
        loc, scale = self.encode(obs, action)
        latent = loc + scale * jax.random.normal(key, loc.shape)
        return cvae_loss(jnp.tanh(self.decode(obs, latent)), action, loc, scale)


def _padded(units: Standardiser, inputs: int) -> Standardiser:
    """Units of observations that are followed by inputs in their own."""
    others = inputs - len(units.centre)
    centre = np.append(units.centre, np.zeros(others))
    return Standardiser(centre, np.append(units.spread, np.ones(others)))


def cvae_loss(decoded: Actions, action: Actions, loc: Latents, scale: Latents) -> Scalar:
    """E[(â - a)²] + ½ E[KL(N(μ, σ²) ‖ N(0, 1))], averaged over batch and dimensions."""
    kl = -0.5 * jnp.mean(1.0 + 2.0 * jnp.log(scale) - loc**2 - scale**2)
    return jnp.mean((decoded - action) ** 2) + KL_WEIGHT * kl
