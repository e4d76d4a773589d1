"""Draws each figure; Matplotlib is imported then, since it takes longer than most commands do."""

from collections.abc import Callable
from pathlib import Path


def maps_titled(title: str) -> Callable[[Path, Path], None]:
    """Draws maps of the variance under a title."""

    def draw(data: Path, picture: Path) -> None:
        from nppac.plotting.maps import draw_maps

        draw_maps(data, picture, title)

    return draw


def picture_of_collapse(data: Path, picture: Path) -> None:
    """Draws how the variance off the data collapses."""
    from nppac.plotting.collapse import draw_collapse

    draw_collapse(data, picture)


def picture_of_trajectories(data: Path, picture: Path) -> None:
    """Draws mean trajectories with their variance."""
    from nppac.plotting.trajectories import draw_trajectories

    draw_trajectories(data, picture)


def picture_of_proposition(data: Path, picture: Path) -> None:
    """Draws the gradient against the variance."""
    from nppac.plotting.proposition import draw_proposition

    draw_proposition(data, picture)
