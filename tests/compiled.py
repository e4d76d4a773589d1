"""An agent whose methods are whole programs, as in training.

Called as they are they are compiled operation by operation, which takes far longer.
"""

import copy
import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp


class Compiled:
    """What the agent is, but that each method that is given arrays is one program.

    `init` is none: agents of the same sizes share the programs that draw their networks, whatever
    else they are told, while a program of its own would be another for each of them.

    Settings that are named are no part of the programs, but arguments: agents that differ in
    nothing else share them. A function that is given such a setting must take an array for it.
    """

    def __init__(self, agent, *arguments):
        self.agent, self.arguments = agent, arguments

    def __getattr__(self, name):
        value = getattr(self.agent, name)
        return partial(self._call, value) if callable(value) else value

    def _call(self, method, *args):
        if method.__name__ == "init" or not any(map(eqx.is_array, jax.tree.leaves(args))):
            return method(*args)
        settings = {name: jnp.float32(getattr(self.agent, name)) for name in self.arguments}
        usual = {name: getattr(type(self.agent), name) for name in self.arguments}
        agent = dataclasses.replace(self.agent, **usual) if usual else self.agent
        return _program(agent, settings, method.__name__, *args)


@eqx.filter_jit
def _program(agent, settings, name, *args):
    agent = copy.copy(agent)
    for setting, value in settings.items():
        object.__setattr__(agent, setting, value)
    return getattr(agent, name)(*args)
