"""Reference policies π0: frozen, and known by their location and scale at a state."""

from nppac.references.base import Reference
from nppac.references.catalogue import REFERENCES, fit_reference, fit_steps
from nppac.references.checks import checked_answer
from nppac.references.custom import CustomReference
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.gp.config import GPConfig
from nppac.references.gp.fit import fit_gp
from nppac.references.gp.likelihood import GPParams
from nppac.references.gp.posterior import GPReference, condition
from nppac.references.loading import load_reference
from nppac.references.mixed import MixedReference
from nppac.references.neural.config import NetworkConfig
from nppac.references.neural.dropout import DropoutReference, fit_dropout
from nppac.references.neural.ensemble import EnsembleReference, fit_ensemble
from nppac.references.neural.network import NetworkReference, fit_network
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
