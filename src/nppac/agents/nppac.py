"""N-PPAC, the paper's method: an actor-critic with a KL penalty to a Gaussian process posterior."""

from dataclasses import replace
from typing import cast

from nppac.agents.common.paper_settings import is_dexterous, paper_recipe, scheduled
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.registry import Method, Preset, Recipe, register_method


def nppac_recipe(task: str, preset: Preset) -> Recipe:
    """The paper's settings, or by default small minibatches and the KL in closed form.

    The closed form keeps what the reference knows; with the paper's one-sample estimate the policy
    loses and regains it repeatedly. Measurements: docs/decisions.md.
    """
    paper = paper_recipe(task)
    if preset == "paper":
        return paper
    recipe = scheduled(paper, steps=50_000, batch_size=256)
    agent = replace(cast(KLActorCritic, paper.agent), kl="closed")
    if is_dexterous(task):
        return replace(recipe, agent=agent)
    # Measured on HalfCheetah, where less of any of these loses what the pretrained policy can do.
    # With rewards of about 10 per step the slopes of the critics exceed the KL's at the paper's
    # temperature, and a policy that explores with the reference's own noise falls.
    agent = replace(agent, head="normal", temperature=30.0, exploration_noise=0.3)
    recipe = scheduled(recipe, pretrain_copies=4, pretrain_epochs=60)
    return replace(recipe, agent=agent, gp=replace(paper.gp, kernel="auto"))


register_method(
    Method(
        name="nppac",
        agent=KLActorCritic,
        regulariser="explicit KL",
        needs="actions",
        reference="gp",
        summary="The paper's method: KL to a GP posterior.",
        recipe=nppac_recipe,
    )
)
