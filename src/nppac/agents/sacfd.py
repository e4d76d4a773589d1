"""SACfD: SAC with the demonstrations in its replay (after Vecerik et al., 2017)."""

from nppac.agents.common.paper_settings import scheduled
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import Method, Preset, Recipe, register_method
from nppac.agents.sac import sac_recipe


def sacfd_recipe(task: str, preset: Preset) -> Recipe:
    """SAC's settings, with the demonstrations in the replay from the start."""
    return scheduled(sac_recipe(task, preset), demos_in_replay=True)


register_method(
    Method(
        name="sacfd",
        agent=KLActorCritic,
        regulariser="none",
        needs="rewards",
        reference="uniform",
        summary="SAC with demonstrations in its replay.",
        recipe=sacfd_recipe,
    )
)
