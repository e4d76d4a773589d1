"""Methods: each file holds one, with its agent, its settings and its registration.

Importing the package registers them, in the order in which `nppac methods` lists them.
"""

from nppac.agents import nppac, nppac_anchored, brac  # isort: skip
from nppac.agents import sac, sacfd, sac_bc, rlpd  # isort: skip
from nppac.agents import awac, bear, abm, awr, dapg  # isort: skip

__all__ = [
    "abm",
    "awac",
    "awr",
    "bear",
    "brac",
    "dapg",
    "nppac",
    "nppac_anchored",
    "rlpd",
    "sac",
    "sac_bc",
    "sacfd",
]
