"""The incumbent is replaced only by a policy that is shown to be better."""

from dataclasses import replace

import numpy as np
import pytest

from nppac.agents.anchored_actor_critic import Anchored
from nppac.references import UniformReference
from nppac.training import incumbent as module
from nppac.training.contender import Contender
from nppac.training.incumbent import Incumbent, challenge, challenges_due, score_of
from nppac.training.restore import load_trained_run
from nppac.training.runs import start_run
from nppac.types import Episode
from toy_run import Watched, make_problem, run
from toy_task import ACTION_DIM, AGENT, OBS_DIM, SCHEDULE, make_config, write_demos

NEWEST = np.float32(1.0)
"""Networks stand for themselves here: the policies are plain functions."""
CHALLENGER, LATER = Contender(NEWEST, 40), Contender(NEWEST, 80)
TESTED = replace(SCHEDULE, challenges=1, challenge_episodes=60)


class Poor(Watched):
    """A reference that runs away from the goal."""

    def __call__(self, obs):
        return super().__call__(obs)._replace(loc=np.asarray(obs[:, :2], np.float32))


def fake_policies(monkeypatch, challenger):
    """Let the newest policy be a plain function."""
    monkeypatch.setattr(module, "greedy_policy", lambda agent, state, query: challenger)


def goal(obs):
    return np.clip(-2.0 * obs[:, :2], -1.0, 1.0).astype(np.float32)


def test_a_better_policy_takes_the_place_of_a_poor_reference(monkeypatch):
    fake_policies(monkeypatch, goal)
    found = challenge(make_problem(Poor()), AGENT, TESTED, 0, Incumbent(unit=1.0), CHALLENGER)
    assert (found.state, found.env_steps, found.promotions) == (NEWEST, 40, 1)
    assert found.scores == ()
    assert found.test_steps > 0
    assert np.mean(found.differences) > 0
    assert found.challenger_from == 40


def test_a_worse_policy_does_not_and_costs_few_episodes(monkeypatch):
    fake_policies(monkeypatch, lambda obs: np.zeros((len(obs), ACTION_DIM), np.float32))
    found = challenge(make_problem(Watched()), AGENT, TESTED, 0, Incumbent(unit=1.0), CHALLENGER)
    assert found.state is None
    assert found.promotions == 0
    assert module.FEWEST_EPISODES <= len(found.scores) <= module.FEWEST_EPISODES + 1
    assert len(found.differences) == len(found.scores)
    assert np.mean(found.differences) < 0


def test_a_policy_that_has_not_moved_costs_one_block(monkeypatch):
    reference = Watched()
    fake_policies(monkeypatch, reference.mean)
    found = challenge(make_problem(reference), AGENT, TESTED, 0, Incumbent(unit=1.0), CHALLENGER)
    assert found.state is None
    assert len(found.scores) == 2
    assert found.challenges == 1
    assert found.differences == ()


def test_the_incumbents_episodes_serve_for_every_challenger_of_its_time(monkeypatch):
    fake_policies(monkeypatch, lambda obs: np.zeros((len(obs), ACTION_DIM), np.float32))
    problem = make_problem(Watched())
    first = challenge(problem, AGENT, TESTED, 0, Incumbent(unit=1.0), CHALLENGER)
    again = challenge(problem, AGENT, TESTED, 0, first, LATER)
    assert again.scores == first.scores
    assert again.challenges == 2
    assert again.differences == first.differences  # of its own test alone
    assert again.test_steps - first.test_steps < first.test_steps


def test_equal_policies_are_promoted_no_more_often_than_the_error_rate(monkeypatch):
    """Two policies whose scores are the same coin, over 60 runs of three tests each."""
    rng = np.random.default_rng(0)

    def coins(envs, act, seeds, **_):
        obs = np.zeros((2, 3), np.float32)
        return [Episode(obs, obs[:1, :2], rng.normal(size=1), None) for _ in seeds]

    monkeypatch.setattr(module, "rollout", coins)
    monkeypatch.setattr(module, "greedy_policy", lambda *args: goal)
    problem, wrong = make_problem(), 0
    for _ in range(60):
        held = Incumbent(unit=1.0)
        for step in (1, 2, 3):
            held = challenge(problem, AGENT, TESTED, 0, held, Contender(NEWEST, step))
        wrong += held.promotions > 0
    assert wrong <= 0.05 * 60


def test_successes_count_before_returns():
    obs = np.zeros((2, 3), np.float32)
    rewards = np.array([5.0])
    assert score_of(Episode(obs, obs[:1, :2], rewards, np.array([True]))) == 1.0
    assert score_of(Episode(obs, obs[:1, :2], rewards)) == 5.0


def test_tests_are_spread_over_the_run_and_the_last_is_at_its_end():
    schedule = replace(SCHEDULE, steps=200, challenges=3)
    assert list(challenges_due(schedule)) == [60, 140, 200]
    assert list(challenges_due(SCHEDULE)) == []


def test_a_run_begins_with_its_reference_and_without_one_with_its_first_policy(tmp_path):
    kept = run(tmp_path / "a", replace(SCHEDULE, steps=40), reference=Watched())
    assert kept.incumbent.state is None
    kept = run(tmp_path / "b", replace(SCHEDULE, steps=40), reference=UniformReference(ACTION_DIM))
    assert kept.incumbent.state is not None  # and not one that training has gone on with
    assert not np.array_equal(
        kept.incumbent.state.policy.trunk.weights[0], kept.state.policy.trunk.weights[0]
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("incumbent")
    agent = Anchored(policy_hidden=(8,), critic_hidden=(8,))
    schedule = replace(SCHEDULE, challenges=1, challenge_episodes=4, final_episodes=3)
    demos = str(write_demos(directory / "demos.npz"))
    names = {"method": "nppac-anchored", "demos": demos, "reference": "constant"}
    config = make_config(agent=agent, schedule=schedule, **names)
    return directory / "run", start_run(config, directory / "run")


def test_a_run_hands_out_its_incumbent_and_the_newest_on_request(finished):
    directory, _ = finished
    obs = np.float32([[0.3, -0.2, 0.1]])
    chosen, newest = load_trained_run(directory), load_trained_run(directory, latest=True)
    assert chosen.chosen.state is None
    assert (chosen.which, newest.which) == ("the reference's mean", "the newest policy")
    promoted = replace(chosen, chosen=replace(newest.chosen, challenges=1, env_steps=1_000))
    assert promoted.which == "the policy of step 1,000"
    np.testing.assert_array_equal(chosen.policy()(obs), chosen.query(obs).loc)
    assert not np.array_equal(chosen.policy()(obs), newest.policy()(obs))


def test_a_run_ends_with_fresh_episodes_of_its_reference_and_its_policy(finished):
    _, summary = finished
    fresh = summary["fresh"]
    assert fresh["episodes"] == 3
    assert fresh["policy"] == fresh["reference"]  # the incumbent is the reference's mean
    assert fresh["newest"] != fresh["reference"]
    quantiles = fresh["newest"]["return_quantiles"]
    assert quantiles == sorted(quantiles)
    assert quantiles[0] < fresh["newest"]["return"][0] < quantiles[-1]
    assert summary["incumbent"]["env_steps"] == 0
    assert summary["incumbent"]["test_steps"] > 0
    test = summary["incumbent"]["last_test"]
    assert test["challenger_from"] in (40, 80, 100)  # where it was evaluated
    mean, low, high = test["difference"]
    assert test["episodes"] >= 1
    assert low <= mean <= high <= 0


def test_it_begins_as_the_reference_that_searches_where_the_agent_does():
    agent = Anchored(lost_scale=0.55)
    obs = np.random.default_rng(0).normal(size=(8, OBS_DIM)).astype(np.float32)
    sure, lost = Watched(scale=0.5), Watched(scale=0.6)
    np.testing.assert_array_equal(Incumbent().policy(agent, sure)(obs), sure.mean(obs))
    assert np.all(Incumbent().policy(agent, lost)(obs) != lost.mean(obs))
    plain = replace(agent, lost_scale=0.0)
    np.testing.assert_array_equal(Incumbent().policy(plain, lost)(obs), lost.mean(obs))
