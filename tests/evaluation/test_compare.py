import json
import math
from pathlib import Path

import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.schedule import Schedule
from nppac.evaluation.compare import (
    default_threshold,
    evaluation_summary,
    flat_settings,
    group_runs,
    load_evaluated,
    standings,
)
from nppac.evaluation.metrics import METRICS_FILE, append_row
from nppac.references import GPConfig
from nppac.training.config import RunConfig, read_config, to_json
from nppac.utils.errors import UserError


@pytest.fixture
def written(tmp_path):
    """Write the configuration of a run, and name its directory."""

    def write(name, **settings):
        (tmp_path / name).mkdir()
        config = to_json(RunConfig(**settings))
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        return tmp_path / name

    return write


def configs(*directories):
    return {run: to_json(read_config(run)) for run in directories}


def test_runs_are_grouped_by_method(written):
    a = written("a", task="door", method="nppac")
    b = written("b", task="door", method="sac", agent=KLActorCritic(temperature=9.0))
    c = written("c", task="pen", method="nppac")
    assert group_runs(configs(a, b)) == {"nppac": [a], "sac": [b]}
    with pytest.raises(UserError, match=r"one task; these are of \['door', 'pen'\]"):
        group_runs(configs(a, c))


def test_a_comparison_of_nothing_asks_for_directories():
    with pytest.raises(UserError, match="No run to compare: name the directories of some"):
        group_runs({})


def test_runs_from_other_demonstrations_are_told_apart_wherever_their_files_lie(written):
    here, there = written("a", demos="/here/human.npz"), written("b", demos="there/human.npz")
    expert = written("c", demos="/here/expert.npz")
    groups = {"nppac": [here, there], "nppac, demos expert.npz": [expert]}
    assert group_runs(configs(here, there, expert)) == groups


def test_runs_of_a_method_are_told_apart_by_the_settings_that_most_do_not_share(written):
    usual = [written(f"usual{seed}", seed=seed) for seed in range(3)]
    warm = written("warm", agent=KLActorCritic(temperature=9.0), schedule=Schedule(batch_size=8))
    long_view = written("long", agent=KLActorCritic(discount=0.999))
    rough = written("rough", gp=GPConfig(kernel="matern12"))
    assert group_runs(configs(*usual, warm, long_view, rough)) == {
        "nppac": usual,
        "nppac, temperature 9.0, batch size 8": [warm],
        "nppac, discount 0.999": [long_view],
        "nppac, gp kernel matern12": [rough],
    }


def test_of_kinds_with_as_many_runs_the_commonest_settings_need_no_name(written):
    cold = written("a", agent=KLActorCritic(temperature=0.01))
    plain = written("b")
    long_view = written("c", agent=KLActorCritic(discount=0.999))
    names = ["nppac, temperature 0.01", "nppac", "nppac, discount 0.999"]
    assert list(group_runs(configs(cold, plain, long_view))) == names


def test_runs_of_other_budgets_demonstrations_or_evaluations_are_never_mixed(written):
    usual = [written(f"usual{seed}", seed=seed) for seed in range(2)]
    longer = written("longer", schedule=Schedule(steps=99_000))
    sloppy = written("sloppy", schedule=Schedule(eval_episodes=3))
    fewer = written("fewer", demo_episodes=1)
    watched = written("watched", schedule=Schedule(eval_every=1_000, eval_envs=1))
    assert group_runs(configs(*usual, longer, sloppy, fewer, watched)) == {
        "nppac": [*usual, watched],
        "nppac, steps 99000": [longer],
        "nppac, eval episodes 3": [sloppy],
        "nppac, demo episodes 1": [fewer],
    }


def test_a_setting_that_an_old_record_lacks_does_not_set_it_apart(written):
    new = configs(written("new"))
    (config,) = new.values()
    old = {name: value for name, value in config.items() if name not in ("network", "reference")}
    assert group_runs({**new, Path("old"): old}) == {"nppac": [*new, Path("old")]}


def test_settings_have_one_name_each():
    config = {"gp": {"kernel": "rbf"}, "seed": 3, "agent": {"learning_rate": 0.1, "a": [1, 2]}}
    flat = {"learning rate": "0.1", "a": "[1, 2]", "seed": "3", "gp kernel": "rbf"}
    assert flat_settings(config) == flat
    assert list(flat_settings(config)) == list(flat)


def test_first_last_and_best_of_the_measure_that_the_task_has():
    nan = np.nan
    successes = {"eval_success_any": np.array([0, nan, 1, 0.5])}
    returns = {"eval_success_any": np.full(3, nan), "eval_return_mean": np.array([-3.0, nan, -1.0])}
    assert evaluation_summary([successes]) == ([0.0], [0.5], [1.0])
    assert evaluation_summary([returns]) == ([-3.0], [-1.0], [-1.0])


def evaluated(*returns, steps=None):
    steps = np.arange(len(returns)) * 10.0 if steps is None else np.array(steps, float)
    nothing = np.full(len(returns), np.nan)
    values = np.array(returns, float)
    return {"env_steps": steps, "eval_success_any": nothing, "eval_return_mean": values}


def test_standings_have_intervals_and_steps_to_thresholds():
    groups = {"a": [evaluated(0, 9, 10, 10), evaluated(2, 4, 6, 8)], "b": [evaluated(-1, 0)]}
    a, b = standings(groups, [5.0])
    assert (a.name, a.runs, a.steps, b.steps) == ("a", 2, (30, 30), (10, 10))
    assert a.start == (1, 0, 2)
    assert a.end == (9, 8, 10)
    assert a.best == (9, 8, 10)
    assert a.reached == ((1.0, (15, 10, 20)),)
    assert b.reached[0].share == 0
    assert b.end.estimate == 0
    assert math.isnan(b.end.low)


def test_the_default_threshold_lies_between_the_lowest_start_and_the_best_end():
    groups = {"a": [evaluated(0, 9)], "b": [evaluated(-1, 0)]}
    assert default_threshold(groups) == pytest.approx(8.0)
    assert default_threshold(groups, 0.5) == pytest.approx(4.0)
    assert default_threshold({"worse": [evaluated(5, 1)]}) == 5.0
    success = evaluated(0, 9) | {"eval_success_any": np.array([0.1, 0.4])}
    assert default_threshold({"a": [success]}) == 0.9


def test_a_run_without_an_evaluation_is_named(tmp_path):
    append_row(tmp_path / METRICS_FILE, {"env_steps": 0})
    with pytest.raises(UserError, match="holds no evaluation yet"):
        load_evaluated(tmp_path)
