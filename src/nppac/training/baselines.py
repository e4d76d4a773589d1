"""The settings of every method that the paper compares with, as their authors have them.

Each function makes a method's configuration out of N-PPAC's for the same task, so that networks,
budget and evaluation stay the same unless the method says otherwise.
"""

from collections.abc import Callable
from dataclasses import replace

from nppac.agents.abm import ABM
from nppac.agents.awac import AWAC
from nppac.agents.awr import AWR
from nppac.agents.bear import BEAR
from nppac.agents.dapg import DAPG
from nppac.agents.kl_actor_critic import KLActorCritic
from nppac.agents.sac_bc import SACBC
from nppac.agents.schedule import Schedule
from nppac.training.config import RunConfig

Baseline = Callable[[RunConfig, bool], RunConfig]
"""From N-PPAC's configuration, and whether the task is a dexterous one, to the method's."""


def _sac(paper: RunConfig, dexterous: bool) -> RunConfig:
    """SAC is the same agent against the uniform reference, with its own α."""
    agent = replace(paper.agent, temperature=1.0, tune_temperature=True)
    return _without_reference(paper, agent)


def _sacfd(paper: RunConfig, dexterous: bool) -> RunConfig:
    return _with_demos(_sac(paper, dexterous))


def _sac_bc(paper: RunConfig, dexterous: bool) -> RunConfig:
    """On the dexterous tasks next to no entropy, as its authors have it.

    An unsquashed policy gains entropy outside the box for ever; with rewards of 0 and 1 that is all
    the critics then see.
    """
    agent = SACBC(
        head=paper.agent.head,
        policy_hidden=paper.agent.policy_hidden,
        temperature=1e-3 if dexterous else 1.0,
        tune_temperature=not dexterous,
    )
    return _with_demos(_without_reference(paper, agent))


def replaced_reference(nppac: RunConfig) -> RunConfig:
    """BRAC as the paper has it: N-PPAC with a cloned network, and four samples of the KL."""
    agent = replace(nppac.agent, kl="sample", kl_samples=4)
    return replace(nppac, reference="network-entropy", agent=agent)


def _rlpd(paper: RunConfig, dexterous: bool) -> RunConfig:
    """Twenty critic steps an environment step are the authors'; a small machine affords fewer."""
    hidden = (256, 256, 256) if dexterous else (256, 256)
    agent = KLActorCritic(
        policy_hidden=hidden,
        critic_hidden=hidden,
        num_qs=10,
        num_min_qs=2,
        policy_value="mean",
        layer_norm=True,
        temperature=1.0,
        tune_temperature=True,
        entropy_target=-0.5,
        backup_kl=not dexterous,
        utd_ratio=20,
        offline_ratio=0.5,
    )
    config = _without_reference(paper, agent)
    schedule = replace(config.schedule, random_steps=5_000, warmup_steps=5_000, batch_size=256)
    return replace(config, schedule=schedule)


def _awac(paper: RunConfig, dexterous: bool) -> RunConfig:
    agent = AWAC(
        policy_hidden=(256, 256) if dexterous else (256, 256, 256, 256),
        advantage_scale=0.5 if dexterous else 2.0,
        advantage_limit=0.5 if dexterous else None,
        baseline="mode" if dexterous else "sample",
    )
    config = _with_demos(_without_reference(paper, agent))
    offline = 25_000 if dexterous else 50_000
    schedule = replace(config.schedule, offline_updates=offline, batch_size=1024)
    return replace(config, schedule=schedule)


def _bear(paper: RunConfig, dexterous: bool) -> RunConfig:
    """Four fifths of the offline updates build the constraint before the critics have a say."""
    config = _offline(_with_demos(_without_reference(paper, BEAR())), 25_000)
    warmup = config.schedule.offline_updates * 4 // 5
    schedule = replace(config.schedule, batch_size=256)
    return replace(config, agent=BEAR(warmup_updates=warmup), schedule=schedule)


def _abm(paper: RunConfig, dexterous: bool) -> RunConfig:
    return _offline(_with_demos(_without_reference(paper, ABM())), 25_000)


def _awr(paper: RunConfig, dexterous: bool) -> RunConfig:
    """Epochs of 2,500 steps, so that evaluations fall between them; the authors' have 2,048."""
    agent = AWR(
        scale=0.2 if paper.task == "ant" else 0.4,
        policy_learning_rate=2.5e-5 if paper.task == "walker2d" else 5e-5,
    )
    config = _with_demos(_without_reference(paper, agent))
    schedule = replace(config.schedule, epoch_steps=2_500, warmup_steps=0, replay_capacity=50_000)
    return replace(config, schedule=schedule)


def _dapg(paper: RunConfig, dexterous: bool) -> RunConfig:
    """200 episodes an iteration are the authors'; the locomotion tasks, which they lack, take 10.

    The value network passes over them twice.
    """
    epoch = {"door": 40_000, "pen": 20_000}.get(paper.task, 10_000)
    agent = DAPG()
    agent = replace(agent, critic_updates=2 * epoch // agent.minibatch_size)
    config = _without_reference(paper, agent)
    schedule = replace(
        config.schedule,
        steps=-(-config.schedule.steps // epoch) * epoch,
        epoch_steps=epoch,
        warmup_steps=0,
        replay_capacity=epoch,
        eval_every=epoch,
        checkpoint_every=epoch,
        pretrain_epochs=5,
        pretrain_batch_size=32,
    )
    return replace(config, schedule=schedule)


def _without_reference(paper: RunConfig, agent: object) -> RunConfig:
    """The uniform reference, which costs nothing, and no pretraining towards it."""
    schedule = replace(paper.schedule, pretrain_epochs=0, pretrain_copies=0)
    return replace(paper, reference="uniform", agent=agent, schedule=schedule)


def _with_demos(config: RunConfig) -> RunConfig:
    schedule: Schedule = replace(config.schedule, demos_in_replay=True)
    return replace(config, schedule=schedule)


def _offline(config: RunConfig, updates: int) -> RunConfig:
    """Gradient steps on the demonstrations before the first environment step."""
    return replace(config, schedule=replace(config.schedule, offline_updates=updates))


BASELINES: dict[str, Baseline] = {
    "sac": _sac,
    "sacfd": _sacfd,
    "sac-bc": _sac_bc,
    "rlpd": _rlpd,
    "awac": _awac,
    "bear": _bear,
    "abm": _abm,
    "awr": _awr,
    "dapg": _dapg,
}
