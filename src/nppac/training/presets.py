"""The settings of a method for a task, as the configuration of a run."""

from collections.abc import Mapping
from typing import cast, get_args

from nppac.agents.registry import Preset, get_method
from nppac.demos import embedded_names
from nppac.training.config import RunConfig
from nppac.utils.errors import unknown_name


def preset(task: str, method: str = "nppac", name: str = "default") -> RunConfig:
    """The configuration of a run; a task without settings of its own takes the locomotion ones.

    `method` is a registered name, or the user's own as `module:name`.
    """
    chosen = get_method(method)
    if name not in get_args(Preset):
        raise unknown_name("preset", name, get_args(Preset))
    recipe = chosen.recipe(task, cast(Preset, name))
    demos = task if task in embedded_names() and chosen.needs != "nothing" else None
    return RunConfig(
        task=task,
        method=method,
        demos=demos,
        reference=recipe.reference,
        agent=recipe.agent,
        gp=recipe.gp,
        schedule=recipe.schedule,
    )


def default_method(name: str) -> str:
    """The paper's own method with the paper's settings; otherwise the best that was measured."""
    return "nppac" if name == "paper" else "nppac-anchored"


def overlaid(base: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Plain settings with some of them given anew, in each part of them."""
    merged = {name: value for name, value in base.items() if name != "version"}
    for name, value in given.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = {**cast(dict, old), **cast(dict, value)} if both else value
    return merged
