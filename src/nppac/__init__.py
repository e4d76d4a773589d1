"""KL-regularised reinforcement learning from a few demonstrations.

A *reference policy* is fitted to reward-free demonstrations and an online policy is trained by a
KL-regularised actor-critic against it. The reference is a Gaussian process posterior, whose
predictive variance grows away from the data instead of collapsing.
"""

from nppac.deploy.numpy_policy import NumpyPolicy
from nppac.deploy.numpy_policy import load_numpy_policy as load_policy
from nppac.utils.version import VERSION

__all__ = ["NumpyPolicy", "load_policy"]
__version__ = VERSION
