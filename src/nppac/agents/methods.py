"""Every method by its name: its agent, what regularises it, and what it needs of demonstrations."""

from typing import Literal, NamedTuple

from nppac.agents.abm import ABM
from nppac.agents.awac import AWAC
from nppac.agents.awr import AWR
from nppac.agents.bear import BEAR
from nppac.agents.dapg import DAPG
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.nppac_anchored import Anchored
from nppac.agents.sac_bc import SACBC
from nppac.utils.errors import unknown_name

Needs = Literal["nothing", "actions", "rewards", "episodes"]
"""Of demonstrations: nothing, states and actions, rewards too, or whole episodes with rewards."""


class Method(NamedTuple):
    """A method of the catalogue."""

    agent: type
    family: str
    needs: Needs
    reference: str
    summary: str


METHODS: dict[str, Method] = {
    "nppac": Method(
        KLActorCritic, "explicit KL", "actions", "gp", "The paper's method: KL to a GP posterior."
    ),
    "nppac-anchored": Method(
        Anchored, "explicit KL", "actions", "gp", "A learned correction to the GP posterior."
    ),
    "brac": Method(
        KLActorCritic,
        "explicit KL",
        "actions",
        "network-entropy",
        "The same with a cloned network.",
    ),
    "sac": Method(
        KLActorCritic, "none", "nothing", "uniform", "Soft actor-critic, without demonstrations."
    ),
    "sacfd": Method(
        KLActorCritic, "none", "rewards", "uniform", "SAC with demonstrations in its replay."
    ),
    "sac-bc": Method(
        SACBC, "other divergence", "rewards", "uniform", "SAC with a behaviour-cloning loss."
    ),
    "rlpd": Method(
        KLActorCritic, "none", "rewards", "uniform", "SAC, ten critics, half of each batch demos."
    ),
    "awac": Method(AWAC, "implicit KL", "rewards", "uniform", "Advantage-weighted actor-critic."),
    "bear": Method(
        BEAR, "other divergence", "rewards", "uniform", "Stays in a learned behaviour's support."
    ),
    "abm": Method(
        ABM, "implicit KL", "episodes", "uniform", "MPO from a prior that imitates what went well."
    ),
    "awr": Method(
        AWR, "implicit KL", "episodes", "uniform", "Advantage-weighted regression on episodes."
    ),
    "dapg": Method(
        DAPG, "other divergence", "actions", "uniform", "Natural policy gradient plus cloning."
    ),
}


def get_method(name: str) -> Method:
    """The method of this name."""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name]
