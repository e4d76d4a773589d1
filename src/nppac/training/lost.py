"""Where a run's agent is lost: the threshold that its reference implies."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from nppac.agents.base import Agent, SearchingAgent
from nppac.references import Reference


def with_lost_scale(agent: Agent, reference: Reference) -> Agent:
    """The agent with the `lost_scale` that its `lost_ratio` means for this reference."""
    if not takes_lost_ratio(agent):
        return agent
    far = reference.far_scale()
    if far is None:
        return agent
    ratio = cast(SearchingAgent, agent).lost_ratio
    return cast(Agent, replace(cast(Any, agent), lost_scale=ratio * float(np.mean(far))))


def takes_lost_ratio(agent: Agent) -> bool:
    """Whether the agent asks for a threshold in units of its reference's scale."""
    return isinstance(agent, SearchingAgent) and agent.lost_ratio > 0 and not agent.lost_scale
