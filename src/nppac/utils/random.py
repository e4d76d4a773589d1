"""Random streams: everything random is derived from (seed, purpose, counter)."""

import jax
from jaxtyping import PRNGKeyArray


def random_stream(seed: int, purpose: str) -> PRNGKeyArray:
    """An independent stream for each purpose of a run."""
    purposes = ("init", "pretrain", "epoch", "offline")
    return jax.random.fold_in(jax.random.key(seed), purposes.index(purpose))
