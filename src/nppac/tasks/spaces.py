"""Which spaces a task may have."""

import numpy as np
from gymnasium import spaces

from nppac.utils.errors import UserError


def check_spaces(name: str, observation: spaces.Space, action: spaces.Space) -> None:
    """Refuse spaces that are no bounded continuous actions or no vectors of observations."""
    if not _is_bounded_vector(action):
        raise UserError(
            f"Task '{name}' has the action space {action}: expected a one-dimensional Box of "
            "floats with finite bounds, low < high."
        )
    _check_observation(name, "", observation)


def _is_bounded_vector(space: spaces.Space) -> bool:
    if not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        return False
    real = np.issubdtype(space.dtype, np.floating)
    return bool(real and space.is_bounded() and np.all(space.low < space.high))


def _check_observation(name: str, key: str, space: spaces.Space) -> None:
    """Refuse anything but boxes of numbers, and dictionaries of them."""
    if isinstance(space, spaces.Dict):
        for child, inner in space.spaces.items():
            _check_observation(name, f"{key}{'.' if key else ''}{child}", inner)
        return
    if isinstance(space, spaces.Box) and not _is_image(space):
        return
    where = f" under '{key}'" if key else ""
    what = "images" if isinstance(space, spaces.Box) else "observations that are no numbers"
    raise UserError(
        f"Task '{name}' gives {what}{where}, {space}: expected a Box of numbers (positions, "
        "velocities, ...) or a Dict of such boxes. Wrap the environment to give such features."
    )


def _is_image(space: spaces.Box) -> bool:
    return len(space.shape) >= 3 or (len(space.shape) == 2 and space.dtype == np.uint8)
