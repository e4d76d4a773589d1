"""Shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

from jaxtyping import install_import_hook

install_import_hook(
    [
        "nppac.distributions",
        "nppac.networks",
        "nppac.replay",
        "nppac.updates",
        "nppac.agents.losses",
        "nppac.agents.kl_actor_critic",
        "nppac.agents.steps",
        "nppac.agents.cvae",
        "nppac.agents.bear",
        "nppac.agents.abm",
    ],
    "beartype.beartype",
)
