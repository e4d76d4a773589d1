"""Reads the arrays of a saved GP; whatever is damaged is refused by its name."""

import json
from collections.abc import Mapping
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float

from nppac.references.gp.config import GPConfig, migrate_gp_settings
from nppac.references.gp.kernels import KernelName, kernel_function
from nppac.references.gp.likelihood import GPParams
from nppac.utils.errors import UserError
from nppac.utils.settings import read_settings

_Arrays = Mapping[str, np.ndarray]
Report = Mapping[str, float | Mapping[str, float]]
"""What a fit tells about itself: numbers, or numbers by kernel."""

_FURTHEST = 1e50
"""Most lengthscales between an observation and zero: squares must stay representable."""

_LARGEST = 1e300
"""Numbers of a report stay below this; a JSON integer may be of any size."""


class SavedGP(NamedTuple):
    """All that makes a `GPReference`, in its order."""

    params: GPParams
    kernel: KernelName
    obs: Float[np.ndarray, "n o"]
    actions: Float[np.ndarray, "n d"]
    weights: Float[np.ndarray, "n d"]
    config: GPConfig
    report: Report


def read_saved(arrays: _Arrays) -> SavedGP:
    """What `GPReference.arrays` described, or a `UserError` that names the array."""
    obs, actions = _matrix(arrays, "obs"), _matrix(arrays, "actions")
    _check_shape("actions", actions, (len(obs), actions.shape[1]))
    weights = _matrix(arrays, "weights")
    _check_shape("weights", weights, actions.shape)
    params = _params(arrays, obs, actions.shape[1])
    config = read_settings(GPConfig, migrate_gp_settings(_json(arrays, "config")), "config")
    report = migrate_gp_settings(_json(arrays, "report"))
    if not all(map(_is_report, report.values())):
        raise _damaged("report", "holds something else than finite numbers")
    kernel = _text(arrays, "kernel")
    kernel_function(kernel)  # refuses an unknown name
    return SavedGP(
        params,
        cast(KernelName, kernel),
        obs,
        actions,
        weights,
        config,
        cast(Report, report),
    )


def _params(arrays: _Arrays, obs: Float[np.ndarray, "n o"], d: int) -> GPParams:
    params = GPParams(*(_numbers(arrays, f"params_{name}") for name in GPParams._fields))
    for name, value in params._asdict().items():
        size = {"lengthscales": (obs.shape[1],), "shared_noise": ()}.get(name, (d,))
        _check_shape(f"params_{name}", value, size)
    for name, positive in (("lengthscales", True), ("noise", True), ("v", False)):
        value = getattr(params, name)
        if not (value > 0 if positive else value >= 0).all():
            raise _damaged(f"params_{name}", "has entries that are not positive")
    if params.shared_noise < 0:
        raise _damaged("params_shared_noise", "is negative")
    with np.errstate(all="ignore"):
        if not np.abs(obs / params.lengthscales).max() < _FURTHEST:
            raise _damaged("params_lengthscales", "is too small for the observations")
        if not np.isfinite(params.whitened).all():
            raise _damaged("params_w", "or params_v is too large for the noise")
    return params


def _matrix(arrays: _Arrays, name: str) -> Float[np.ndarray, "n columns"]:
    value = _numbers(arrays, name)
    if value.ndim != 2 or value.size == 0:
        raise _damaged(name, f"has shape {value.shape}, expected one row per point")
    return value


def _numbers(arrays: _Arrays, name: str) -> Float[np.ndarray, "..."]:
    value = _array(arrays, name)
    if value.dtype.kind != "f":
        raise _damaged(name, f"holds {value.dtype}, expected floating-point numbers")
    value = np.asarray(value, np.float64)
    if not np.isfinite(value).all():
        raise _damaged(name, "has entries that are not finite")
    return value


def _check_shape(name: str, value: np.ndarray, shape: tuple[int, ...]) -> None:
    if value.shape != shape:
        raise _damaged(name, f"has shape {value.shape}, expected {shape}")


def _json(arrays: _Arrays, name: str) -> dict[str, object]:
    try:
        value = json.loads(_text(arrays, name))
    except (ValueError, RecursionError) as error:
        raise _damaged(name, "is not JSON") from error
    if not isinstance(value, dict):
        raise _damaged(name, "is not a JSON object")
    return value


def _text(arrays: _Arrays, name: str) -> str:
    value = _array(arrays, name)
    if value.dtype.kind != "U" or value.shape != ():
        raise _damaged(name, "is not a text")
    return str(value)


def _array(arrays: _Arrays, name: str) -> np.ndarray:
    if name not in arrays:
        raise _damaged(name, "is missing")
    return arrays[name]


def _is_report(value: object) -> bool:
    parts = value.values() if isinstance(value, dict) else [value]
    return all(isinstance(part, int | float) and abs(part) < _LARGEST for part in parts)


def _damaged(name: str, what: str) -> UserError:
    return UserError(f"The saved Gaussian process is damaged: '{name}' {what}. Fit it again.")
