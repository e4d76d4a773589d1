"""N-PPAC, anchored: its policy is a learned correction to the Gaussian process posterior."""

from dataclasses import replace

from nppac.agents.anchored_actor_critic import Anchored
from nppac.agents.common.paper_settings import (
    paper_recipe,
    rewards_success,
    scheduled,
    with_acting_reference,
)
from nppac.agents.common.searching import LOST_RATIO
from nppac.agents.registry import Method, Preset, Recipe, register_method

RECIPE = Anchored(
    # Where σ0 is a small part of the box, critics of plain actions hardly tell them apart. With
    # residuals Walker2d keeps at a KL of 0.3 what it lost without them.
    critic_residuals=True,
    standardise_obs=True,
    # A policy that stays near its reference is nearly on-policy. With one step of reward
    # HalfCheetah and Walker2d learn more slowly, with five Ant does.
    n_step=3,
    num_qs=4,
    num_min_qs=2,
    policy_value="mean",
    utd_ratio=4,
    clip_actions=True,
    normalise_values=True,
    backup_kl=False,
    # A distance transfers between tasks, a weight does not. What held and improved was about 0.1
    # with one action and 0.2 with six to eight.
    tune_temperature=True,
    target_kl_per_root_action=0.1,
    temperature_in_q_units=True,
    temperature=0.05,
    temperature_learning_rate=1e-3,
    # What a fall looks like, and how near it is, shows only where the noise leads to falls.
    noise_ratio=1.0,
    # Where a fall ends no episode, the replay would fill with what comes after it. The GP knows
    # nothing there.
    lost_ratio=LOST_RATIO,
    max_lost_steps=25,
    min_unit_ratio=0.1,
    critic_warmup_updates=1_000,
    # The newest policy walks on through ones that fall now and then; their average falls less. It
    # may reach back the further, the slower the policy changes.
    policy_ema_updates=2_000,
    policy_ema_ratio=0.2,
)
"""One agent for every task; its units it computes from data."""

GROWING = replace(
    RECIPE,
    # Eight times that distance at once loses the walker: it falls before the critics know why. Let
    # go slowly, it runs faster than its demonstrator.
    target_kl_doubling_updates=10_000,
    # A distance that grows for 200,000 steps would be 21 times the first one, and hold nothing.
    target_kl_max_growth=5.0,
    # At 0.99 a fall costs the rewards of 100 steps, whatever it costs in truth: for 5 % of speed
    # a walker may fall once in 2,000 steps.
    discount=0.995,
)
"""Where the return is what counts: the distance grows, and more of what a fall costs is seen."""


def anchored_recipe(task: str, preset: Preset) -> Recipe:
    """One agent for every task, in both presets: the paper has no such method.

    Where success is the reward, the distance does not grow: the return is discounted, so further
    away the hand opens the door sooner and more rarely. The GP's variances are computed from
    neighbours, because acting queries it at every step.
    """
    paper = scheduled(
        paper_recipe(task), steps=50_000, batch_size=128, pretrain_epochs=0, challenges=1
    )
    recipe = with_acting_reference(task, paper)
    gp = replace(recipe.gp, variance="neighbours", neighbours=64)
    return replace(recipe, agent=RECIPE if rewards_success(task) else GROWING, gp=gp)


register_method(
    Method(
        name="nppac-anchored",
        agent=Anchored,
        regulariser="explicit KL",
        needs="actions",
        reference="gp",
        summary="A learned correction to the GP posterior.",
        recipe=anchored_recipe,
    )
)
