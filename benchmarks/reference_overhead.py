"""What a Gaussian process reference adds to an epoch, beside a constant-variance one.

Both train the same agent for some epochs of 1,000 environment steps and updates, by turns, so that
the machine's moods touch both alike. The constant reference costs nothing to ask: its mean is zero.
"""

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

from nppac.checkpoint import Progress
from nppac.files import write_json
from nppac.presets import preset
from nppac.references import ConstantVarianceReference, Reference, UniformReference, fit_gp
from nppac.replay import empty_replay
from nppac.runs import RunConfig, commit, make_problem
from nppac.tasks import action_dim, get_task, make_env, obs_dim
from nppac.training import Run, run_epoch
from nppac.warm_start import Problem

RECORD = Path(__file__).parents[1] / "results" / "benchmarks" / "reference_overhead.json"


def synthetic_demos(points: int, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    """States in slow random walks, actions a smooth function of them; only their number matters."""
    rng = np.random.default_rng(0)
    obs = np.cumsum(0.05 * rng.standard_normal((points, inputs)), axis=0) % 2.0 - 1.0
    actions = np.tanh(obs @ rng.standard_normal((inputs, outputs)) / np.sqrt(inputs))
    noise = 0.05 * rng.standard_normal(actions.shape)
    return obs.astype(np.float32), (actions + noise).astype(np.float32)


def fresh_run(config: RunConfig, problem: Problem) -> Run:
    state = config.agent.init(jax.random.key(0), problem.obs_dim, problem.action_dim)
    return Run(Progress(), state, empty_replay(50_000, problem.obs_dim, problem.action_dim))


def measure(
    config: RunConfig, references: dict[str, Reference], epochs: int
) -> dict[str, list[float]]:
    """Seconds of each epoch; the first two compile and warm up and do not count."""
    spec = get_task(config.task)
    problems = {name: make_problem(config, spec, None, r) for name, r in references.items()}
    runs = {name: fresh_run(config, problem) for name, problem in problems.items()}
    seconds: dict[str, list[float]] = {name: [] for name in references}
    for epoch in range(epochs + 2):
        for name, problem in problems.items():
            began = time.monotonic()
            runs[name], _ = run_epoch(problem, config.agent, config.schedule, 0, runs[name])
            jax.block_until_ready(runs[name].state)
            if epoch >= 2:
                seconds[name].append(time.monotonic() - began)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="door")
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    config = preset(args.task)
    # A horizon beyond this benchmark, so that no evaluation falls into a measured epoch.
    schedule = replace(config.schedule, pretrain_epochs=0, eval_every=10**6, steps=10**6)
    config = replace(config, schedule=schedule)
    env = make_env(get_task(args.task))
    obs, actions = synthetic_demos(args.points, obs_dim(env), action_dim(env))
    began = time.monotonic()
    gp = fit_gp(obs, actions, config.gp)
    print(f"{args.task}, {args.points} points: fitted once in {time.monotonic() - began:.0f} s")
    constant = ConstantVarianceReference(UniformReference(action_dim(env)), 0.01)
    seconds = measure(config, {"gp": gp, "constant": constant}, args.epochs)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    for name, median in medians.items():
        print(f"  {name:9} {median:6.2f} s per epoch of 1,000 steps and updates")
    ratio = medians["gp"] / medians["constant"]
    print(f"  gp / constant = {ratio:.3f}")
    record = {"settings": vars(args), "seconds": seconds, "ratio": ratio, "commit": commit()}
    write_json(RECORD, record)


if __name__ == "__main__":
    main()
