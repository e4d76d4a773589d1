import numpy as np
import pytest

from method_runs import stacked
from nppac.agents.kl_actor_critic import KLActorCritic
from small_kl_agent import ACTION_DIM, KEY, OBS_DIM, make_batch, small_agent


def test_tuned_temperature_moves_towards_its_target():
    agent = small_agent(tune_temperature=True, target_kl=1e6)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, _ = agent.update(state, stacked(make_batch()), KEY, "normal")
    assert float(after.log_temperature) < float(state.log_temperature)


def test_the_target_kl_grows_with_the_number_of_actions():
    def target(family="normal", **settings):
        return KLActorCritic(**settings).kl_target(ACTION_DIM, family)

    assert target(target_kl_per_root_action=0.1) == pytest.approx(0.1 * np.sqrt(6))
    assert target(target_kl_per_root_action=0.1, target_kl=1.0) == 1.0
    assert target() == 6.0
    assert target("uniform") == pytest.approx(6 + 6 * np.log(2))


@pytest.mark.parametrize(("largest", "last"), [(None, 1.5), (2.0, 1.5), (1.3, 1.3), (1.0, 1.0)])
def test_the_target_kl_may_grow_with_the_updates(largest, last):
    growing = {"target_kl_doubling_updates": 4, "target_kl_max_growth": largest}
    agent = small_agent(tune_temperature=True, target_kl=1e6, **growing)
    state, batch = agent.init(KEY, OBS_DIM, ACTION_DIM), stacked(make_batch())
    growth = []
    for _ in range(3):
        growth.append(float(agent.kl_growth(state)))
        state, _ = agent.update(state, batch, KEY, "normal")
    assert growth == pytest.approx([1.0, min(1.25, last), last])


def test_the_target_kl_stays_unless_it_is_asked_to_grow():
    state, batch = small_agent().init(KEY, OBS_DIM, ACTION_DIM), stacked(make_batch())
    state, _ = small_agent().update(state, batch, KEY, "normal")
    assert small_agent(target_kl=1e6).kl_growth(state) == 1.0
    slow = small_agent(tune_temperature=True, target_kl=1e6, target_kl_doubling_updates=10**10)
    assert float(slow.kl_growth(state)) == pytest.approx(1.0)


def test_the_temperature_follows_the_target_kl_that_has_grown():
    state, batch = small_agent().init(KEY, OBS_DIM, ACTION_DIM), stacked(make_batch())
    _, info = small_agent().update(state, batch, KEY, "normal")

    def second_step(doubling_updates):
        settings = {"tune_temperature": True, "target_kl": 0.6 * float(info["kl"])}
        agent = small_agent(**settings, target_kl_doubling_updates=doubling_updates)
        first, _ = agent.update(agent.init(KEY, OBS_DIM, ACTION_DIM), batch, KEY, "normal")
        second, _ = agent.update(first, batch, KEY, "normal")
        return float(second.log_temperature - first.log_temperature)

    assert second_step(0) > 0.0  # the policy is further away than 0.6 of its KL
    assert second_step(1) < second_step(0)  # and nearer than 1.2 of it


@pytest.mark.parametrize(("given", "step"), [(None, 3e-4), (0.02, 0.02)])
def test_tuned_temperature_has_a_step_size_of_its_own(given, step):
    settings = {"tune_temperature": True, "target_kl": 1e6}
    agent = small_agent(**settings, temperature_learning_rate=given)
    state = agent.init(KEY, OBS_DIM, ACTION_DIM)
    after, _ = agent.update(state, stacked(make_batch()), KEY, "normal")
    assert float(state.log_temperature - after.log_temperature) == pytest.approx(step, rel=1e-3)
