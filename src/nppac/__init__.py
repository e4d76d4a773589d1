"""KL-regularised reinforcement learning from a few demonstrations.

A *reference policy* is fitted to reward-free demonstrations and an online policy is trained by a
KL-regularised actor-critic against it. The reference is a Gaussian process posterior, whose
predictive variance grows away from the data instead of collapsing.
"""

from nppac.utils.version import VERSION

TYPE_CHECKING = False  # as in `typing`, whose import an impatient Ctrl-C would find unfinished
if TYPE_CHECKING:
    from nppac.api import (
        RunConfig,
        RunResult,
        TaskSpec,
        diagnose,
        evaluate,
        fit_reference,
        load_demos,
        load_reference,
        load_run,
        register_task,
        settings,
        train,
    )
    from nppac.deploy.numpy_policy import NumpyPolicy
    from nppac.deploy.policy import EnvironmentPolicy, load_policy

__all__ = [
    "EnvironmentPolicy",
    "NumpyPolicy",
    "RunConfig",
    "RunResult",
    "TaskSpec",
    "diagnose",
    "evaluate",
    "fit_reference",
    "load_demos",
    "load_policy",
    "load_reference",
    "load_run",
    "register_task",
    "settings",
    "train",
]
__version__ = VERSION

_LIGHT = {
    "EnvironmentPolicy": "nppac.deploy.policy",
    "NumpyPolicy": "nppac.deploy.numpy_policy",
    "load_policy": "nppac.deploy.policy",
}
"""What needs NumPy alone, so that the computer of a robot need not have the rest."""


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'nppac' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LIGHT.get(name, "nppac.api")), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
