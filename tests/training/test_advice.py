from nppac.agents.anchored_actor_critic import Anchored
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.sac_bc import SACBC
from nppac.training.advice import (
    lasting_warnings,
    penalty_warning,
    pessimism_warning,
    policy_waits,
    stillness_warning,
    waiting_note,
)


def test_a_penalty_that_outweighs_the_reward_is_told_of():
    agent = KLActorCritic(temperature=30.0)
    row = {"penalty_per_step": 15.0, "reward_per_step": 11.0}
    assert "15 a step, outweighs the reward, 11 a step" in (penalty_warning(agent, row) or "")
    assert penalty_warning(agent, {**row, "penalty_per_step": -3.0}) is None
    assert penalty_warning(KLActorCritic(backup_kl=False), row) is None
    assert penalty_warning(SACBC(), row) is None  # an entropy bonus, not a reference's KL
    assert penalty_warning(agent, {"reward_per_step": 11.0}) is None  # no update yet


def test_critics_far_below_the_returns_are_told_of():
    agent = KLActorCritic(backup_kl=False)
    row = {"value_bias": -500.0, "value_return": 1_100.0}
    assert "500 below the returns, which are 1.1e+03" in (pessimism_warning(agent, row) or "")
    assert pessimism_warning(agent, {**row, "value_bias": -300.0}) is None
    assert pessimism_warning(KLActorCritic(backup_kl=False, num_min_qs=1), row) is None
    assert pessimism_warning(KLActorCritic(), row) is None  # the target holds the penalty
    assert pessimism_warning(agent, {"value_bias": None}) is None  # no new episode


def test_a_run_warns_of_critics_that_stay_below_the_returns():
    agent, row = KLActorCritic(backup_kl=False), {"value_bias": -5.0, "value_return": 10.0}
    told = [[w(agent, row) for w in watched] for watched in [lasting_warnings()] for _ in range(40)]
    assert [epoch for epoch, texts in enumerate(told) if any(texts)] == [19]


def test_a_policy_that_stayed_at_its_reference_is_told_of():
    assert "hardly moved from its reference (KL 2e-07)" in (
        stillness_warning(Anchored(), {"kl": 2e-7}) or ""
    )
    assert stillness_warning(Anchored(), {"kl": 0.1}) is None
    assert stillness_warning(KLActorCritic(), {"kl": 0.0}) is None


def test_the_screen_says_why_nothing_changes_yet():
    agent = Anchored(critic_warmup_updates=4_000)
    assert waiting_note(agent, 0) == "collecting first data"
    assert waiting_note(agent, 100) == "critics warm up, policy waits until update 4,000"
    assert waiting_note(agent, 4_000) == waiting_note(KLActorCritic(), 0) == ""


def test_a_policy_has_moved_after_the_first_update_beyond_the_wait():
    agent = Anchored(critic_warmup_updates=4_000)
    assert policy_waits(agent, 4_000)
    assert not policy_waits(agent, 4_001)
    assert not policy_waits(KLActorCritic(), 0)
