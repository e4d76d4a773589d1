"""Every reference policy by its name, and how to fit it to demonstrations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nppac.references.base import Reference
from nppac.references.checks import check_fit_data
from nppac.references.custom import CustomReference
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.gp.config import GPConfig
from nppac.references.gp.fit import fit_gp
from nppac.references.mixed import NO_SCALE, MixedReference
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.dropout import fit_dropout
from nppac.references.neural.ensemble import WEIGHT_DECAY, fit_ensemble
from nppac.references.neural.network import fit_network
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.progress import Advance, after, silent

CONSTANT_VARIANCES = {"constant": 1e-2, "constant-0.005": 5e-3, "constant-0.001": 1e-3}
TIKHONOV = 1e-3
_MIXED = "mixed:"


class Settings(NamedTuple):
    """The settings of both kinds of fit; a reference takes what it needs."""

    gp: GPConfig
    network: NetworkConfig


Fit = Callable[[np.ndarray, np.ndarray, Settings, Advance], Reference]
Steps = Callable[[Settings], int]


class Entry(NamedTuple):
    """A reference of the catalogue; its fit counts its progress up to `steps`."""

    description: str
    fit: Fit
    steps: Steps


def _gp(description: str, finish: Callable[[Reference], Reference] = lambda gp: gp) -> Entry:
    def fit(obs: np.ndarray, actions: np.ndarray, settings: Settings, advance: Advance):
        return finish(fit_gp(obs, actions, settings.gp, advance))

    return Entry(description, fit, lambda settings: settings.gp.total_steps)


def _network(
    description: str, fitter: Callable[..., Reference] = fit_network, **defaults: Any
) -> Entry:
    """A network whose settings are `defaults` where the user's own are left at nothing."""

    def fit(obs: np.ndarray, actions: np.ndarray, settings: Settings, advance: Advance):
        unset = {k: v for k, v in defaults.items() if getattr(settings.network, k) in (0, "normal")}
        return fitter(obs, actions, replace(settings.network, **unset), advance=advance)

    return Entry(description, fit, lambda settings: settings.network.max_epochs)


def _uniform(description: str) -> Entry:
    def fit(obs: np.ndarray, actions: np.ndarray, settings: Settings, advance: Advance):
        return UniformReference(check_fit_data(obs, actions)[1].shape[1])

    return Entry(description, fit, lambda settings: 0)


def _constant(variance: float) -> Entry:
    def finish(gp: Reference) -> Reference:
        return ConstantVarianceReference(gp, variance)

    return _gp(f"Mean of the GP with variance {variance:g} everywhere.", finish)


REFERENCES: dict[str, Entry] = {
    "gp": _gp("Gaussian process: its variance grows away from the data."),
    "network": _network("Gaussian network by maximum likelihood."),
    "network-entropy": _network(
        "Gaussian network with an entropy bonus, by default tuned.", entropy_bonus="tuned"
    ),
    "network-tikhonov": _network(
        "Gaussian network with its squared parameters penalised.", tikhonov=TIKHONOV
    ),
    "laplace": _network("Network with a Laplace density.", family="laplace"),
    "ensemble": _network("Deep ensemble of 15 networks.", fit_ensemble, tikhonov=WEIGHT_DECAY / 2),
    "dropout": _network("Network with dropout, 20 passes.", fit_dropout, tikhonov=WEIGHT_DECAY / 2),
    **{name: _constant(variance) for name, variance in CONSTANT_VARIANCES.items()},
    "uniform": _uniform("Uniform over the action box, as in maximum-entropy learning."),
}
"""Beside these, `mixed:MEAN+SCALE` joins two of them and `module:function` is the user's own."""


def fit_reference(
    name: str,
    obs: np.ndarray,
    actions: np.ndarray,
    *,
    seed: int = 0,
    advance: Advance = silent,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
) -> Reference:
    """Fit the named reference to observations (N, o) and actions (N, d).

    `seed` is that of settings whose own is left at 0; `advance` counts to
    `fit_steps(name, gp, network)`.
    """
    settings = _settings(gp, network, seed)
    if _is_custom(name):
        return CustomReference.named(name)
    done, fitted = 0, []
    for entry in entries_of(name):
        fitted.append(entry.fit(obs, actions, settings, after(done, advance)))
        done += entry.steps(settings)
    return MixedReference(*fitted) if name.startswith(_MIXED) else fitted[0]


def fit_steps(name: str, gp: GPConfig | None = None, network: NetworkConfig | None = None) -> int:
    """What `advance` counts to while the named reference is fitted; 0 where nothing is."""
    settings = _settings(gp, network, 0)
    return 0 if _is_custom(name) else sum(entry.steps(settings) for entry in entries_of(name))


def _settings(gp: GPConfig | None, network: NetworkConfig | None, seed: int) -> Settings:
    gp, network = gp or GPConfig(), network or NetworkConfig()
    return Settings(replace(gp, seed=gp.seed or seed), replace(network, seed=network.seed or seed))


def _is_custom(name: str) -> bool:
    return ":" in name and not name.startswith(_MIXED)


def entries_of(name: str) -> list[Entry]:
    """The one entry of a plain name, or mean and scale of a mixed one."""
    names = name.removeprefix(_MIXED).split("+") if name.startswith(_MIXED) else [name]
    if name.startswith(_MIXED) and len(names) != 2:
        raise UserError(f"'{name}' does not name two references. Write mixed:MEAN+SCALE.")
    for one in names:
        if one not in REFERENCES:
            raise unknown_name("reference", one, REFERENCES)
    if name.startswith(_MIXED) and names[1] == "uniform":
        raise UserError(NO_SCALE)
    return [REFERENCES[one] for one in names]
