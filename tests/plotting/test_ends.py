import numpy as np
import pytest
from matplotlib.figure import Figure

from nppac.plotting.ends import draw_ends


def run(*successes):
    return {"env_steps": np.arange(len(successes)) * 10.0} | {
        "eval_success_any": np.array(successes, float)
    }


def test_a_row_for_each_group_with_a_dot_for_each_run_and_their_interval(monkeypatch, tmp_path):
    axes = []
    inner = Figure.savefig

    def savefig(figure, *args, **kwargs):
        axes.extend(figure.axes)
        inner(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", savefig)
    groups = {"first": [run(0.2, np.nan, 0.5), run(0.4, 0.7)], "a $\\cost$": [run(0.9, 1.0)]}
    draw_ends(groups, tmp_path / "ends.png", "title")
    (axis,) = axes
    start, mean, *rows = [(list(line.get_xdata()), line.get_ydata()) for line in axis.lines]
    assert start[0] == pytest.approx([0.3, 0.3])
    assert mean[0] == pytest.approx([0.6, 0.6])
    first, second = [x for x, _ in rows[:3]], [x for x, _ in rows[3:]]
    assert first == [[0.5, 0.7], [0.5, 0.7], [pytest.approx(0.6)]]  # dots, interval, mean
    assert second[0] == second[2] == [1.0]
    assert np.isnan(second[1]).all()  # one run has no interval
    assert [next(iter(y)) for _, y in rows] == [0, 0, 0, 1, 1, 1]
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == ["first (2 seeds)", "a $\\cost$ (1 seed)"]
    assert (tmp_path / "ends.png").stat().st_size > 1000


def test_the_label_fits_however_long_the_rows_names_are(monkeypatch, tmp_path):
    inside = []
    inner = Figure.savefig

    def savefig(figure, *args, **kwargs):
        inner(figure, *args, **kwargs)
        extent = figure.findobj(lambda a: "last evaluation" in getattr(a, "_text", ""))[0]
        box = extent.get_window_extent()
        inside.append(box.x0 >= 0 and box.x1 <= figure.bbox.x1)

    monkeypatch.setattr(Figure, "savefig", savefig)
    draw_ends({"a long name, of many settings, " * 2: [run(0.3, 1.0)]}, tmp_path / "e.png", "t")
    assert inside == [True]
