"""Reference policies π0: frozen, and known by their location and scale at a state.

Every file that defines a reference registers it; importing this package imports them all, in the
order in which `nppac references` lists them.
"""

# isort: off
from nppac.references.base import Reference
from nppac.references.gp.config import GPConfig
from nppac.references.gp.fit import fit_gp
from nppac.references.gp.kernels import GPParams
from nppac.references.gp.posterior import GPReference, condition
from nppac.references.neural.config import NetworkConfig, migrate_network_settings
from nppac.references.neural.network import NetworkReference, fit_network
from nppac.references.neural.ensemble import EnsembleReference, fit_ensemble
from nppac.references.neural.dropout import DropoutReference, fit_dropout
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.mixed import MixedReference
from nppac.references.auto import fit_auto, heldout_errors
from nppac.references.checks import checked_answer
from nppac.references.custom import CustomReference, ReferenceConfig, custom_config_class
from nppac.references.fitting import (
    fit_named_reference,
    fit_steps,
    fitted_reference,
    given_reference,
    load_reference,
)
from nppac.references.registry import (
    REFERENCES,
    ReferenceKind,
    register_loader,
    register_reference,
)
# isort: on

__all__ = [
    "REFERENCES",
    "ConstantVarianceReference",
    "CustomReference",
    "DropoutReference",
    "EnsembleReference",
    "GPConfig",
    "GPParams",
    "GPReference",
    "MixedReference",
    "NetworkConfig",
    "NetworkReference",
    "Reference",
    "ReferenceConfig",
    "ReferenceKind",
    "UniformReference",
    "checked_answer",
    "condition",
    "custom_config_class",
    "fit_auto",
    "fit_dropout",
    "fit_ensemble",
    "fit_gp",
    "fit_named_reference",
    "fit_network",
    "fit_steps",
    "fitted_reference",
    "given_reference",
    "heldout_errors",
    "load_reference",
    "migrate_network_settings",
    "register_loader",
    "register_reference",
]
