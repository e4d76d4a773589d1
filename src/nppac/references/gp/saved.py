"""The parts of a GP's file, each checked before anything is computed from it."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from jaxtyping import Float

from nppac.references.checks import SavedArrays, damaged, saved_json, saved_numbers
from nppac.references.gp.config import migrate_gp_settings
from nppac.references.gp.kernels import GPParams

Report = Mapping[str, float | Mapping[str, float]]
"""What a fit tells about itself: numbers, or numbers by kernel."""
_FURTHEST = 1e50
"""Most lengthscales between an observation and zero: squares must stay representable."""
_LARGEST = 1e300
"""Numbers of a report stay below this; a JSON integer may be of any size."""


def saved_params(arrays: SavedArrays, obs: Float[np.ndarray, "n o"], d: int) -> GPParams:
    """The hyper-parameters for d actions, which must suit the observations; or a refusal."""
    shapes = {"lengthscales": (obs.shape[1],), "shared_noise": ()}
    params = GPParams(
        *(saved_numbers(arrays, f"params_{n}", shapes.get(n, (d,))) for n in GPParams._fields)
    )
    for name in ("lengthscales", "noise"):
        if not (getattr(params, name) > 0).all():
            raise damaged(f"params_{name}", "has entries that are not positive")
    for name in ("v", "shared_noise"):
        if (getattr(params, name) < 0).any():
            raise damaged(f"params_{name}", "is negative")
    with np.errstate(all="ignore"):
        if not np.abs(obs / params.lengthscales).max() < _FURTHEST:
            raise damaged("params_lengthscales", "is too small for the observations")
        if not np.isfinite(params.whitened).all():
            raise damaged("params_w", "or params_v is too large for the noise")
    return params


def saved_report(arrays: SavedArrays) -> Report:
    """What the fit told about itself, if it is finite numbers."""
    report = migrate_gp_settings(saved_json(arrays, "report"))
    for value in report.values():
        parts = value.values() if isinstance(value, dict) else [value]
        if not all(isinstance(part, int | float) and abs(part) < _LARGEST for part in parts):
            raise damaged("report", "holds something else than finite numbers")
    return cast(Report, report)
