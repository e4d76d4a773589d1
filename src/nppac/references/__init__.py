"""Reference policies π0: frozen, and known by their location and scale at a state."""

from nppac.references.base import Reference
from nppac.references.fixed import ConstantVarianceReference, UniformReference
from nppac.references.gp import GPReference
from nppac.references.gp_condition import condition, fit_gp
from nppac.references.gp_config import GPConfig
from nppac.references.loading import load_reference
from nppac.references.marginal_likelihood import GPParams

__all__ = [
    "ConstantVarianceReference",
    "GPConfig",
    "GPParams",
    "GPReference",
    "Reference",
    "UniformReference",
    "condition",
    "fit_gp",
    "load_reference",
]
