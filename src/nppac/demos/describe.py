"""A description of demonstrations as plain data, for a person or a script to read."""

import numpy as np

from nppac.demos.data import Demos


def describe(demos: Demos) -> dict[str, object]:
    """Sizes, returns, successes, ranges and origin of the demonstrations."""
    return {
        "source": demos.source,
        "env_id": demos.metadata.get("env_id"),
        "episodes": len(demos),
        "steps": demos.steps,
        "obs_dim": demos.obs_dim,
        "action_dim": demos.action_dim,
        "lengths": _spread([len(e) for e in demos.episodes]),
        "terminated": sum(e.terminated for e in demos.episodes),
        "returns": _returns(demos),
        "successes": _successes(demos),
        "action_range": _range(demos.actions),
        "constant_obs_dims": _constant_columns(demos.obs),
        "provenance": demos.metadata.get("provenance"),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"min": min(values), "mean": float(np.mean(values)), "max": max(values)}


def _returns(demos: Demos) -> dict[str, float] | None:
    """Return of each episode, from its first reward to that of its last action."""
    if not demos.has_rewards:
        return None
    pairs = ((e.rewards, len(e)) for e in demos.episodes)
    return _spread([float(r[:n].sum(dtype=np.float64)) for r, n in pairs if r is not None])


def _successes(demos: Demos) -> int | None:
    """Episodes with success at any step, if every episode knows."""
    flags = [e.successes for e in demos.episodes]
    if any(f is None for f in flags):
        return None
    return sum(bool(np.any(f)) for f in flags if f is not None)


def _range(actions: np.ndarray) -> tuple[float, float]:
    return (float(actions.min()), float(actions.max())) if actions.size else (0.0, 0.0)


def _constant_columns(obs: np.ndarray) -> list[int]:
    return np.flatnonzero((obs == obs[:1]).all(axis=0)).tolist() if len(obs) else []
