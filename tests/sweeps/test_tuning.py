import json

import pytest

from nppac.cli.run_options import chosen_config
from nppac.evaluation.metrics import append_row
from nppac.sweeps.plan import expand
from nppac.sweeps.plan_file import read_plan_file
from nppac.sweeps.search import grid_trials, random_trials
from nppac.sweeps.tuning import choose, read_tuning_file, run_score, tuning_runs
from nppac.utils.errors import UserError

PLAN = """
methods:
  nppac: {temperature: [0.1, 0.5]}
  sac: {utd_ratio: [1, 2]}
tasks: [halfcheetah]
tuning_seeds: 100..101
evaluation_seeds: 0..5
settings: {steps: 5000}
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "tune.yaml"
        path.write_text(text)
        return read_tuning_file(path)

    return read


def test_a_grid_is_every_combination():
    assert grid_trials({"a": [1, 2], "b": ["x"]}, "") == ({"a": 1, "b": "x"}, {"a": 2, "b": "x"})


def test_random_draws_are_within_their_bounds_and_repeat():
    space = {"a": {"low": 1e-4, "high": 1, "log": True}, "b": {"low": -1, "high": 2}, "c": [7]}
    drawn = random_trials(space, 200, 1, "")
    assert all(1e-4 <= t["a"] <= 1 and -1 <= t["b"] <= 2 and t["c"] == 7 for t in drawn)
    assert sum(t["a"] < 1e-2 for t in drawn) == pytest.approx(100, abs=30)
    assert random_trials(space, 3, 1, "") == drawn[:3]


def test_the_best_trial_becomes_a_file_that_train_and_sweeps_read(read, tmp_path):
    tuning = read(PLAN)
    runs = tuning_runs(tuning, tmp_path)
    assert len(runs) == 2 * 2 * 2
    for run in runs:
        good = "trial1" in run.name
        for steps, value in ((0, 99), (2500, 10), (5000, 20 + good + run.config.seed)):
            append_row(
                run.directory / "metrics.csv", {"env_steps": steps, "eval_return_mean": value}
            )
    chosen = choose(tuning, runs, tmp_path / "tuned")
    assert [(c.method, c.trial) for c in chosen] == [("nppac", 1), ("sac", 1)]
    assert chosen[0].scores == pytest.approx((65.25, 65.75))
    path = tmp_path / "tuned" / "halfcheetah-nppac.json"
    record = json.loads(path.read_text())["provenance"]["tuning"]
    assert (record["seeds"], record["chosen"], len(record["trials"])) == ([100, 101], 1, 2)
    config = chosen_config(["--config", str(path)])
    assert (config.agent.temperature, config.schedule.steps) == (0.5, 5000)
    plan = tmp_path / "plan.yaml"
    text = "methods: [nppac, sac]\ntasks: [halfcheetah]\nconfig: 'tuned/{task}-{method}.json'\n"
    plan.write_text(text)
    assert expand(read_plan_file(plan).plan, tmp_path)[0].config.agent.temperature == 0.5
    plan.write_text(text + "seeds: 100..102\n")
    with pytest.raises(UserError, match="the seeds 100, 101 chose the settings"):
        expand(read_plan_file(plan).plan, tmp_path)


def test_scores(tmp_path):
    path = tmp_path / "metrics.csv"
    for step, success in ((0, 1.0), (1, 0.0), (2, 0.5), (3, 0.5), (4, 0.8)):
        append_row(path, {"env_steps": step, "eval_success_any": success, "eval_return_mean": 9})
    assert run_score(tmp_path, "final") == pytest.approx(0.6)
    assert run_score(tmp_path, "area") == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0..5", "101..105", "the seeds 101 chose"),
        ("[1, 2]", "[1, 2, 4]", "these have: nppac 2, sac 3"),
        ("utd_ratio", "steps", "decides the budget"),
        ("[1, 2]", "1", "a grid needs a list"),
        ("settings", "serach: random\nsettings", "Did you mean 'search'"),
        ("settings", "search: radom\nsettings", "Did you mean 'random'"),
        ("settings", "search: random\nsettings", "'trials' is the number of draws"),
        ("settings", "score: finale\nsettings", "Did you mean 'final'"),
        ("tuning_seeds: 100..101", "", "'tuning_seeds' is None"),
    ],
)
def test_mistakes(read, old, new, message):
    with pytest.raises(UserError, match=message) as error:
        read(PLAN.replace(old, new, 1))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"low": 2, "high": 1}, "'low' must be below 'high'"),
        ({"low": 0, "high": 1, "log": True}, "above 0 with 'log: true'"),
        ({"lwo": 2, "high": 3}, "Did you mean 'low'"),
        (3, "write a list"),
        ([], "write a list"),
    ],
)
def test_mistakes_of_random_draws(values, message):
    with pytest.raises(UserError, match=message):
        random_trials({"a": values}, 2, 1, "plan")
