import numpy as np
import pytest

from nppac.demos import demos_from_episodes, save_demos
from nppac.reproduce import FIGURES, reproduce
from nppac.reproduce import sources as sources_module
from nppac.reproduce.sources import ComputeBudget, task_sources
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.files import read_arrays

TINY = ComputeBudget(epochs=2, seeds=2, grid=4, gp_points=20, gp_steps=2, demo_episodes=2)


@pytest.fixture
def door(tmp_path):
    """Demonstrations of the shape of the door task's."""
    rng = np.random.default_rng(0)
    episodes = [
        Episode(rng.normal(size=(31, 39)).cumsum(0) / 10, rng.uniform(-1, 1, (30, 28)))
        for _ in range(2)
    ]
    demos = demos_from_episodes(
        episodes, env_id="AdroitHandDoorSparse-v1", env_kwargs={}, provenance={}
    )
    save_demos(tmp_path / "door.npz", demos)
    return {"door": str(tmp_path / "door.npz")}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(ComputeBudget, "quick", classmethod(lambda cls: TINY))
    monkeypatch.setattr(sources_module, "embedded_names", lambda: [])


FAST = ("prop1", "fig-collapse", "fig-heatmaps")
CASES = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]


@pytest.mark.parametrize("name", CASES)
def test_every_figure_saves_its_data_and_draws_it(name, door, tmp_path):
    made = reproduce(name, tmp_path / "out", door, quick=True)
    assert made.data.exists()
    assert made.picture.read_bytes().startswith(b"\x89PNG")
    if name == "fig-heatmaps":
        assert [note.split(":")[0] for note in made.notes] == [
            "pen",
            "halfcheetah",
            "walker2d",
            "ant",
        ]
        assert read_arrays(made.data)["0_variance"].shape == (2, 4, 4)
    if name == "fig-collapse":
        assert read_arrays(made.data)["variance"].shape == (2, 2)


def test_given_demonstrations_come_before_embedded_ones(monkeypatch):
    monkeypatch.setattr(sources_module, "embedded_names", lambda: ["door", "pen"])
    assert task_sources({"pen": "mine.npz"}) == {"door": "door", "pen": "mine.npz"}


def test_missing_demonstrations_and_unknown_figures_are_named(tmp_path):
    with pytest.raises(UserError, match="demonstrations of 'door'"):
        reproduce("fig-collapse", tmp_path, quick=True)
    with pytest.raises(UserError, match="fig-heatmaps"):
        reproduce("fig-heatmap", tmp_path)
