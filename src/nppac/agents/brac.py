"""BRAC (Wu et al., 2019) as the paper has it: N-PPAC with a cloned network as its reference."""

from dataclasses import replace
from typing import cast

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.nppac import nppac_recipe
from nppac.agents.registry import Method, Preset, Recipe, register_method


def brac_recipe(task: str, preset: Preset) -> Recipe:
    """N-PPAC's settings with a network reference, and the KL from four samples."""
    nppac = nppac_recipe(task, preset)
    agent = replace(cast(KLActorCritic, nppac.agent), kl="sample", kl_samples=4)
    return replace(nppac, agent=agent, reference="network-entropy")


register_method(
    Method(
        name="brac",
        agent=KLActorCritic,
        regulariser="explicit KL",
        needs="actions",
        reference="network-entropy",
        summary="N-PPAC with a cloned network.",
        recipe=brac_recipe,
    )
)
