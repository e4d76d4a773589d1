import json
from pathlib import Path

import pytest

from nppac.sweeps.plan import Plan, expand
from nppac.sweeps.plan_file import read_plan_file
from nppac.sweeps.tuning import read_tuning_file, tuning_runs
from nppac.utils.errors import UserError

PLAN = """
methods:
  nppac: {temperature: 0.3}
  sac:
tasks:
  door: {demos: DEMOS}
  pen:
references: [gp, network]
seeds: 0..1
settings: {steps: 20000, gp: {kernel: rbf}}
variants:
  base:
  long: {steps: 30000, network.seed: 7}
out: runs/mine
threads_per_run: 1
"""


SHIPPED = sorted((Path(__file__).parents[2] / "plans").glob("*.yaml"))


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "plan.yaml"
        path.write_text(text)
        return path

    return write


def test_every_combination_is_one_run(write, tmp_path, demos):
    file = read_plan_file(write(PLAN.replace("DEMOS", str(demos))))
    runs = {run.name: run for run in expand(file.plan, tmp_path)}
    assert len(runs) == 2 * 2 * 2 * 2 * 2
    assert (file.out, file.threads_per_run) == ("runs/mine", 1)
    run = runs["door-nppac-network-long-seed1"]
    assert run.directory == tmp_path / run.name
    config = run.config
    assert (config.task, config.method, config.reference, config.seed) == (
        *("door", "nppac", "network", 1),
    )
    assert config.schedule.steps == 30_000  # the variant wins over the settings
    assert (config.gp.kernel, config.network.seed) == ("rbf", 7)
    assert config.agent.temperature == 0.3
    assert config.demos == str(demos)
    assert runs["pen-sac-gp-base-seed0"].config.schedule.steps == 20_000


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_plan_names_runs_that_exist(path, tmp_path):
    """Their settings and names; the demonstrations need not be here."""
    tuned = "tuning_seeds" in path.read_text()
    if tuned:
        runs = tuning_runs(read_tuning_file(path), tmp_path)
    else:
        runs = expand(read_plan_file(path).plan, tmp_path)
    assert runs
    assert len({run.name for run in runs}) == len(runs)


def test_names_are_those_of_single_runs_where_nothing_else_sets_runs_apart(tmp_path):
    runs = expand(Plan({"sac": {}}, {"halfcheetah": {}}, (3,)), tmp_path)
    assert [run.name for run in runs] == ["halfcheetah-sac-seed3"]


def test_files_are_looked_for_beside_the_plan(write, tmp_path, demos):
    (tmp_path / "mine.npz").write_bytes(demos.read_bytes())
    text = "methods: [nppac]\ntasks: {door: {demos: mine.npz}}\n"
    run = expand(read_plan_file(write(text)).plan, tmp_path)[0]
    assert run.config.demos == str((tmp_path / "mine.npz").resolve())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "holds no plan"),
        ("methods: [nppac]\ntasks: [door]\nsedes: 0..1\n", "Did you mean 'seeds'"),
        ("tasks: [door]\n", "'methods' is missing"),
        ("methods: 3\ntasks: [door]\n", "'methods' is 3"),
        ("methods: [sac, sac]\ntasks: [door]\n", "names one thing twice"),
        ("methods: [nppacc]\ntasks: [door]\n", "Did you mean 'nppac'"),
        ("methods: [sac]\ntasks: [door]\nsettings: 5\n", "'settings' is 5"),
        ("methods: [sac]\ntasks: [door]\nsettings: {stepz: 5}\n", "Did you mean 'steps'"),
        ("methods: [sac]\ntasks: [door]\nsettings: {seed: 5}\n", "name it under 'seeds'"),
        ("methods: [sac]\ntasks: [door]\nsettings: {steps: -5}\n", "at least 1"),
        ("methods: [sac]\ntasks: [door]\nsettings: {gp: 5}\n", "'gp' is 5"),
        ("methods: [sac]\ntasks: [door]\nsettings: {gp.kernle: rbf}\n", "kernel"),
        (
            "methods: [sac]\ntasks: [door]\nsettings: {gp: {kernel: rbf}, gp.kernel: rbf}\n",
            "'gp.kernel' is given twice",
        ),
        ("methods: [sac]\ntasks: [door]\npreset: papr\n", "Did you mean 'paper'"),
        ("methods: [sac]\ntasks: [door]\nthreads_per_run: 0\n", "'threads_per_run' is 0"),
        ("methods: [sac]\ntasks: [door]\nreferences: 3\n", "'references' is 3"),
        ("methods: [sac]\ntasks: [door]\nconfig: none.json\n", "There is no file"),
        ("methods: [sac]\ntasks: [door]\nvariants: {a/b: , a-b: }\n", "would be called"),
    ],
)
def test_mistakes_are_told_in_one_line_with_their_key(write, tmp_path, text, message):
    with pytest.raises(UserError, match=message) as error:
        expand(read_plan_file(write(text)).plan, tmp_path)
    assert "\n" not in str(error.value)
    assert "plan.yaml" in str(error.value) or "none.json" in str(error.value)


def test_a_plan_has_an_end(tmp_path):
    variants = {str(i): {} for i in range(101)}
    plan = Plan({"sac": {}}, {"door": {}}, tuple(range(100)), variants=variants)
    with pytest.raises(UserError, match="10,100 runs"):
        expand(plan, tmp_path)


def test_a_file_of_settings_lies_under_the_overrides(write, tmp_path):
    tuned = {"method": "sac", "task": "door", "schedule": {"steps": 7000, "batch_size": 32}}
    tuned["provenance"] = {"tuning": {"seeds": [100]}}
    (tmp_path / "door-sac.json").write_text(json.dumps({"version": 2, **tuned}))
    text = "methods: [sac]\ntasks: [door]\nconfig: '{task}-{method}.json'\n"
    run = expand(read_plan_file(write(text + "settings: {steps: 9000}\n")).plan, tmp_path)[0]
    assert (run.config.schedule.steps, run.config.schedule.batch_size) == (9000, 32)
    with pytest.raises(UserError, match="the seeds 100 chose"):
        expand(read_plan_file(write(text + "seeds: 99..101\n")).plan, tmp_path)
    other = "methods: [nppac]\ntasks: [door]\nconfig: door-sac.json\n"
    with pytest.raises(UserError, match="is of the method 'sac'"):
        expand(read_plan_file(write(other)).plan, tmp_path)


@pytest.mark.parametrize(("name", "count"), [("paper", 300), ("door-embedded", 6)])
def test_the_plans_that_come_with_the_project_can_be_expanded(tmp_path, name, count):
    path = Path(__file__).parents[2] / "plans" / f"{name}.yaml"
    assert len(expand(read_plan_file(path).plan, tmp_path)) == count
