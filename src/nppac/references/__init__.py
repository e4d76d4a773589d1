"""Reference policies π0: frozen, and known by their location and scale at a state."""

from nppac.references.base import Reference
from nppac.references.catalogue import REFERENCES, fit_reference, fit_steps
from nppac.references.checks import checked_answer
from nppac.references.custom import CustomReference
from nppac.references.dropout import DropoutReference, fit_dropout
from nppac.references.ensemble import EnsembleReference, fit_ensemble
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.gp import GPReference
from nppac.references.gp_condition import condition, fit_gp
from nppac.references.gp_config import GPConfig
from nppac.references.loading import load_reference
from nppac.references.marginal_likelihood import GPParams
from nppac.references.mixed import MixedReference
from nppac.references.network import NetworkReference, fit_network
from nppac.references.network_config import NetworkConfig
from nppac.references.obtain import fitted_reference, given_reference

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
    "UniformReference",
    "checked_answer",
    "condition",
    "fit_dropout",
    "fit_ensemble",
    "fit_gp",
    "fit_network",
    "fit_reference",
    "fit_steps",
    "fitted_reference",
    "given_reference",
    "load_reference",
]
