"""The incumbent and its contender as named arrays of a checkpoint, and back."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nppac.agents.base import State
from nppac.training.checkpoint_arrays import CONTENDER, INCUMBENT_COUNTS, INCUMBENT_SERIES
from nppac.training.contender import Contender
from nppac.training.incumbent import Incumbent
from nppac.training.state_arrays import refilled, state_arrays

_NETWORKS = "incumbent/state/"
_CONTENDERS_NETWORKS = f"{CONTENDER}/state/"
_SINCE_FORMAT_1 = {
    "incumbent/differences": np.zeros(0),
    "incumbent/challenger_from": np.array(0),
}
"""What older checkpoints lack."""


def incumbent_arrays(incumbent: Incumbent) -> dict[str, np.ndarray]:
    """The incumbent's arrays for a checkpoint; the reference's mean has no networks."""
    names = (*INCUMBENT_COUNTS, "unit", *INCUMBENT_SERIES)
    arrays = {f"incumbent/{name}": np.array(getattr(incumbent, name)) for name in names}
    if incumbent.state is not None:
        arrays |= state_arrays(incumbent.state, _NETWORKS)
    contender = incumbent.contender
    if contender is not None:
        arrays |= {f"{CONTENDER}/env_steps": np.array(contender.env_steps)}
        arrays |= {f"{CONTENDER}/best": np.array(contender.best, float)}
        arrays |= {f"{CONTENDER}/margin": np.array(contender.margin, float)}
        arrays |= state_arrays(contender.state, _CONTENDERS_NETWORKS)
    return arrays


def stored_incumbent(path: str | Path, state: State, arrays: Mapping[str, np.ndarray]) -> Incumbent:
    """The incumbent of a checkpoint; older ones have none, and begin with the reference's mean."""
    if "incumbent/challenges" not in arrays:
        return Incumbent()
    known = any(name.startswith(_NETWORKS) for name in arrays)
    networks = refilled(path, state, arrays, _NETWORKS) if known else None
    arrays = {**_SINCE_FORMAT_1, **arrays}
    counts = {name: int(arrays[f"incumbent/{name}"]) for name in INCUMBENT_COUNTS}
    scores, returns, differences = (
        tuple(arrays[f"incumbent/{name}"].tolist()) for name in INCUMBENT_SERIES
    )
    return Incumbent(
        state=networks,
        unit=float(arrays["incumbent/unit"]),
        scores=scores,
        returns=returns,
        differences=differences,
        contender=_stored_contender(path, state, arrays),
        **counts,
    )


def _stored_contender(
    path: str | Path, state: State, arrays: Mapping[str, np.ndarray]
) -> Contender | None:
    """The contender of a checkpoint, where a policy was evaluated since the last test."""
    if f"{CONTENDER}/env_steps" not in arrays:
        return None
    return Contender(
        refilled(path, state, arrays, _CONTENDERS_NETWORKS),
        env_steps=int(arrays[f"{CONTENDER}/env_steps"]),
        best=float(arrays[f"{CONTENDER}/best"]),
        margin=float(arrays[f"{CONTENDER}/margin"]),
    )
