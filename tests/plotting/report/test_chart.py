import numpy as np

from nppac.evaluation.curves import learning_curve, measured
from nppac.plotting.report.chart import draw_chart, thinned


def run(steps, values):
    return {"env_steps": np.array(steps, float), "kl": np.array(values, float)}


def chart(*groups, **options):
    drawn = [(learning_curve(g, "kl"), [measured(one, "kl") for one in g]) for g in groups]
    return draw_chart("KL", ("steps", "kl"), drawn, **options)


def test_a_group_of_runs_has_a_centre_a_band_and_its_runs():
    drawn = chart([run([0, 10], [0, 1]), run([0, 10], [0, 3])], [run([0, 10], [1, 1])])
    two, one = drawn.traces
    assert two.centre.startswith("M62.00 ")
    assert two.centre.count("L") == 1
    assert two.runs.count("M") == 2
    assert two.band.endswith("Z")
    assert (one.group, one.band, one.runs) == (1, "", "")  # a single run has no interval
    assert drawn.extents == [[0, 10, 0, 3], [0, 10, 1, 1]]
    assert drawn.readout()["lines"][1] == [[0, 10], [1, 1], [None, None], [None, None]]


def test_nothing_measured_is_no_chart():
    assert chart([run([0], [np.nan])]) is None


def test_what_was_measured_once_is_a_dot():
    (trace,) = chart([run([5], [1])]).traces
    assert trace.centre.endswith("h0")


def test_a_logarithmic_chart_has_a_gap_where_a_value_is_not_positive():
    values = [1, *range(2, 60), 0, 100]
    drawn = chart([run(range(len(values)), values)], log=True)
    assert drawn.y.log
    assert drawn.traces[0].centre.count("M") == 2
    assert drawn.extents[0][2] == 1


def test_an_axis_can_be_asked_to_show_a_range():
    drawn = chart([run([50, 60], [0.5, 0.6])], whole=(0.0, 1.0), origin=0.0)
    assert drawn.x.low == 0
    assert drawn.y.low < 0 < 1 < drawn.y.high


def test_long_lines_are_thinned_without_losing_a_spike():
    values = np.zeros(5_000)
    values[1234] = 9.0
    steps, kept = thinned(np.arange(5_000.0), values)
    assert len(steps) <= 200
    assert steps[kept.argmax()] == 1234
    assert (np.diff(steps) > 0).all()
