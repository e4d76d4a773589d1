"""What a search tries: a grid, or random draws, the same number for every method."""

import math
from collections.abc import Mapping
from itertools import product

import numpy as np

from nppac.sweeps.overrides import Overrides
from nppac.utils.errors import UserError, unknown_name

Space = Mapping[str, object]
"""For each setting its values: a list, or {low, high, log} for random draws."""
MOST_TRIALS = 1_000
UNEQUAL = ("steps", "updates_per_step", "offline_updates", "eval_every", "eval_episodes")
"""What would give one trial a larger budget than another, or judge it otherwise."""


def grid_trials(space: Space, where: str) -> tuple[Overrides, ...]:
    """Every combination of the listed values."""
    for name, values in space.items():
        if not isinstance(values, list) or not values:
            raise UserError(f"{where}: '{name}' is {values!r:.60}; a grid needs a list of values.")
    count = math.prod(len(values) for values in space.values() if isinstance(values, list))
    if count > MOST_TRIALS:
        raise UserError(f"{where}: the grid has {count:,} points; at most {MOST_TRIALS:,}.")
    lists = [values for values in space.values() if isinstance(values, list)]
    return tuple(dict(zip(space, point, strict=True)) for point in product(*lists))


def random_trials(space: Space, trials: int, seed: int, where: str) -> tuple[Overrides, ...]:
    """So many draws; the first so many of a longer search with the same seed are the same."""
    if trials > MOST_TRIALS:
        raise UserError(f"{where}: 'trials' is {trials:,}; it must be at most {MOST_TRIALS:,}.")
    rng = np.random.default_rng(seed)
    return tuple(
        {name: _draw(values, rng, f"{where}: '{name}'") for name, values in space.items()}
        for _ in range(trials)
    )


def _draw(values: object, rng: np.random.Generator, where: str) -> object:
    if isinstance(values, list) and values:
        return values[int(rng.integers(len(values)))]
    if not isinstance(values, dict):
        raise UserError(f"{where} is {values!r:.60}; write a list, or {{low: 0.1, high: 1}}.")
    for key in values:
        if key not in ("low", "high", "log"):
            raise UserError(f"{where}: {unknown_name('key', str(key), ('low', 'high', 'log'))}")
    low, high, log = values.get("low"), values.get("high"), values.get("log", False)
    numbers = [end for end in (low, high) if isinstance(end, int | float) and end is not True]
    if len(numbers) != 2 or not numbers[0] < numbers[1] or (log and numbers[0] <= 0):
        raise UserError(f"{where}: 'low' must be below 'high', and above 0 with 'log: true'.")
    first, last = numbers
    if log:
        return float(np.exp(rng.uniform(np.log(first), np.log(last))))
    return float(rng.uniform(first, last))


def check_space(space: Space, where: str) -> None:
    """Refuse to search over what would give trials unequal budgets."""
    for name in space:
        if str(name).replace("-", "_").removeprefix("schedule.") in UNEQUAL:
            raise UserError(
                f"{where}: '{name}' decides the budget of a trial, which must be the same for all. "
                "Give it under 'settings'."
            )
