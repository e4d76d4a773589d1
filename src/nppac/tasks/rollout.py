"""Episodes from environments and a policy: the only place where a policy steps one.

Every episode starts from `reset(seed=...)`, so that it can be had again from its seed alone.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import gymnasium as gym
import numpy as np

from nppac.tasks import action_dim, obs_dim, success_of
from nppac.tasks.lock_step import LockStep
from nppac.types import Episode
from nppac.utils.errors import UserError
from nppac.utils.imports import FailedEnvironment, own_traceback

Act = Callable[[np.ndarray], np.ndarray]
"""A policy as the environments see it: observations (n, o) to actions (n, d)."""


def rollout(
    envs: Sequence[gym.Env],
    act: Act,
    seeds: Iterable[int],
    *,
    on_episode: Callable[[Episode], None] | None = None,
) -> list[Episode]:
    """One episode per seed, over the environments in lock step; in the order of the seeds.

    `act` always sees one row per environment, so that a compiled policy sees one shape; rows of
    idle environments repeat an old observation and their actions go nowhere. For a deterministic
    policy an episode does not depend on how many environments there are.
    """
    queue = enumerate(seeds)
    episodes: dict[int, Episode] = {}
    runs: list[_Run | None] = [_next_run(env, queue) for env in envs]
    rows = np.zeros((len(envs), obs_dim(envs[0])), np.float32)
    with LockStep(envs) as lock_step:
        while active := [(i, run) for i, run in enumerate(runs) if run is not None]:
            rows = _observe(runs, rows)
            actions, clipped = _query(act, rows, action_dim(envs[0]))
            steps = [partial(run.step, actions[i], clipped[i]) for i, run in active]
            for (i, run), ended in zip(active, lock_step(steps), strict=True):
                if ended:
                    episodes[run.index] = run.episode()
                    if on_episode is not None:
                        on_episode(episodes[run.index])
                    runs[i] = _next_run(envs[i], queue)
    return [episodes[index] for index in sorted(episodes)]


@dataclass(frozen=True)
class Cut:
    """Where episodes are cut short, as truncations."""

    longest: int | None = None
    """Steps after which every episode is cut."""
    lost: Callable[[np.ndarray], bool] | None = None
    """Whether an observation (o) is one where nothing can be learned."""
    lost_steps: int = 1
    """Such observations in a row after which an episode is cut."""


def collect(
    env: gym.Env, act: Act, seeds: Iterator[int], steps: int, cut: Cut | None = None
) -> list[Episode]:
    """Exactly `steps` steps from a fresh reset; the last episode is cut where the budget ends.

    Each episode takes one seed, so that `len` of the result says how far `seeds` has moved.
    """
    episodes: list[Episode] = []
    dim, cut = action_dim(env), cut or Cut()
    while steps > 0:
        run, ended, lost_steps = _Run(env, len(episodes), next(seeds)), False, 0
        while not ended and len(run.actions) < min(steps, cut.longest or steps):
            actions, clipped = _query(act, run.observations[-1][None], dim)
            ended = run.step(actions[0], clipped[0])
            if cut.lost is not None:
                lost_steps = lost_steps + 1 if cut.lost(run.observations[-1]) else 0
                ended = ended or lost_steps >= cut.lost_steps
        steps -= len(run.actions)
        episodes.append(run.episode())
    return episodes


def episode_seeds(seed: int, stream: str, start: int = 0) -> Iterator[int]:
    """Seeds of episodes `start`, `start` + 1, ... of a named stream, independent of other streams.

    The i-th seed depends on nothing before it, so that to resume a stream one needs only i.
    """
    entropy = (seed, zlib.crc32(stream.encode()))
    for i in count(start):
        state = np.random.SeedSequence(entropy, spawn_key=(i,)).generate_state(1)
        yield int(state[0]) >> 1  # 31 bits: some simulators keep their seed in a signed int


class _Run:
    """One episode under way in one environment."""

    def __init__(self, env: gym.Env, index: int, seed: int):
        self.index = index
        self._env = env
        try:
            first, _ = env.reset(seed=seed)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise _failed(error, 0) from error
        self.observations = [_finite_observation(first, 0)]
        self.actions: list[np.ndarray] = []
        self._rewards: list[float] = []
        self._successes: list[bool | None] = []
        self._terminated = False

    def step(self, action: np.ndarray, clipped: np.ndarray) -> bool:
        """Take one step with the clipped action, note the action as asked; True at the end."""
        number = len(self.actions) + 1
        if not np.isfinite(action).all():
            raise _not_finite("The policy's action", number, _DIVERGED)
        try:
            obs, reward, terminated, truncated, info = self._env.step(clipped)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise _failed(error, number) from error
        value = float(reward)
        if not abs(value) <= _LARGEST:
            raise _not_finite(f"The environment's reward {value:g}", number, _UNSTABLE)
        self.observations.append(_finite_observation(obs, number))
        self.actions.append(action)
        self._rewards.append(value)
        self._successes.append(success_of(info))
        self._terminated = bool(terminated)
        return self._terminated or bool(truncated)

    def episode(self) -> Episode:
        """What has been recorded so far."""
        return Episode(
            observations=np.stack(self.observations),
            actions=np.stack(self.actions),
            rewards=np.array(self._rewards, np.float32),
            successes=_reported(self._successes),
            terminated=self._terminated,
        )


def _next_run(env: gym.Env, queue: Iterator[tuple[int, int]]) -> _Run | None:
    for index, seed in queue:
        return _Run(env, index, seed)
    return None


def _observe(runs: Sequence[_Run | None], rows: np.ndarray) -> np.ndarray:
    """The latest observation of each run, in an array of its own: `act` may keep or alias it."""
    rows = rows.copy()
    for i, run in enumerate(runs):
        if run is not None:
            rows[i] = run.observations[-1]
    return rows


def _query(act: Act, rows: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The policy's actions, as asked and as the environment may have them."""
    actions = np.array(act(rows), np.float32)  # a copy: the policy may reuse its buffer
    if actions.shape != (len(rows), dim):
        raise ValueError(
            f"the policy gave actions of shape {actions.shape}, expected {(len(rows), dim)}"
        )
    return actions, np.minimum(np.maximum(actions, -1.0), 1.0)


def _reported(successes: Sequence[bool | None]) -> np.ndarray | None:
    """Success per step; None if no step said anything of it."""
    if all(success is None for success in successes):
        return None
    return np.array([bool(success) for success in successes])


_LARGEST = float(np.finfo(np.float32).max)
_DIVERGED = (
    "Training has most likely diverged: lower the learning rate, scale the reward down, "
    "or raise the reference's smallest scale"
)
_UNSTABLE = (
    "The simulation has most likely become unstable: lower its time step, or bound the actions"
)


def _finite_observation(obs: np.ndarray, step: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = np.array(obs, np.float32)  # a copy: some environments reuse their buffer
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found))[0])
        value = np.ravel(obs)[place]
        what = f"The environment's observation {value:g} at index {place}"
        raise _not_finite(what, step, _UNSTABLE)
    return found


def _not_finite(what: str, step: int, cause: str) -> UserError:
    return UserError(f"{what} is not finite in float32, at step {step} of an episode. {cause}.")


def _failed(error: BaseException, step: int) -> FailedEnvironment:
    where = f"at step {step} of an episode" if step else "when it was reset"
    return FailedEnvironment(
        f"{own_traceback(error)}The environment failed {where}, as shown above."
    )
