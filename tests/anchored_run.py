"""A run of the anchored method as training would leave it, made without any training."""

from pathlib import Path

import jax
import numpy as np

from nppac.agents.anchored_actor_critic import Anchored
from nppac.agents.replay import empty_replay, insert
from nppac.nn.mlp import MLP
from nppac.nn.standardise import Standardiser
from nppac.references import NetworkConfig
from nppac.references.neural.model import DensityNetworks
from nppac.references.neural.network import NetworkReference, Parts
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import rollout
from nppac.training.checkpoint import Progress, save_checkpoint
from nppac.training.config import to_json
from nppac.training.directory import CHECKPOINT_FILE, CONFIG_FILE, REFERENCE_FILE
from nppac.training.transitions import transitions
from nppac.training.trust import TOKEN, made_here_token
from nppac.utils.files import write_json
from toy_task import ACTION_DIM, OBS_DIM, TASK, expert, make_config

AGENT = Anchored(policy_hidden=(8,), critic_hidden=(4,), num_qs=1)
CAPACITY = 40


def write_anchored_run(directory: Path) -> Path:
    """A random reference, a random correction to it, and a ring that has gone round once."""
    mean, variance = (MLP(jax.random.key(k), OBS_DIM, (8,), ACTION_DIM, 1.0) for k in (1, 3))
    networks = DensityNetworks(mean, variance)
    units = Standardiser(np.zeros(OBS_DIM), np.ones(OBS_DIM))
    reference = NetworkReference(Parts(networks, units, NetworkConfig(hidden=(8,)), {}))
    reference.save(directory / REFERENCE_FILE)
    config = make_config(method="nppac-anchored", agent=AGENT, reference="network")
    stored = to_json(config)
    made_here = {TOKEN: made_here_token(stored)}
    write_json(directory / CONFIG_FILE, {**stored, "provenance": made_here})
    state = AGENT.init(jax.random.key(2), OBS_DIM, ACTION_DIM)
    state = state._replace(policy=jax.tree.map(lambda leaf: 30 * leaf, state.policy))
    replay = empty_replay(CAPACITY, OBS_DIM, ACTION_DIM)
    for seeds in (range(3), range(3, 8)):
        episodes = rollout([make_env(get_task(TASK))], expert, seeds)
        replay = insert(replay, transitions(episodes, reference))
    save_checkpoint(directory / CHECKPOINT_FILE, Progress(), state, replay)
    return directory
