"""A reference from what a user wrote: fitted by its name, imported, or read from a file."""

from pathlib import Path

import numpy as np

from nppac.references.base import Reference
from nppac.references.catalogue import REFERENCES, entries_of, fit_reference, fit_steps
from nppac.references.custom import CustomReference
from nppac.references.gp.config import GPConfig
from nppac.references.loading import load_reference
from nppac.references.neural.config import NetworkConfig
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.progress import progress_bar


def given_reference(name: str) -> Reference | None:
    """The file or the function of that name; None if it is a reference that must be fitted."""
    if name in REFERENCES or name.startswith("mixed:"):
        entries_of(name)  # complains about what a mixture cannot be made of
        return None
    if Path(name).is_file():
        return load_reference(name)
    if ":" in name:
        return CustomReference.named(name)
    if Path(name).suffix or "/" in name:
        raise UserError(f"There is no reference file {name}. `nppac fit` writes one.")
    raise UserError(
        f"{unknown_name('reference', name, REFERENCES)} Or give mixed:MEAN+SCALE, your own "
        "module:function, or the file of a saved one."
    )


def fitted_reference(
    name: str,
    obs: np.ndarray,
    actions: np.ndarray,
    *,
    seed: int = 0,
    gp: GPConfig | None = None,
    network: NetworkConfig | None = None,
) -> Reference:
    """`fit_reference` with a progress bar."""
    settings = {"seed": seed, "gp": gp, "network": network}
    with progress_bar(f"Fitting {name}", fit_steps(name, gp, network)) as advance:
        return fit_reference(name, obs, actions, advance=advance, **settings)
