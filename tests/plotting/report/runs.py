"""Directories of runs with invented numbers, as quick to write as to read."""

import json

import numpy as np

from nppac.evaluation.metrics import COLUMNS, METRICS_FILE

SCHEDULE = {"steps": 40, "eval_episodes": 10}


def write_run(directory, task="door", method="nppac", seed=0, level=1.0, rows=5, **config):
    """A run whose return rises to `level`, with everything measured at every step."""
    directory.mkdir(parents=True)
    made = {"task": task, "method": method, "demos": None, "seed": seed} | {
        "agent": {"temperature": 0.5},
        "schedule": SCHEDULE,
        "provenance": {"commit": "abc123", "command": f"nppac train --seed {seed}"},
    }
    (directory / "config.json").write_text(json.dumps(made | config))
    rng = np.random.default_rng(list(str(seed).encode()))
    rise = np.linspace(0, 1, rows)
    noise = 0.05 * level * rng.normal(size=rows)
    columns = {name: [""] * rows for name in COLUMNS} | {
        "env_steps": (np.arange(rows) * 10).tolist(),
        "wall_seconds": (np.arange(rows) * 60.0).tolist(),
        "eval_return_mean": (level * rise + noise).tolist(),
        "kl": np.exp(5 * rise + noise).tolist(),
        "policy_gradient": np.exp(9 * rise).tolist(),
        "reference_scale": (0.1 + 0.01 * rise).tolist(),
    }
    lines = [",".join(str(columns[name][i]) for name in COLUMNS) for i in range(rows)]
    (directory / METRICS_FILE).write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return directory
