"""The pathology: variance off the data, and the KL and gradients that an online policy meets."""

from nppac.diagnostics.calibration import Calibration
from nppac.diagnostics.diagnose import diagnose_reference
from nppac.diagnostics.online import OnlinePolicy
from nppac.diagnostics.probes import rollout_states
from nppac.diagnostics.query import BrokenReference
from nppac.diagnostics.result import Diagnosis, Evidence
from nppac.diagnostics.verdict import EXIT_CODES, Thresholds, Verdict

__all__ = [
    "EXIT_CODES",
    "BrokenReference",
    "Calibration",
    "Diagnosis",
    "Evidence",
    "OnlinePolicy",
    "Thresholds",
    "Verdict",
    "diagnose_reference",
    "rollout_states",
]
