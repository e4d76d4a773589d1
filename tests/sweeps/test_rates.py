import json

import pytest

from nppac.sweeps.cores import claimed_cores, shares
from nppac.sweeps.plan import Plan, expand
from nppac.sweeps.rates import estimate, timed_runs, total_seconds
from nppac.training.config import to_json
from nppac.utils.threads import available_cores


@pytest.fixture
def runs(tmp_path):
    plan = Plan({"sac": {}}, {"halfcheetah": {}}, (0, 1), settings={"steps": 5000})
    return expand(plan, tmp_path)


def record(folder, config, seconds, **summary):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(to_json(config)))
    facts = {"task": config.task, "method": config.method, "env_steps": 100, **summary}
    (folder / "summary.json").write_text(json.dumps({**facts, "wall_seconds": seconds}))


def test_times_are_those_of_runs_alike(tmp_path, runs):
    config = runs[0].config
    assert estimate(config, []) is None
    assert total_seconds(runs, [], 2) is None
    for i, seconds in enumerate((10.0, 20.0, 90.0)):
        record(tmp_path / "old" / str(i), config, seconds)
    record(tmp_path / "old" / "damaged", config, "soon")
    known = timed_runs([tmp_path, tmp_path / "missing"])
    found = estimate(config, known)
    assert found.seconds == pytest.approx(20 / 100 * 5000)
    assert found.source == f"3 runs in {tmp_path / 'old'}"
    assert total_seconds(runs, known, 1) == pytest.approx(2000)
    assert total_seconds(runs, known, 2) == pytest.approx(1000)


def test_a_rate_of_other_settings_says_so(tmp_path, runs):
    other = expand(
        Plan({"sac": {}}, {"halfcheetah": {}}, (0,), settings={"batch_size": 32}), tmp_path
    )
    record(tmp_path / "old", other[0].config, 10.0)
    found = estimate(runs[0].config, timed_runs([tmp_path]))
    assert found.source.endswith("other batch or updates")


@pytest.mark.parametrize(
    ("cores", "runs", "threads", "expected"),
    [
        ((0, 1), 4, None, [(0,), (1,)]),
        ((0, 1), 1, None, [(0, 1)]),
        ((0, 1, 2, 3), 2, None, [(0, 1), (2, 3)]),
        ((0, 1, 2, 3, 4), 9, 2, [(0, 1), (2, 3)]),
        ((3,), 9, 8, [(3,)]),
    ],
)
def test_cores_are_shared_equally(cores, runs, threads, expected):
    assert shares(cores, runs, threads) == expected


def test_claimed_cores_are_free_ones_first():
    cores = available_cores()
    with claimed_cores(1) as first, claimed_cores(1) as second:
        assert len(first) == len(second) == 1
        assert set(first) | set(second) <= set(cores)
    with claimed_cores(10_000) as everything:
        assert everything == cores
