"""The Gaussian process reference beside GPyTorch and scikit-learn, and its own approximations.

    python benchmarks/gp.py compare --task door --points 5000
    python benchmarks/gp.py variance --task door

`compare` runs one contender after the other, each alone in a process: the fit of hyper-parameters,
conditioning on all points, queries of 1,000 states (mean and variance) and of one (mean), peak
memory, and the log-likelihood per point of whole episodes that no fit saw. `paper` is our code on
the paper's schedule. GPyTorch gets an environment of its own. `variance` puts variances from
neighbours beside exact ones, and their means, at states that the posterior mean visits when it acts
and at states around the demonstrations.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np

from nppac.demos import load_demos
from nppac.references import GPReference, condition
from nppac.references.gp.config import GPConfig
from nppac.references.gp.fit import fit_hyperparameters
from nppac.tasks import get_task, make_env
from nppac.training.presets import preset
from rounds import machine, write_record

PEERS = Path(__file__).with_name("gp_peers.py")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "nppac-gp-peers"
PACKAGES = ("torch==2.13.0", "gpytorch==1.15.2")
CONTENDERS = ("ours", "paper", "scikit-learn", "GPyTorch")
HELD_OUT = 0.2
"""Part of the episodes that no fit sees."""
NEIGHBOURS = (16, 32, 64, 128, 256)
METRICS = (
    "fit_seconds",
    "condition_seconds",
    "query_seconds",
    "single_query_seconds",
    "peak_gigabytes",
    "log_likelihood",
    "heldout_log_likelihood",
)


def split(task: str, file: str | None) -> dict[str, np.ndarray]:
    """All points of most episodes, and of the others."""
    episodes = load_demos(file or task).episodes
    first = len(episodes) - max(1, round(HELD_OUT * len(episodes)))
    stack = {
        "obs": [e.observations[: len(e)] for e in episodes[:first]],
        "actions": [e.actions for e in episodes[:first]],
        "test_obs": [e.observations[: len(e)] for e in episodes[first:]],
        "test_actions": [e.actions for e in episodes[first:]],
    }
    return {name: np.concatenate(parts).astype(np.float64) for name, parts in stack.items()}


def grown(obs: np.ndarray, actions: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """`points` of the data, or, where there are fewer, copies with a tenth of the spread added."""
    copies = -(-points // len(obs))
    rng = np.random.default_rng(1)
    noise = [0.1 * obs.std(0) * rng.standard_normal(obs.shape) for _ in range(copies - 1)]
    if copies > 1:
        print(f"{len(obs)} points are there: {copies - 1} perturbed copies make up {points}.")
    more = np.concatenate([obs, *(obs + each for each in noise)])
    return more[:points], np.tile(actions, (copies, 1))[:points]


def peers_python() -> str:
    """The interpreter of an environment that has GPyTorch; made on first use."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(CACHE)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (CACHE / "installed").touch()
    return str(python)


def run(name: str, data: Path, settings: dict[str, object], limit: float) -> dict[str, object]:
    """What a contender measured of itself, and why it measured no more."""
    python = peers_python() if name == "GPyTorch" else sys.executable
    command = [python, str(PEERS), name, str(data), json.dumps(settings)]
    with tempfile.TemporaryFile("w+") as measured, tempfile.TemporaryFile("w+") as errors:
        failed = ""
        try:
            subprocess.run(command, stdout=measured, stderr=errors, timeout=limit, check=True)
        except subprocess.TimeoutExpired:
            failed = f"not done in {limit:.0f} s"
        except subprocess.CalledProcessError as error:
            failed = last_line(errors) or f"exit {error.returncode}"
        report = json.loads(last_line(measured) or "{}")
    return report | ({"failed": failed} if failed else {})


def last_line(file: IO[str]) -> str:
    file.seek(0)
    return (file.read().strip().splitlines() or [""])[-1]


def compare(args: argparse.Namespace) -> dict[str, object]:
    data = split(args.task, args.demos)
    kernel = preset(args.task).gp.kernel if args.kernel is None else args.kernel
    if kernel == "auto" and set(args.contenders) - {"ours"}:
        raise SystemExit("Name a --kernel: the peers cannot choose one.")
    points = args.points or len(data["obs"])
    data["more_obs"], data["more_actions"] = grown(data["obs"], data["actions"], points)
    rng = np.random.default_rng(2)
    chosen = rng.choice(len(data["obs"]), 1000)
    noise = 0.05 * data["obs"].std(0) * rng.standard_normal((1000, data["obs"].shape[1]))
    data["query"] = data["obs"][chosen] + noise
    settings = {
        "kernel": kernel,
        "ours": asdict(preset(args.task).gp),
        "fit_points": args.fit_points,
        "peer_steps": args.peer_steps,
    }
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, **data)
        for name in args.contenders:
            results[name] = run(name, path, settings, args.limit)
            print_contender(name, results[name], results.get("ours", {}))
    return {"points": points, **settings, "results": results}


def print_contender(name: str, result: dict[str, object], ours: dict[str, object]) -> None:
    print(f"{name}: {result['failed']}" if "failed" in result else f"{name}:")
    for metric in METRICS:
        value, base = result.get(metric), ours.get(metric)
        if not isinstance(value, float):
            continue
        ratio = ""
        if isinstance(base, float) and "likelihood" not in metric:
            ratio = f", {value / base:.3g} times ours"
        print(f"  {metric.replace('_', ' '):24} {value:10.4g}{ratio}")


def replayed(gp: GPReference, task: str, states: int) -> np.ndarray:
    """States that the posterior mean visits when it acts."""
    env, visited, seed = make_env(get_task(task)), [], 0
    while len(visited) < states:
        obs, _ = env.reset(seed=seed)
        over = False
        while not over and len(visited) < states:
            visited.append(obs)
            obs, _, terminated, truncated, _ = env.step(np.clip(gp.mean(obs[None])[0], -1, 1))
            over = terminated or truncated
        seed += 1
    env.close()
    return np.stack(visited).astype(np.float64)


def variance(args: argparse.Namespace) -> dict[str, object]:
    demos = load_demos(args.demos or args.task)
    obs, actions = grown(demos.obs, demos.actions, min(args.points or demos.steps, demos.steps))
    kernel = args.kernel or preset(args.task).gp.kernel
    fit = fit_hyperparameters(obs, actions, GPConfig(kernel=kernel))

    def reference(method: str, neighbours: int = 1) -> GPReference:
        config = GPConfig(kernel=fit.kernel, variance=method, neighbours=neighbours)
        return GPReference(fit.params, fit.kernel, obs, actions, gp.weights, config)

    gp = condition(fit.params, fit.kernel, obs, actions, GPConfig(variance="neighbours"))
    rng = np.random.default_rng(0)
    near = obs[rng.choice(len(obs), args.states)]
    states = {
        "replayed": replayed(gp, args.task, args.states),
        "around": near + 0.05 * obs.std(0) * rng.standard_normal(near.shape),
    }
    exact = reference("exact")
    results: dict[str, dict[str, dict[str, float]]] = {}
    for where, some in states.items():
        mean, truth = exact.mean_and_variance(some)
        results[where] = {}
        for m in NEIGHBOURS:
            few = reference("neighbours", m)
            few.mean_and_variance(some)  # compiles
            began = time.monotonic()
            same, approximate = few.mean_and_variance(some)
            seconds = time.monotonic() - began
            ratio = approximate / truth
            row = {"mean": ratio.mean(), "least": ratio.min(), "most": ratio.max()}
            row["change_of_the_mean"] = np.abs(same - mean).max()
            results[where][str(m)] = {k: float(v) for k, v in row.items()} | {"seconds": seconds}
            print(
                f"  {where:9} {m:4} neighbours: {100 * (ratio.mean() - 1):7.3f} % above the exact "
                f"variance on average, from {ratio.min() - 1:.1e} to {ratio.max() - 1:.1e}; "
                f"the mean differs by {row['change_of_the_mean']:.0e}"
            )
    return {"points": len(obs), "kernel": fit.kernel, "results": results}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("compare", "variance"))
    parser.add_argument("--task", default="door")
    parser.add_argument("--demos", help="a file of demonstrations, if the task has none of its own")
    parser.add_argument("--kernel", help="by default the preset's")
    parser.add_argument("--points", type=int, help="to condition on; by default all there are")
    parser.add_argument("--states", type=int, default=500, help="at which variances are compared")
    parser.add_argument("--fit-points", type=int, default=1000, help="of the peers' fits")
    parser.add_argument("--peer-steps", type=int, default=500, help="of GPyTorch's Adam")
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for each contender")
    parser.add_argument("--label", help="added to the record's name")
    args = parser.parse_args()
    host = machine()
    record = {"compare": compare, "variance": variance}[args.what](args)
    parts = (f"gp-{args.what}-{args.task}", args.points and str(args.points), args.label)
    name = "-".join(part for part in parts if part)
    write_record(name, {"settings": vars(args), "machine": host, **record})


if __name__ == "__main__":
    main()
