"""The GP's scale, with the mean that predicts unseen demonstrations better: its own or networks'.

A GP's variance grows off the data, whatever its mean is worth. Which mean acts better depends on
the task. The squared error on steps that neither has seen tells in advance.
"""

import sys
from dataclasses import replace

import numpy as np

from nppac.references.base import Reference
from nppac.references.checks import check_fit_data
from nppac.references.mixed import MixedReference
from nppac.references.registry import FitSettings, ReferenceKind, get_kind, register_reference
from nppac.utils.progress import Advance, after, silent

MEANS = ("gp", "ensemble")
"""The references whose means compete."""
HELD_OUT = 5
"""The last of so many parts of the steps is kept from the fits that are compared. Steps are in the
order of the demonstrations, so that these are whole demonstrations but for one."""
TRIAL_MEMBERS = 5
"""Networks of the ensemble that competes: on HalfCheetah five act as well as fifteen."""


def fit_auto(
    obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance = silent
) -> Reference:
    """The GP, or its scale with an ensemble's mean, fitted to all demonstrations."""
    obs, actions = check_fit_data(obs, actions)
    errors = heldout_errors(obs, actions, settings, advance)
    told = ", ".join(f"{error:.3g} by {name}" for name, error in errors.items())
    print(f"Variance of unseen actions that is left unexplained: {told}.", file=sys.stderr)
    gp, ensemble = (get_kind(name) for name in MEANS)
    done = _steps(settings)
    scale = gp.fit(obs, actions, settings, after(done, advance, gp.name))
    rest = after(done + gp.steps(settings), advance, ensemble.name)
    if errors[gp.name] <= errors[ensemble.name]:
        rest(ensemble.steps(settings), "not needed")
        return scale
    return MixedReference(ensemble.fit(obs, actions, settings, rest), scale)


def heldout_errors(
    obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance = silent
) -> dict[str, float]:
    """Squared error of each mean on the last steps, over the actions' variance in all of them."""
    held_out = -(-len(obs) // HELD_OUT)
    seen, unseen = slice(None, -held_out), slice(-held_out, None)
    few = replace(settings.network, members=min(settings.network.members, TRIAL_MEMBERS))
    trial, errors, done = settings._replace(network=few), {}, 0
    spread = max(float(np.mean(np.var(actions, 0))), np.finfo(float).tiny)
    for name in MEANS:
        kind, part = get_kind(name), after(done, advance, f"{name} on four fifths")
        mean = kind.fit(obs[seen], actions[seen], trial, part).mean(obs[unseen])
        errors[name] = float(np.mean((mean - actions[unseen]) ** 2)) / spread
        done += kind.steps(settings)
    return errors


def _steps(settings: FitSettings) -> int:
    return sum(get_kind(name).steps(settings) for name in MEANS)


register_reference(
    ReferenceKind(
        "auto",
        "The GP's scale, with the mean that predicts better: its own or an ensemble's.",
        fit_auto,
        lambda settings: 2 * _steps(settings),
    )
)
