import json

import numpy as np
import pytest

from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.schedule import Schedule
from nppac.evaluation.compare import evaluation_summary, group_runs
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
    longer = written("longer", schedule=Schedule(steps=99_000, eval_episodes=3))
    warm = written("warm", agent=KLActorCritic(temperature=9.0), schedule=Schedule(batch_size=8))
    long_view = written("long", agent=KLActorCritic(discount=0.999))
    rough = written("rough", gp=GPConfig(kernel="matern12"))
    assert group_runs(configs(*usual, warm, longer, long_view, rough)) == {
        "nppac": [*usual, longer],
        "nppac, temperature 9.0, batch size 8": [warm],
        "nppac, discount 0.999": [long_view],
        "nppac, gp kernel matern12": [rough],
    }


def test_first_last_and_best_of_the_measure_that_the_task_has():
    nan = np.nan
    successes = {"eval_success_any": np.array([0, nan, 1, 0.5])}
    returns = {"eval_success_any": np.full(3, nan), "eval_return_mean": np.array([-3.0, nan, -1.0])}
    assert evaluation_summary([successes]) == ([0.0], [0.5], [1.0])
    assert evaluation_summary([returns]) == ([-3.0], [-1.0], [-1.0])
