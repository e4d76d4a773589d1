"""Shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

from jaxtyping import install_import_hook

install_import_hook(
    [
        "nppac.distributions",
        "nppac.networks",
        "nppac.replay",
        "nppac.updates",
        "nppac.agents.losses",
        "nppac.agents.actor_critic",
        "nppac.agents.kl_actor_critic",
        "nppac.agents.anchored",
        "nppac.agents.awac",
        "nppac.agents.steps",
        "nppac.agents.cvae",
        "nppac.agents.bear",
        "nppac.agents.abm",
        "nppac.agents.natural_gradient",
        "nppac.agents.episodic",
        "nppac.agents.awr",
        "nppac.agents.dapg",
    ],
    "beartype.beartype",
)
