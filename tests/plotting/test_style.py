import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest

from nppac.plotting.style import DPI, line_style, panels_in_a_row, save_figure


def test_sixteen_lines_can_be_told_apart():
    styles = [line_style(i) for i in range(16)]
    assert len({(style["color"], style["linestyle"]) for style in styles}) == 16
    assert [style["linestyle"] for style in styles[:4]] == ["-", "--", "-.", ":"]


@pytest.mark.parametrize("limit", [8e6, 8e5, 8e4, 8e-4, 8e-5])
def test_the_text_of_panels_in_a_row_neither_overlaps_nor_is_cut_off(limit):
    figure, axes = panels_in_a_row(2, (7, 3.2), above=0.42, below=0.55)
    for axis in axes:
        axis.set(xlabel="steps", ylabel="return", title="many", xlim=(0, 1), ylim=(-limit, limit))
    boxes = [axis.get_tightbbox().transformed(figure.transFigure.inverted()) for axis in axes]
    places = [0.0, *(edge for box in boxes for edge in (box.x0, box.x1)), 1.0]
    assert all(left < right for left, right in itertools.pairwise(places))
    assert all(0.0 < box.y0 < box.y1 < 1.0 for box in boxes)
    plt.close(figure)


def test_a_figure_is_laid_out_as_matplotlib_would(tmp_path):
    def made():
        figure, axes = plt.subplots(1, 2, figsize=(4, 2), layout="constrained")
        axes[0].set(ylabel="a label", title="a title")
        return figure, axes

    (ours, our_axes), (theirs, their_axes) = made(), made()
    save_figure(ours, tmp_path / "ours.png")
    theirs.savefig(tmp_path / "theirs.png", dpi=DPI)
    for our, their in zip(our_axes, their_axes, strict=True):
        np.testing.assert_allclose(our.get_position().bounds, their.get_position().bounds)
    np.testing.assert_array_equal(
        plt.imread(tmp_path / "ours.png"), plt.imread(tmp_path / "theirs.png")
    )
    plt.close(theirs)
