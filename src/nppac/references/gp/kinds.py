"""The Gaussian process's name in the registry, and its kind of file."""

import numpy as np

from nppac.references.base import Reference
from nppac.references.gp.config import WORK
from nppac.references.gp.fit import fit_gp
from nppac.references.gp.posterior import GPReference
from nppac.references.registry import (
    FitSettings,
    ReferenceKind,
    register_loader,
    register_reference,
)
from nppac.utils.progress import Advance


def _fit(
    obs: np.ndarray, actions: np.ndarray, settings: FitSettings, advance: Advance
) -> Reference:
    return fit_gp(obs, actions, settings.gp, advance)


register_loader(GPReference)
register_reference(
    ReferenceKind(
        "gp",
        "Gaussian process: its variance grows away from the data.",
        _fit,
        lambda settings: WORK,
        ("gp",),
    )
)
