"""An agent whose methods are whole programs, as in training.

Called as they are they are compiled operation by operation, which takes far longer.
"""

from functools import partial

import equinox as eqx
import jax


class Compiled:
    """What the agent is, but that each method that is given arrays is one program."""

    def __init__(self, agent):
        self.agent = agent

    def __getattr__(self, name):
        value = getattr(self.agent, name)
        return partial(_call, value) if callable(value) else value


def _call(method, *args):
    arrays = any(eqx.is_array(leaf) for leaf in jax.tree.leaves(args))
    return _program(method.__self__, method.__name__, *args) if arrays else method(*args)


@eqx.filter_jit
def _program(agent, name, *args):
    return getattr(agent, name)(*args)
