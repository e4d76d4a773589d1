"""A reference from what a user wrote: fitted by its name, imported, or read from a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.references.custom import (
    CustomReference,
    custom_config,
    custom_config_class,
    fit_custom,
)
from nppac.references.files import read_reference_file
from nppac.references.fit_cache import fit_key, kept_fit
from nppac.references.gp.config import GPConfig
from nppac.references.mixed import PREFIX, MixedReference, mixed_kinds
from nppac.references.neural.config import NetworkConfig
from nppac.references.registry import (
    REFERENCES,
    FitSettings,
    ReferenceKind,
    get_kind,
    reference_from_arrays,
)
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.progress import Advance, after, progress_bar, silent
from nppac.utils.settings import plain_settings


def fit_named_reference(
    name: str,
    obs: np.ndarray,
    actions: np.ndarray,
    *,
    seed: int = 0,
    advance: Advance = silent,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
) -> Reference:
    """Fit the named reference to observations (N, o) and actions (N, d).

    `seed` is that of settings whose own is left at 0; `custom` holds the settings of a reference of
    the user's own. `advance` counts to `fit_steps(name, gp, network, custom)`.
    """
    settings = _settings(gp, network, seed)
    if _is_custom(name):
        own = custom_config(name, custom)
        if own is None:
            return CustomReference.named(name)
        return fit_custom(name, own, obs, actions, advance)
    if not name.startswith(PREFIX):
        return get_kind(name).fit(obs, actions, settings, advance)
    mean, scale = mixed_kinds(name)
    first = mean.fit(obs, actions, settings, advance)
    rest = after(mean.steps(settings), advance)
    return MixedReference(first, scale.fit(obs, actions, settings, rest))


def fit_steps(
    name: str,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
) -> int:
    """What `advance` counts to while the named reference is fitted; 0 where nothing is."""
    if _is_custom(name):
        own = custom_config(name, custom)
        return 0 if own is None else own.steps
    settings = _settings(gp, network, 0)
    return sum(kind.steps(settings) for kind in _kinds(name))


def fitted_reference(
    name: str,
    obs: np.ndarray,
    actions: np.ndarray,
    *,
    seed: int = 0,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
    custom: object | None = None,
    refit: bool = False,
) -> Reference:
    """`fit_named_reference` with a progress bar, unless the same fit is still in the cache.

    `refit` fits it again. A reference of the user's own is always fitted: its code may change.
    """
    steps = fit_steps(name, gp, network, custom)

    def fit() -> Reference:
        with progress_bar(f"Fitting {name}", steps, at_most=True) as advance:
            how = {"gp": gp, "network": network, "custom": custom}
            return fit_named_reference(name, obs, actions, seed=seed, advance=advance, **how)

    if _is_custom(name) or not steps:
        return fit()
    settings = _settings(gp, network, seed)._asdict()
    used = {part for kind in _kinds(name) for part in kind.uses}
    plain = {part: plain_settings(settings[part]) for part in sorted(used)}
    return kept_fit(fit_key(name, plain, obs, actions), fit, load_reference, refit=refit)


def given_reference(name: str) -> Reference | None:
    """The file or the function of that name; None if it is a reference that must be fitted."""
    if name in REFERENCES:
        return None
    if name.startswith(PREFIX):
        mixed_kinds(name)  # complains about what a mixture cannot be made of
        return None
    if Path(name).is_file():
        return load_reference(name)
    if ":" in name:
        return None if custom_config_class(name) else CustomReference.named(name)
    if Path(name).suffix or "/" in name:
        raise UserError(f"There is no reference file {name}. `nppac fit` writes one.")
    raise UserError(
        f"{unknown_name('reference', name, REFERENCES)} Or give mixed:MEAN+SCALE, your own "
        "module:function, or the file of a saved one."
    )


def load_reference(path: str | Path, trusted: str | None = None) -> Reference:
    """Read the reference that `Reference.save` wrote to `path`.

    Where it is a user's own, its module is imported only if the caller names it as `trusted`.
    """
    arrays = read_reference_file(path)
    try:
        if str(arrays["kind"]) == CustomReference.kind:
            return CustomReference.from_arrays(arrays, trusted)
        return reference_from_arrays(arrays)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} does not hold a complete reference ({error}). Fit it again."
        ) from error


def _settings(gp: GPConfig | None, network: NetworkConfig | None, seed: int) -> FitSettings:
    gp, network = gp or GPConfig(), network or NetworkConfig()
    return FitSettings(
        replace(gp, seed=gp.seed or seed), replace(network, seed=network.seed or seed)
    )


def _kinds(name: str) -> tuple[ReferenceKind, ...]:
    return mixed_kinds(name) if name.startswith(PREFIX) else (get_kind(name),)


def _is_custom(name: str) -> bool:
    return ":" in name and not name.startswith(PREFIX)
