from dataclasses import replace

import jax
import numpy as np
import pytest

from nppac.agents.awac import AWAC
from nppac.agents.common.returns import value_units
from nppac.references import UniformReference
from nppac.training.presets import preset
from nppac.training.pretraining import demo_transitions, fresh_state, pretrain_on_demos
from nppac.training.problem import check_copies
from nppac.utils.errors import UserError
from toy_run import column, make_problem, recorded, run
from toy_task import ACTION_DIM, AGENT, OBS_DIM, SCHEDULE

STANDARDISING = replace(AGENT, standardise_obs=True, policy_ema_updates=3)


def test_the_policy_and_its_average_begin_in_the_units_of_the_demonstrations():
    demos = recorded()
    state = fresh_state(make_problem(demos=demos), STANDARDISING, 0)
    shown = np.concatenate([episode.observations[:-1] for episode in demos])
    varied = np.where(shown.std(0) > 1e-6, shown.std(0), 1.0)
    for policy in (state.policy, STANDARDISING.averaged(state).policy):
        centre, spread, _ = policy.trunk.units
        np.testing.assert_allclose(centre, shown.mean(0), atol=1e-5)
        np.testing.assert_allclose(spread, varied, atol=1e-5)
    plain = fresh_state(make_problem(demos=demos), AGENT, 0)
    assert plain.policy.trunk.units == ()
    np.testing.assert_array_equal(state.policy.trunk.weights[0], plain.policy.trunk.weights[0])


def test_critics_of_residuals_begin_in_the_units_of_the_demonstrations():
    demos = recorded()
    agent = replace(AGENT, critic_residuals=True)
    state = fresh_state(make_problem(demos=demos), agent, 0)
    shown = np.concatenate([episode.observations[:-1] for episode in demos])
    for critic in (state.critic, state.target_critic):
        np.testing.assert_allclose(critic.obs_units[0], shown.mean(0), atol=1e-5)
    assert state.policy.trunk.units == ()
    assert fresh_state(make_problem(demos=demos), AGENT, 0).critic.obs_units == ()


def test_units_stay_as_they_were_while_the_policy_learns(tmp_path):
    demos = recorded()
    schedule = replace(SCHEDULE, pretrain_epochs=2)
    result = run(tmp_path / "run", schedule, agent=STANDARDISING, demos=demos)
    first = fresh_state(make_problem(demos=demos), STANDARDISING, 0)
    last = result.state
    assert jax.tree.all(
        jax.tree.map(np.array_equal, last.policy.trunk.units, first.policy.trunk.units)
    )
    assert not np.array_equal(last.policy.trunk.weights[0], first.policy.trunk.weights[0])
    assert np.isfinite(column(tmp_path / "run", "eval_return_mean")).any()


def test_the_evaluated_policy_after_cloning_holds_nothing_of_its_random_start():
    demos = recorded()
    agent = AWAC(policy_hidden=(16,), policy_ema_updates=2_000, learning_rate=1e-2)
    schedule = replace(SCHEDULE, pretrain_epochs=60, pretrain_batch_size=8)
    problem = make_problem(reference=UniformReference(ACTION_DIM), demos=demos)
    state = pretrain_on_demos(problem, agent, schedule, 0, fresh_state(problem, agent, 0))
    obs = np.concatenate([episode.observations[:-1] for episode in demos])
    actions = np.concatenate([episode.actions for episode in demos])

    def error(policy):
        return float(np.mean((np.asarray(policy.mode(obs)) - actions) ** 2))

    assert error(agent.averaged(state).policy) < 2 * error(state.policy)


def test_copies_of_states_need_a_reference_that_knows_an_action():
    config = preset("ant", "awac")
    schedule = replace(config.schedule, pretrain_copies=4)
    with pytest.raises(UserError, match="the uniform one knows none: add --pretrain-copies 0"):
        check_copies(replace(config, schedule=schedule), UniformReference(8))
    check_copies(config, UniformReference(8))


def test_without_demonstrations_observations_stay_as_they_are():
    centre, spread, furthest = fresh_state(make_problem(), STANDARDISING, 0).policy.trunk.units
    np.testing.assert_array_equal(centre, np.zeros(OBS_DIM))
    np.testing.assert_array_equal(spread, np.ones(OBS_DIM))
    assert (furthest > 1e20).all()


def test_critics_have_their_units_before_they_learn_offline(tmp_path):
    demos = recorded()
    agent = replace(AGENT, normalise_values=True)
    offline = replace(SCHEDULE, demos_in_replay=True, offline_updates=5)
    learned = run(tmp_path / "offline", offline, agent=agent, demos=demos).state
    replay = demo_transitions(make_problem(demos=demos), agent, offline)
    units = value_units(replay, agent.discount)
    np.testing.assert_allclose((learned.value_shift, learned.value_scale), units, rtol=1e-6)


def test_no_weight_decay_may_shrink_the_units():
    with pytest.raises(UserError, match="'weight_decay' would shrink the units"):
        replace(STANDARDISING, weight_decay=0.1)
