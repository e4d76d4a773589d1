import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from nppac.evaluation.metrics import COLUMNS
from nppac.plotting.learning_curve import draw_learning_curves
from nppac.utils.errors import UserError

NAN = np.nan


def metrics(steps=(0, 20, 40), **columns):
    rows = {name: np.full(len(steps), NAN) for name in COLUMNS}
    rows["env_steps"] = np.array(steps, float)
    return rows | {name: np.array(values, float) for name, values in columns.items()}


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw, and look at the figure in the moment in which it is saved."""
    seen = []
    inner = Figure.savefig

    def savefig(figure, *args, **kwargs):
        inner(figure, *args, **kwargs)
        seen.append(
            [(axis, {line.get_label(): line for line in axis.lines}) for axis in figure.axes]
        )

    def draw(methods, title="door"):
        monkeypatch.setattr(Figure, "savefig", savefig)
        draw_learning_curves(methods, tmp_path / "curve.png", title)
        return seen[-1]

    return draw


def points(line):
    return list(zip(*(np.asarray(data).tolist() for data in line.get_data()), strict=True))


def test_one_run_is_one_line_of_what_was_measured(drawn, tmp_path):
    run = metrics(
        eval_return_mean=(1, NAN, 3), kl=(NAN, 0.5, 0.25), policy_gradient=(NAN, 0.1, 0.01)
    )
    (returns, first), (_, second), (gradient, third) = drawn({"nppac": [run]})
    assert points(first["nppac (1 seed)"]) == [(0, 1), (40, 3)]
    assert points(second["nppac (1 seed)"]) == [(20, 0.5), (40, 0.25)]
    assert points(third["nppac (1 seed)"]) == [(20, 0.1), (40, 0.01)]
    assert returns.get_ylabel() == "return"
    assert returns.get_legend() is None
    assert gradient.get_yscale() == "log"
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("chosen", "place"), [(0, None), (20, (20, 2)), (30, None)])
def test_the_policy_that_a_run_hands_out_is_marked_where_it_was_evaluated(drawn, chosen, place):
    run = metrics(eval_return_mean=(1, 2, 1.5), incumbent_from=(0, 0, chosen))
    (returns, first), *others = drawn({"nppac-anchored": [run]})
    marked = first.get("handed out")
    assert (points(marked) if marked else None) == (place and [place])
    assert (returns.get_legend() is not None) == (place is not None)
    assert all("handed out" not in lines for _, lines in others)
    assert "handed out" not in drawn({"nppac-anchored": [run, run]})[0][1]


def test_success_is_shown_where_a_task_reports_it(drawn):
    run = metrics(eval_return_mean=(1, NAN, 3), eval_success_any=(0, NAN, 1))
    (axis, lines), *_ = drawn({"nppac": [run]})
    assert axis.get_ylabel() == "success rate"
    assert points(lines["nppac (1 seed)"]) == [(0, 0), (40, 1)]
    assert axis.get_ylim() == pytest.approx((-0.02, 1.02))


def test_methods_have_their_mean_over_seeds_a_band_and_a_legend_that_counts_them(drawn):
    short = metrics(steps=(0, 20), eval_return_mean=(2, 4))
    long = metrics(eval_return_mean=(4, 8, 9))
    other = metrics(eval_return_mean=(0, 0, 1))
    (axis, lines), *_ = drawn({"nppac": [short, long], "sac": [other]})
    assert points(lines["nppac (2 seeds)"]) == [(0, 3), (20, 6)]  # where both were measured
    assert points(lines["sac (1 seed)"]) == [(0, 0), (20, 0), (40, 1)]
    assert len(axis.lines) == 4  # two thin ones for the seeds
    (band,) = axis.collections  # none for a single seed
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners == {(0, 2), (0, 4), (20, 4), (20, 8)}
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "nppac (2 seeds)",
        "sac (1 seed)",
    ]
    styles = {(line.get_color(), line.get_linestyle()) for line in lines.values()}
    assert len(styles) >= 2


def test_the_legend_of_long_names_stays_in_its_panel(drawn):
    runs = [metrics(eval_return_mean=(1, 2, 3))] * 2
    long = "nppac-anchored, discount 0.99, target kl max growth None, steps 60000"
    (axis, _), *_ = drawn({"nppac-anchored": runs, long: runs})
    legend = axis.get_legend()
    assert legend.get_window_extent().width < axis.get_window_extent().width
    assert legend.get_texts()[1].get_text().split() == [*long.split(), "(2", "seeds)"]


def test_a_single_run_shows_how_sure_its_episodes_are(drawn):
    run = metrics(
        eval_return_mean=(10, NAN, 20), eval_return_std=(5, NAN, 5), eval_episodes=(25, NAN, 25)
    )
    (axis, _), (kl, _), _ = drawn({"nppac": [run]})
    (band,) = axis.collections
    ends = {(x, round(y, 2)) for x, y in band.get_paths()[0].vertices.tolist()}
    assert ends == {(0, 8.04), (0, 11.96), (40, 18.04), (40, 21.96)}
    assert not kl.collections


def test_the_kl_of_a_policy_that_stays_put_looks_small(drawn):
    _, (kl, _), _ = drawn({"nppac": [metrics(eval_return_mean=(1, 2, 3), kl=(0, 1e-6, 3e-6))]})
    assert kl.get_ylim() == pytest.approx((0.0, 0.01), abs=1e-5)
    _, (kl, _), _ = drawn({"nppac": [metrics(eval_return_mean=(1, 2, 3), kl=(0, 1, 3))]})
    assert kl.get_ylim()[1] > 3


def test_a_single_evaluation_is_a_point_that_can_be_seen(drawn):
    (_, lines), *_ = drawn({"nppac": [metrics(eval_return_mean=(1, NAN, NAN))]})
    assert lines["nppac (1 seed)"].get_marker() == "o"


def test_a_run_without_updates_can_be_drawn(drawn):
    panels = drawn({"sac": [metrics(eval_return_mean=(1, 2, 3))]})
    assert [points(lines["sac (1 seed)"]) for _, lines in panels[1:]] == [[], []]


@pytest.mark.parametrize("title", ["cost_$5$_and_$", r"a\frac{", "x^2", "ü"])
def test_a_title_is_taken_as_it_is(drawn, title):
    (axis, _), *_ = drawn({"nppac": [metrics(eval_return_mean=(1, 2, 3))]}, title)
    assert axis.figure.get_suptitle() == title


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"curve\.png"):
        draw_learning_curves({"nppac": [metrics()]}, tmp_path / "file" / "curve.png", "door")
    assert plt.get_fignums() == []
