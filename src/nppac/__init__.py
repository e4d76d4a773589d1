"""KL-regularised reinforcement learning from a few demonstrations.

A *reference policy* is fitted to reward-free demonstrations and an online policy is trained by a
KL-regularised actor-critic against it. The reference is a Gaussian process posterior, whose
predictive variance grows away from the data instead of collapsing.
"""

from nppac.plain_policy import PlainPolicy, load_policy

__all__ = ["PlainPolicy", "load_policy"]
__version__ = "0.1.0"
