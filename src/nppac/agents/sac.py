"""SAC (Haarnoja et al., 2018): the KL actor-critic with the uniform reference, without demos."""

from dataclasses import replace
from typing import cast

from nppac.agents.common.paper_settings import paper_recipe, reduced, without_reference
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import Method, Preset, Recipe, register_method


def sac_recipe(task: str, preset: Preset) -> Recipe:
    """N-PPAC's networks and budget, with the temperature tuned from 1."""
    agent = cast(KLActorCritic, paper_recipe(task).agent)
    recipe = without_reference(task, replace(agent, temperature=1.0, tune_temperature=True))
    return recipe if preset == "paper" else reduced(recipe)


register_method(
    Method(
        name="sac",
        agent=KLActorCritic,
        regulariser="none",
        needs="nothing",
        reference="uniform",
        summary="Soft actor-critic, without demonstrations.",
        recipe=sac_recipe,
    )
)
