import pytest

from nppac.references import GPConfig
from nppac.references.gp.config import (
    WORK,
    DirectProgress,
    FitWork,
    iterative_progress,
    migrate_gp_settings,
    stages,
)
from nppac.utils.errors import UserError


@pytest.mark.parametrize("field", ["kernel", "optimiser", "variance"])
def test_unknown_choices_are_named(field):
    with pytest.raises(UserError, match=f"'{field}' is 'nonsense'"):
        GPConfig(**{field: "nonsense"})


@pytest.mark.parametrize("value", [0, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "field", ["fit_points", "neighbours", "max_steps", "learning_rate", "lengthscale_multiplier"]
)
def test_numbers_must_be_positive_and_finite(field, value):
    with pytest.raises(UserError, match=field):
        GPConfig(**{field: value})


def test_defaults_follow_the_optimiser_and_the_size():
    assert GPConfig(optimiser="adam").steps == 500
    assert GPConfig(optimiser="adam", max_steps=7).steps == 7
    assert GPConfig().variance_method(2000) == "exact"
    assert GPConfig().variance_method(2001) == "neighbours"
    assert GPConfig(variance="exact").variance_method(10**6) == "exact"


def test_old_names_of_settings_become_the_present_ones():
    old = {"kernel": "rbf", "stretch": 2.5}
    assert GPConfig(**migrate_gp_settings(old)).lengthscale_multiplier == 2.5
    assert old == {"kernel": "rbf", "stretch": 2.5}
    present = {"lengthscale_multiplier": 3.0, "neighbours": 5}
    assert migrate_gp_settings(present) == present


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr("nppac.references.gp.config.thread_count", lambda: 2)


@pytest.fixture
def seen():
    return []


@pytest.fixture
def advance(seen):
    return lambda done, status="": seen.append(done)


def test_costs_are_those_of_the_work():
    # Seconds: 4 * 40 trial steps of 0.09 on two threads, 100 of 0.44, 10 of 3.24, conditioning.
    parts = stages(GPConfig(kernel="auto", fit_points=2000), 15_000)
    assert [part.steps for part in parts.values()] == [160, 100, 10, WORK]
    seconds = [7.2, 44.0, 32.4, 1.75e-11 * 15_000**3 / 2]
    assert [part.cost for part in parts.values()] == pytest.approx(seconds)


@pytest.mark.parametrize("n", [2, 900, 5_000, 15_000, 100_000])
@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_parts_that_there_are_not_cost_nothing(n, kernel):
    parts = stages(GPConfig(kernel=kernel, fit_points=2000), n)
    assert (parts["trials"].steps > 0) == (parts["trials"].cost > 0) == (kernel == "auto")
    assert (parts["fine"].steps > 0) == (parts["fine"].cost > 0) == (n > 1000)


def test_work_that_is_done_to_the_last_step_is_the_whole(seen, advance):
    config = GPConfig(kernel="auto", fit_points=2000)
    work = FitWork(config, 15_000, advance)
    for name, stage in work.stages.items():
        show = work.begin(name)
        show(0)
        show(stage.steps)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, WORK)


def test_the_time_left_is_right_after_an_optimiser_converged_early(seen, advance):
    """With one second a unit of cost, the share done is the time spent over the time in all."""
    work = FitWork(GPConfig(kernel="rbf", fit_points=2000), 15_000, advance)
    work.begin("coarse")(25)  # of 100 steps, 0.44 s each
    work.begin("fine")(0)
    later = 32.4 + work.stages["condition"].cost
    assert seen[-1] == int(WORK * 11.0 / (11.0 + later))
    assert seen[0] == int(WORK * 11.0 / (44.0 + later))


def test_solutions_tell_their_share(seen, advance):
    for group in (0, 1):
        direct = DirectProgress(2, group, advance)
        direct.factorised(1.0)
        direct.iterated(10)
        direct.iterated(50)
    iterative = iterative_progress(advance)
    for done in (10, 400):
        iterative(done)
    assert seen == [300, 400, 500, 800, 900, 1000, 250, WORK]
