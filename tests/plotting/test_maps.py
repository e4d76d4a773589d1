import numpy as np
import pytest
from matplotlib.figure import Figure

from nppac.plotting.maps import draw_maps
from nppac.utils.files import write_arrays


def row(i, panels):
    rng = np.random.default_rng(0)
    return {
        f"{i}_title": np.asarray("door"),
        f"{i}_panels": np.asarray(panels),
        f"{i}_variance": np.exp(rng.normal(size=(len(panels), 4, 5))),
        f"{i}_first": np.linspace(-1, 1, 5),
        f"{i}_second": np.linspace(-2, 2, 4),
        f"{i}_explained": np.array([0.5, 0.25]),
        f"{i}_demos": np.array([[0.0, 0.0], [0.5, 0.5], [np.nan, np.nan]]),
    }


@pytest.mark.parametrize("panels", [["a", "b"], ["a", "b", "c", "d"]])
def test_the_panels_of_a_row_share_one_colour_scale(panels, tmp_path, monkeypatch):
    scales = []
    inner = Figure.savefig

    def savefig(figure, *args, **kwargs):
        inner(figure, *args, **kwargs)
        meshes = [a.collections[0] for a in figure.axes if a.get_title() in panels]
        scales.extend({(m.norm.vmin, m.norm.vmax) for m in meshes})
        assert [a.get_title() for a in figure.axes if a.get_title()] == panels

    monkeypatch.setattr(Figure, "savefig", savefig)
    write_arrays(tmp_path / "maps.npz", {"rows": np.asarray(1), **row(0, panels)})
    draw_maps(tmp_path / "maps.npz", tmp_path / "maps.png", "Maps")
    assert len(scales) == 1
    assert (tmp_path / "maps.png").stat().st_size > 1000
