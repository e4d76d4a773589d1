"""Which spaces a task may have."""

import numpy as np
from gymnasium import spaces

from nppac.utils.errors import UserError


def check_spaces(name: str, observation: spaces.Space, action: spaces.Space) -> None:
    """Refuse spaces that are no bounded continuous actions or no vectors of observations."""
    if not _is_bounded_vector(action):
        raise UserError(
            f"Task '{name}' has the action space {action}: expected a one-dimensional Box of "
            f"floats with finite bounds, low < high. {_remedy(action)}"
        )
    _check_observation(name, "", observation)


def _is_bounded_vector(space: spaces.Space) -> bool:
    if not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        return False
    real = np.issubdtype(space.dtype, np.floating)
    return bool(real and space.is_bounded() and np.all(space.low < space.high))


def _remedy(space: spaces.Space) -> str:
    """What to do about an action space that is none of bounded floats."""
    if not isinstance(space, spaces.Box):
        return (
            "Methods for choices, such as DQN, suit it. Otherwise register an environment that "
            "takes a vector and chooses by it: wrap this one with a gymnasium.ActionWrapper, or "
            "take its continuous version if there is one (LunarLanderContinuous-v3)."
        )
    if not np.issubdtype(space.dtype, np.floating):
        return "Wrap it with gymnasium.wrappers.TransformAction to take floats, and round them."
    if len(space.shape) != 1:
        return "Wrap it with gymnasium.wrappers.TransformAction to take the flattened matrix."
    if not space.is_bounded():
        return (
            "Wrap it with gymnasium.wrappers.TransformAction and give its action_space the bounds "
            "that its motors have, or register it with gymnasium.wrappers.ClipAction inside them."
        )
    return "Leave out the entries that cannot move: gymnasium.wrappers.TransformAction."


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
