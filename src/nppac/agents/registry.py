"""Methods by name: the built-in ones, and the user's own as `module:name`.

A method is an agent, its settings for each task and preset, and what it needs of demonstrations.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, get_args

from nppac.agents.base import Agent, MinibatchAgent, ReplayAgent
from nppac.agents.schedule import Schedule
from nppac.references import GPConfig
from nppac.utils.errors import UserError, unknown_name
from nppac.utils.imports import import_users

Preset = Literal["default", "paper"]
"""The settings that work best on a small machine, or those of the paper."""

Needs = Literal["nothing", "actions", "rewards", "episodes"]
"""Of demonstrations: nothing, states and actions, rewards too, or whole episodes with rewards."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a method for one task and preset."""

    agent: Agent
    schedule: Schedule
    reference: str
    """Reference policy by name, as in `nppac references`."""
    gp: GPConfig


@dataclass(frozen=True)
class Method:
    """A method of the catalogue."""

    name: str
    agent: type
    """Class of the agent, whose fields are its settings."""
    regulariser: str
    """How the policy is kept near the demonstrations, in a few words."""
    needs: Needs
    reference: str
    """Reference of its recipes; of one that mixes two, the one that gives the scale."""
    summary: str
    recipe: Callable[[str, Preset], Recipe]
    """The settings for a task and a preset."""


METHODS: dict[str, Method] = {}
"""Every registered method by name."""


def register_method(method: Method) -> None:
    """Make a method known by its name, which may stand for one method only."""
    if METHODS.get(method.name, method) != method:
        raise UserError(f"The method '{method.name}' is registered already. Choose another name.")
    METHODS[method.name] = method


def get_method(name: str) -> Method:
    """The registered method `name`, or the user's own as `module:name`.

    In a module, `name` is an agent class, a `Method`, or a name that the module registers.
    """
    if name in METHODS:
        return METHODS[name]
    module, _, own_name = name.rpartition(":")
    if not module:
        raise unknown_name("method", name, METHODS)
    imported = import_users(module, f"the method '{name}'")
    found = getattr(imported, own_name, METHODS.get(own_name))
    if isinstance(found, Method):
        return dataclasses.replace(found, name=name)
    if isinstance(found, type):
        return method_of_agent(name, found)
    agents = [key for key, value in vars(imported).items() if _is_agent_class(value)]
    if found is None and agents:
        raise unknown_name(f"agent of the module '{module}'", own_name, agents)
    raise UserError(
        f"The method '{name}' must be an agent class or a Method; '{own_name}' of the module "
        f"'{module}' is {'missing' if found is None else repr(found)}."
    )


def method_of_agent(name: str, agent: type) -> Method:
    """A method for an agent class of the user's own.

    The class attributes `needs`, `reference` and `summary` say more about it; `recipe` takes
    everything else from N-PPAC's settings for the task.
    """
    needs = cast(Needs, getattr(agent, "needs", "actions"))
    if needs not in get_args(Needs):
        raise unknown_name(f"value of '{agent.__name__}.needs'", needs, get_args(Needs))
    reference = getattr(agent, "reference", "uniform" if needs == "nothing" else "gp")
    made = make_agent(agent, name)

    def recipe(task: str, preset: Preset) -> Recipe:
        base = METHODS["nppac"].recipe(task, preset)
        schedule = base.schedule
        if reference == "uniform":  # nothing to pretrain towards
            schedule = dataclasses.replace(schedule, pretrain_epochs=0, pretrain_copies=0)
        return Recipe(made, schedule, reference, base.gp)

    summary = getattr(agent, "summary", "A method of your own.")
    return Method(name, agent, "its own", needs, reference, summary, recipe)


def make_agent(kind: type, name: str) -> Agent:
    """An agent with its default settings, checked against the protocol of `nppac.agents.base`."""
    if not dataclasses.is_dataclass(kind):
        raise UserError(
            f"The agent of the method '{name}' must be a frozen dataclass whose fields are its "
            "settings: add @dataclass(frozen=True)."
        )
    try:
        agent = kind()
        hash(agent)
    except TypeError as error:
        raise UserError(
            f"The agent of the method '{name}' cannot be made with its defaults: {error}. It must "
            "be a frozen dataclass whose fields all have hashable defaults."
        ) from error
    if not isinstance(agent, MinibatchAgent | ReplayAgent):
        lacking = ", ".join(_lacking(agent, MinibatchAgent))
        raise UserError(
            f"The agent of the method '{name}' lacks {lacking}. An agent has what "
            "nppac.agents.base.MinibatchAgent or ReplayAgent has."
        )
    return cast(Agent, agent)


def _lacking(agent: object, protocol: type) -> list[str]:
    """Public members of a protocol that an agent does not have."""
    wanted = {name for kind in protocol.__mro__ for name in vars(kind) if name[0] != "_"}
    return sorted(name for name in wanted if not hasattr(agent, name))


def _is_agent_class(value: object) -> bool:
    return isinstance(value, type) and dataclasses.is_dataclass(value) and hasattr(value, "init")
