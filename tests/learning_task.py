"""A task on which every method shows that it learns, in a minute or less: swinging up a pendulum.

The demonstration is one episode of our own SAC. Small networks and fast targets serve all methods
alike; what a method needs beyond that is in `OWN`.
"""

from dataclasses import fields, replace
from pathlib import Path

from nppac.demos import demos_from_episodes, load_demos, save_demos
from nppac.evaluation.evaluate import evaluate_in
from nppac.evaluation.metrics import METRICS_FILE, load_metrics
from nppac.references import NetworkConfig, fit_network
from nppac.tasks import get_task, make_env
from nppac.tasks.rollout import episode_seeds, rollout
from nppac.training.presets import preset
from nppac.training.restore import load_run_policy
from nppac.training.runs import start_run

TASK = "Pendulum-v1"
STEPS = 10_000
EPISODES = 20

AGENT = {
    "policy_hidden": (64, 64),
    "critic_hidden": (64, 64),
    "learning_rate": 3e-3,
    "discount": 0.98,
    "tau": 0.02,
}
SCHEDULE = {
    "steps": STEPS,
    "batch_size": 128,
    "eval_every": STEPS,
    "eval_episodes": EPISODES,
    "checkpoint_every": STEPS,
    "offline_updates": 0,
}
# One demonstration teaches little: what keeps a good start on runners would keep a bad one here.
PLAIN: dict[str, object] = {
    "temperature": 0.01,
    "temperature_in_q_units": False,
    "critic_warmup_updates": 0,
    "backup_kl": True,
    "exploration_noise": 1.0,
}
# Weighted imitation explores with the noise it imitates: little, if there is one demonstration.
OWN: dict[str, dict[str, object]] = {
    "nppac": PLAIN,
    "nppac-anchored": {
        "tune_temperature": False,  # one swing makes a poor reference, and the policy must leave it
        "temperature": 0.1,
        "temperature_in_q_units": False,
        "critic_warmup_updates": 1_000,
        "utd_ratio": 1,
    },
    "brac": PLAIN,
    "rlpd": {"utd_ratio": 1, "random_steps": 1_000, "warmup_steps": 1_000},
    "awac": {"advantage_scale": 0.3, "exploration_noise": 3.0},
    "bear": {"cvae_hidden": (64, 64), "warmup_updates": 1_000, "steps": 20_000},
    "abm": {"exploration_noise": 3.0, "steps": 20_000},
    "awr": {"policy_learning_rate": 1e-3, "steps": 100_000},
    "dapg": {"utd_ratio": 100, "steps": 100_000, "epoch_steps": 2_000},
}


def settings(method: str, seed: int, demos: Path | None):
    """The method's preset with the settings above."""
    config = preset(TASK, method)
    wanted = AGENT | SCHEDULE | OWN.get(method, {})
    steps = wanted["steps"]
    wanted |= {"eval_every": steps, "checkpoint_every": steps}
    if method == "dapg":
        wanted["replay_capacity"] = wanted["epoch_steps"]
    agent, schedule = config.agent, config.schedule
    source = None if demos is None else str(demos)
    return replace(
        config,
        seed=seed,
        demos=source,
        agent=replace(agent, **known_settings(agent, wanted)),
        schedule=replace(schedule, **known_settings(schedule, wanted)),
        network=NetworkConfig(max_epochs=200),
    )


def known_settings(settings, wanted):
    names = {field.name for field in fields(settings)}
    return {name: value for name, value in wanted.items() if name in names}


def demonstrate(directory: Path) -> Path:
    """Train SAC, let it act, and keep one episode; the file that holds it."""
    start_run(settings("sac", 0, None), directory / "expert")
    _, act = load_run_policy(directory / "expert")
    envs = [make_env(get_task(TASK))]
    episodes = rollout(envs, act, [next(episode_seeds(7, "demonstration"))])
    path = directory / "demonstration.npz"
    demos = demos_from_episodes(episodes, env_id=TASK, env_kwargs={}, provenance={"by": "SAC"})
    save_demos(path, demos)
    return path


def cloned(path: Path, seed: int = 0) -> float:
    """Return of behaviour cloning alone: a network fitted to the demonstration."""
    demos = load_demos(str(path))
    network = fit_network(demos.obs, demos.actions, NetworkConfig(seed=seed))
    envs = [make_env(get_task(TASK)) for _ in range(4)]
    return evaluate_in(envs, network.mean, episodes=EPISODES, seed=seed).return_mean


def learned(method: str, seed: int, demos: Path, directory: Path) -> float:
    """Return at the end of the method's budget."""
    start_run(settings(method, seed, demos if method != "sac" else None), directory)
    returns = load_metrics(directory / METRICS_FILE)["eval_return_mean"]
    return float(returns[-1])
