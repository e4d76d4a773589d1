"""RLPD (Ball et al., 2023): SAC with ten critics, and demonstrations in half of every minibatch."""

from nppac.agents.common.paper_settings import (
    is_dexterous,
    reduced,
    scheduled,
    without_reference,
)
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import Method, Preset, Recipe, register_method

PAPER_UTD_RATIO = 20
SMALL_UTD_RATIO = 4
"""Critic steps per policy step that two cores can afford."""


def rlpd_recipe(task: str, preset: Preset) -> Recipe:
    """The authors' settings; by default with fewer critic steps."""
    dexterous = is_dexterous(task)
    hidden = (256, 256, 256) if dexterous else (256, 256)
    agent = KLActorCritic(
        policy_hidden=hidden,
        critic_hidden=hidden,
        num_qs=10,
        num_min_qs=2,
        policy_value="mean",
        layer_norm=True,
        temperature=1.0,
        tune_temperature=True,
        entropy_target=-0.5,
        backup_kl=not dexterous,
        utd_ratio=PAPER_UTD_RATIO if preset == "paper" else SMALL_UTD_RATIO,
        offline_ratio=0.5,
    )
    recipe = without_reference(task, agent)
    recipe = scheduled(recipe, random_steps=5_000, warmup_steps=5_000, batch_size=256)
    return recipe if preset == "paper" else reduced(recipe)


register_method(
    Method(
        name="rlpd",
        agent=KLActorCritic,
        regulariser="none",
        needs="rewards",
        reference="uniform",
        summary="SAC, ten critics, half of each batch demos.",
        recipe=rlpd_recipe,
    )
)
