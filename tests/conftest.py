"""Shapes are checked at run time in every test: jaxtyping's annotations by beartype."""

from jaxtyping import install_import_hook

install_import_hook(
    [
        "nppac.nn.distributions",
        "nppac.nn.mlp",
        "nppac.nn.policies",
        "nppac.nn.critics",
        "nppac.agents.replay",
        "nppac.training.updates",
        "nppac.agents.common.losses",
        "nppac.agents.common.actor_critic",
        "nppac.agents.kl_actor_critic",
        "nppac.agents.nppac_anchored",
        "nppac.agents.awac",
        "nppac.agents.common.sampling",
        "nppac.agents.common.cvae",
        "nppac.agents.bear",
        "nppac.agents.abm",
        "nppac.agents.common.natural_gradient",
        "nppac.agents.common.episodic",
        "nppac.agents.awr",
        "nppac.agents.dapg",
    ],
    "beartype.beartype",
)
