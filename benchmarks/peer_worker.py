"""SAC of Stable-Baselines3 or SBX, one round whenever a line arrives. It must not import nppac.

Settings, as JSON in the first argument: `library` (sb3 or sbx), `what` (updates or loop), `count`
of gradient or environment steps in a round, `obs_dim`, `action_dim` (or `env`), `policy_hidden`,
`critic_hidden`, `batch_size`, `block` (gradient steps in one call of its `train`, and environment
steps between two such calls).
"""

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import gymnasium as gym
import numpy as np

ROWS = 5_000
RANDOM_STEPS = 1_000


class Still(gym.Env):
    """Spaces of the right shape, for updates that never step."""

    def __init__(self, obs_dim: int, action_dim: int):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (obs_dim,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (action_dim,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None):
        return np.zeros(self.observation_space.shape, np.float32), {}

    def step(self, action: Any):
        return np.zeros(self.observation_space.shape, np.float32), 0.0, False, False, {}


def make_model(settings: dict[str, Any]) -> Any:
    if settings["library"] == "sb3":
        from stable_baselines3 import SAC
    else:
        from sbx import SAC
    env = (
        gym.make(settings["env"])
        if settings["what"] == "loop"
        else Still(settings["obs_dim"], settings["action_dim"])
    )
    layers = {"pi": settings["policy_hidden"], "qf": settings["critic_hidden"]}
    return SAC(
        "MlpPolicy",
        env,
        batch_size=settings["batch_size"],
        buffer_size=50_000,
        learning_starts=RANDOM_STEPS,
        train_freq=settings["block"],
        gradient_steps=settings["block"],
        policy_kwargs={"net_arch": layers},
        device="cpu",
        seed=0,
    )


def fill(model: Any, obs_dim: int, action_dim: int) -> None:
    """A replay of noise: shapes count here, not what they mean."""
    rng = np.random.default_rng(0)
    for _ in range(ROWS):
        obs, after = rng.normal(size=(2, 1, obs_dim)).astype(np.float32)
        action = rng.uniform(-1, 1, (1, action_dim)).astype(np.float32)
        model.replay_buffer.add(obs, after, action, rng.normal(size=1), np.zeros(1), [{}])


def one_round(model: Any, settings: dict[str, Any]) -> float:
    """Seconds; both libraries return when their last step is done."""
    began = time.monotonic()
    if settings["what"] == "updates":
        for _ in range(settings["count"] // settings["block"]):
            model.train(gradient_steps=settings["block"], batch_size=settings["batch_size"])
        finish(model)
    else:
        model.learn(settings["count"], reset_num_timesteps=False)
    return time.monotonic() - began


def finish(model: Any) -> None:
    """SBX hands out its parameters before they are computed."""
    state = getattr(model.policy, "actor_state", None)
    if state is not None:
        import jax

        jax.block_until_ready(state.params)


def main() -> None:
    settings = json.loads(sys.argv[1])
    model = make_model(settings)
    if settings["what"] == "updates":
        model._setup_learn(1)
        fill(model, settings["obs_dim"], settings["action_dim"])
    else:
        model.learn(RANDOM_STEPS + 200)  # past its random start
    package = "stable-baselines3" if settings["library"] == "sb3" else "sbx-rl"
    packages = (package, "torch", "jax", "gymnasium", "mujoco")
    print(json.dumps({name: version(name) for name in packages}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"rate": settings["count"] / one_round(model, settings)}), flush=True)


if __name__ == "__main__":
    main()
