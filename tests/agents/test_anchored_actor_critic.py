from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from compiled import Compiled
from method_runs import stacked
from nppac.agents.anchored_actor_critic import Anchored
from nppac.types import Batch, ReferenceStats
from nppac.utils.errors import UserError

OBS_DIM, ACTION_DIM, ROWS = 3, 2, 8
KEY = jax.random.key(0)
AGENT = Compiled(Anchored(policy_hidden=(16,), critic_hidden=(16,)))
LOC = np.linspace(-0.5, 0.5, ROWS * ACTION_DIM, dtype=np.float32).reshape(ROWS, ACTION_DIM)
STATS = ReferenceStats(LOC, np.full((ROWS, ACTION_DIM), 0.2, np.float32))
OBS = np.random.default_rng(0).normal(size=(ROWS, OBS_DIM)).astype(np.float32)


def other_agent(**settings):
    return Compiled(replace(AGENT.agent, **settings))


def make_batch():
    return Batch(
        obs=OBS,
        action=LOC,
        reward=np.ones(ROWS, np.float32),
        next_obs=OBS + np.float32(0.1),
        discount_mask=np.ones(ROWS, np.float32),
        reference=STATS,
        next_reference=STATS,
        episode_end=np.zeros(ROWS, np.float32),
    )


def changed(before, after):
    leaves = zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True)
    return any(not np.array_equal(a, b) for a, b in leaves)


def test_the_fresh_policy_is_the_reference():
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    np.testing.assert_allclose(AGENT.mode(state, OBS, STATS), LOC, atol=0.01)
    still = other_agent(exploration_noise=0.0)
    np.testing.assert_array_equal(
        still.sample(state, OBS, STATS, KEY), AGENT.mode(state, OBS, STATS)
    )


def test_its_noise_is_a_share_of_the_references():
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    draw = jax.jit(jax.vmap(lambda key: AGENT.sample(state, OBS, STATS, key)))
    draws = draw(jax.random.split(KEY, 4000))
    np.testing.assert_allclose(draws.std(0), 0.5 * 0.2, rtol=0.1)


def test_a_correction_stays_within_reach():
    state = other_agent(max_correction=1.5).init(KEY, OBS_DIM, ACTION_DIM)
    policy = state.policy.condition_on(STATS)
    large = jax.tree.map(lambda weights: 1e5 * weights, policy.trunk)
    far = replace(policy, trunk=large).mode(OBS) - LOC
    np.testing.assert_allclose(jnp.abs(far), 1.5 * 0.2, rtol=1e-4)


def test_the_penalty_is_that_of_the_means():
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    trunk = jax.tree.map(lambda weights: 5.0 * weights, state.policy.trunk)
    policy = replace(state.policy, trunk=trunk)
    _, penalty = AGENT.act_with_log_ratio(policy, OBS, STATS, KEY, "normal")
    correction = policy.correction(OBS)
    np.testing.assert_allclose(penalty, 0.5 * jnp.sum(correction**2, axis=1), rtol=1e-4)


def test_a_relative_weight_makes_the_policys_step_the_same_for_any_unit_of_reward():
    q = jnp.array([-3.0, 1.0, 2.0, 4.0])
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    relative = other_agent(temperature_in_q_units=True)
    np.testing.assert_allclose(AGENT.weight(state, q), 0.5, rtol=1e-6)
    np.testing.assert_allclose(relative.weight(state, q), 0.5 * 2.5, rtol=1e-6)
    np.testing.assert_allclose(relative.weight(state, 100 * q), 0.5 * 250, rtol=1e-6)
    assert not jax.grad(lambda q: relative.weight(state, q))(q).any()  # a unit, not a term


def test_the_policy_waits_while_the_critics_learn():
    agent = other_agent(critic_warmup_updates=2)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    moved = []
    for _ in range(4):
        after, _ = agent.update(state, stacked(make_batch()), KEY, "normal")
        assert changed(state.critic, after.critic)
        moved.append(changed(state.policy, after.policy))
        state = after
    assert moved == [False, False, True, True]


def test_a_tuned_temperature_waits_too():
    agent = other_agent(critic_warmup_updates=2, tune_temperature=True, target_kl=1.0)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    temperatures = []
    for _ in range(4):
        state, info = agent.update(state, stacked(make_batch()), KEY, "normal")
        temperatures.append(float(info["temperature"]))
    assert temperatures[:2] == pytest.approx([0.5, 0.5])
    assert 0.5 > temperatures[2] > temperatures[3]


def test_it_searches_only_where_the_reference_is_lost():
    agent = other_agent(lost_scale=0.5)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    rng = np.random.default_rng(0)
    obs = rng.normal(size=(4000, OBS_DIM)).astype(np.float32)
    scale = np.tile(np.float32([0.2, 0.9]), (4000, 1))  # 0.55 on average
    scale[::2] = 0.4
    stats = ReferenceStats(np.zeros_like(scale), scale)
    found = np.asarray(agent.mode(state, obs, stats))
    moved = found - np.asarray(AGENT.mode(state, obs, stats))
    assert np.all(moved[::2] == 0.0)
    np.testing.assert_allclose(moved[1::2].std(0), [0.2, 0.9], rtol=0.1)
    np.testing.assert_array_equal(agent.mode(state, obs, stats), found)


def test_the_critics_choose_among_candidates():
    agent = other_agent(candidates=8)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    worst = jax.jit(lambda action: jnp.min(state.critic(OBS, action), axis=0))
    together = np.asarray(agent.mode(state, OBS, STATS))
    plain, chosen = map(np.asarray, map(worst, (AGENT.mode(state, OBS, STATS), together)))
    assert (chosen >= plain).all()
    assert (chosen > plain).any()
    rows = [slice(i, i + 1) for i in range(ROWS)]
    alone = [agent.mode(state, OBS[i], ReferenceStats(LOC[i], STATS.scale[i])) for i in rows]
    np.testing.assert_allclose(np.concatenate(alone), together, atol=1e-6)
    by_hand = agent.best(state, OBS, STATS, [LOC, LOC + np.float32(0.1)])
    here, there = (np.asarray(worst(LOC + np.float32(shift))) for shift in (0.0, 0.1))
    np.testing.assert_allclose(by_hand, LOC + 0.1 * (there > here)[:, None], atol=1e-6)


def test_the_evaluated_policy_is_an_average():
    agent = other_agent(policy_ema_updates=4)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    average = state.policy
    for _ in range(3):
        state, _ = agent.update(state, stacked(make_batch()), KEY, "normal")
        average = jax.tree.map(lambda old, new: 0.75 * old + 0.25 * new, average, state.policy)
    expected = AGENT.mode(state._replace(policy=average), OBS, STATS)
    np.testing.assert_allclose(agent.mode(state, OBS, STATS), expected, rtol=1e-5, atol=1e-6)
    assert changed(agent.mode(state, OBS, STATS), AGENT.mode(state, OBS, STATS))


def test_it_does_not_act_without_its_reference():
    state = AGENT.init(KEY, OBS_DIM, ACTION_DIM)
    with pytest.raises(ValueError, match="needs the reference"):
        AGENT.mode(state, OBS, None)


@pytest.mark.parametrize(
    "settings",
    [
        {"noise_ratio": 0.0},
        {"max_correction": -1.0},
        {"critic_warmup_updates": -1},
        {"n_step": 0},
        {"candidates": 0},
        {"policy_ema_updates": -1},
        {"policy_ema_ratio": 0.2},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(UserError, match=next(iter(settings))):
        Anchored(**settings)


def test_the_unit_of_corrections_does_not_vanish_with_the_demonstrators_noise():
    agent = other_agent(min_unit=0.05, max_correction=2.0)
    narrow = STATS._replace(scale=jnp.full_like(LOC, 1e-3))
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    large = jax.tree.map(lambda weights: 1e5 * weights, state.policy.trunk)
    moved = state._replace(policy=replace(state.policy, trunk=large))
    far = jnp.abs(agent.mode(moved, OBS, narrow) - LOC)
    np.testing.assert_allclose(far, 2.0 * 0.05, rtol=1e-4)
    _, penalty = agent.act_with_log_ratio(moved.policy, OBS, narrow, KEY, "normal")
    np.testing.assert_allclose(penalty, 0.5 * ACTION_DIM * 2.0**2, rtol=1e-3)
    wide = agent.mode(moved, OBS, STATS) - LOC  # a scale above the floor is left alone
    np.testing.assert_allclose(jnp.abs(wide), 2.0 * 0.2, rtol=1e-4)


def test_normalised_values_leave_what_is_learned_in_the_rewards_units():
    """Critics that say 0 are worth the shift, and their targets are in their own units."""
    agent = other_agent(normalise_values=True, backup_kl=False, num_qs=1, discount=0.9)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    silent = jax.tree.map(jnp.zeros_like, state.critic)
    state = state._replace(
        critic=silent,
        target_critic=silent,
        value_shift=jnp.float32(10.0),
        value_scale=jnp.float32(2.0),
    )
    np.testing.assert_allclose(agent.values(state, OBS, LOC, STATS), 10.0)
    _, info = agent.update_critic(state, make_batch(), KEY, "normal")
    # y = 1 + 0.9 · 10 = 10, which is 0 in the critics' units: nothing is left to learn.
    assert float(info["critic_loss"]) == pytest.approx(0.0, abs=1e-10)
    assert float(info["q"]) == pytest.approx(10.0)
