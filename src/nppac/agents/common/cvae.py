"""A conditional variational autoencoder of actions: BEAR's model of who filled the replay."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nppac.nn.mlp import MLP

LOG_SCALE_MIN, LOG_SCALE_MAX = -4.0, 15.0
PRIOR_LIMIT = 0.5
"""Latents to sample actions with lie within this, where the decoder knows what it does."""
KL_WEIGHT = 0.5

Obs = Float[Array, "batch o"]
Actions = Float[Array, "batch d"]
Latents = Float[Array, "batch l"]


class CVAE(eqx.Module):
    """Encoder q(z|s, a) = N(μ, σ²) and decoder â = tanh(u(s, z)), with a latent of 2d numbers."""

    encoder: MLP
    decoder: MLP

    def __init__(
        self, key: PRNGKeyArray, obs_dim: int, action_dim: int, hidden: tuple[int, ...]
    ) -> None:
        encoder_key, decoder_key = jax.random.split(key)
        latent, bound = 2 * action_dim, hidden[-1] ** -0.5
        self.encoder = MLP(encoder_key, obs_dim + action_dim, hidden, 2 * latent, bound)
        self.decoder = MLP(decoder_key, obs_dim + latent, hidden, action_dim, bound)

    def encode(self, obs: Obs, action: Actions) -> tuple[Latents, Latents]:
        """Location and scale of a pair's latent."""
        loc, log_scale = jnp.split(self.encoder(jnp.concatenate([obs, action], -1)), 2, axis=-1)
        return loc, jnp.exp(jnp.clip(log_scale, LOG_SCALE_MIN, LOG_SCALE_MAX))

    def decode(self, obs: Obs, latent: Latents) -> Actions:
        """The action of a latent, before it is squashed."""
        return self.decoder(jnp.concatenate([obs, latent], -1))

    def sample(self, obs: Obs, key: PRNGKeyArray, count: int) -> Float[Array, "count batch d"]:
        """Unsquashed actions of several latents z ~ N(0, 1) at each state, clipped to ±½."""
        latent = 2 * self.decoder.biases[-1].shape[-1]
        z = jax.random.normal(key, (count, len(obs), latent))
        return jax.vmap(lambda z: self.decode(obs, z))(jnp.clip(z, -PRIOR_LIMIT, PRIOR_LIMIT))

    def loss(self, obs: Obs, action: Actions, key: PRNGKeyArray) -> Float[Array, ""]:
        """Of one reparameterised latent for each pair."""
        loc, scale = self.encode(obs, action)
        latent = loc + scale * jax.random.normal(key, loc.shape)
        return cvae_loss(jnp.tanh(self.decode(obs, latent)), action, loc, scale)


def cvae_loss(decoded: Actions, action: Actions, loc: Latents, scale: Latents) -> Float[Array, ""]:
    """E[(â - a)²] + ½ E[KL(N(μ, σ²) ‖ N(0, 1))], means over batch and dimensions alike."""
    kl = -0.5 * jnp.mean(1.0 + 2.0 * jnp.log(scale) - loc**2 - scale**2)
    return jnp.mean((decoded - action) ** 2) + KL_WEIGHT * kl
