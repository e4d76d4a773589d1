"""Same seeds, same numbers: trains with two source trees, and compares `metrics.csv` exactly.

The older tree fits the reference and trains first. The newer tree trains with `--config` of the
older run, so that the settings are the same under their new names; what only the newer tree knows
is switched off by flags. Both trees use one thread, and the same saved reference.
"""

import argparse
import csv
import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
METHODS = ("nppac", "nppac-anchored", "sac", "awac", "rlpd")
KL_METHODS = ("nppac", "nppac-anchored", "sac", "rlpd")
WALL_TIME = ("seconds", "time", "per_second")
"""What the name of a column ends with that tells of the clock."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FIT = ["--kernel", "matern52", "--fit-points", "500", "--variance", "neighbours"]
EXACT = ["--kernel", "matern52", "--fit-points", "200", "--variance", "exact"]
"""Of a thousand points or so: conditioned by an eigendecomposition, not by a Cholesky factor."""
SHORT = ["--eval-episodes", "4", "--batch-size", "64"]
PRETRAINING = {
    "nppac": ["--pretrain-epochs", "5"],
    "awac": ["--offline-updates", "1000"],
    "rlpd": ["--random-steps", "1000", "--warmup-steps", "1000"],
}
"""Less than the presets' work before the first update; the same in both trees."""
ONLY_NEWER = {
    **{method: ["--no-normalise-values"] for method in KL_METHODS},
    "nppac-anchored": [
        *("--no-normalise-values", "--no-clip-actions"),
        *("--min-unit", "0", "--train-episode-steps", "None"),
    ],
}
"""Switches off what the newer tree's presets turn on and the older tree does not know."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="the older tree, with .venv")
    parser.add_argument("--after", type=Path, default=ROOT, help="the newer tree, with .venv")
    parser.add_argument("--task", default="door")
    parser.add_argument("--demos", default="door", help="an embedded name or a file")
    parser.add_argument("--demo-episodes", type=int, help="use only so many; all if not given")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--work", type=Path, required=True, help="directory for runs and fits")
    parser.add_argument("--out", type=Path, required=True, help="file for the record; added to")
    found = parser.parse_args()
    trees = {"before": found.before.resolve(), "after": found.after.resolve()}
    entry: dict[str, dict[str, object]] = {}
    if any(map(needs_gp, found.methods)):
        fits = {name: fit(tree, name, found) for name, tree in trees.items()}
        exact = {name: fit_exactly(tree, name, found) for name, tree in trees.items()}
        entry = {"fit": compare_fits(fits, FIT), "fit_exactly": compare_fits(exact, EXACT)}
    for method in found.methods:
        entry[method] = compare_runs(trees, method, found)
        print(found.task, method, json.dumps(entry[method], indent=2))
        add_to_record(found.out, trees, found.task, entry)


def needs_gp(method: str) -> bool:
    return method.startswith("nppac")


def run(tree: Path, words: list[str]) -> float:
    """Seconds of a command of one tree."""
    began = time.monotonic()
    subprocess.run(
        [str(tree / ".venv/bin/python"), "-c", "from nppac.cli import main; main()", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **ONE_THREAD},
    )
    return time.monotonic() - began


def fit(tree: Path, name: str, found: argparse.Namespace) -> Path:
    path = fitted(name, found)
    if not path.exists():
        words = ["--task", found.task, *demo_flags(found), *FIT, "--out", str(path)]
        run(tree, ["fit", *words])
    return path


def fitted(name: str, found: argparse.Namespace) -> Path:
    return (found.work / f"{found.task}-{name}.npz").resolve()


def fit_exactly(tree: Path, name: str, found: argparse.Namespace) -> Path:
    """A fit to the first demonstrations only, whose posterior is solved for otherwise."""
    path = (found.work / f"{found.task}-exact-{name}.npz").resolve()
    if not path.exists():
        few = ["--demos", found.demos, "--demo-episodes", "1" if found.demo_episodes else "5"]
        run(tree, ["fit", "--task", found.task, *few, *EXACT, "--out", str(path)])
    return path


def demo_flags(found: argparse.Namespace) -> list[str]:
    few = ["--demo-episodes", str(found.demo_episodes)] if found.demo_episodes else []
    return ["--demos", found.demos, *few]


def compare_fits(fits: dict[str, Path], flags: list[str]) -> dict[str, object]:
    """The largest difference of each array, as a part of the array's largest entry."""
    before, after = (np.load(path, allow_pickle=False) for path in fits.values())
    differences = {}
    for name in before.files:
        old, new = before[name], after[name]
        if old.dtype.kind == "f":
            differences[name] = float(np.abs(old - new).max() / max(np.abs(old).max(), 1e-300))
    return {
        "flags": " ".join(flags),
        "points": len(before["obs"]),
        "largest_relative_difference": differences,
    }


def compare_runs(
    trees: dict[str, Path], method: str, found: argparse.Namespace
) -> dict[str, object]:
    outs = {name: (found.work / f"{found.task}-{method}-{name}").resolve() for name in trees}
    own = ["--reference", str(fitted("before", found))] if needs_gp(method) else []
    demos = [] if method == "sac" else demo_flags(found)
    words = ["--task", found.task, "--method", method, *demos, *own, "--seed", "0"]
    words += ["--steps", str(found.steps), "--eval-every", str(found.steps), *SHORT]
    words += [*PRETRAINING.get(method, []), "--out", str(outs["before"])]
    config = str(outs["before"] / "config.json")
    new = ["--config", config, "--challenges", "0", "--out", str(outs["after"])]
    new += ONLY_NEWER.get(method, [])
    for out in outs.values():
        shutil.rmtree(out, ignore_errors=True)
    seconds = {
        "before": run(trees["before"], ["train", *words]),
        "after": run(trees["after"], ["train", *new]),
    }
    tables = {name: columns(out / "metrics.csv") for name, out in outs.items()}
    shared = [name for name in tables["before"] if not name.endswith(WALL_TIME)]
    differing = [name for name in shared if tables["before"][name] != tables["after"].get(name)]
    return {
        "steps": found.steps,
        "identical": not differing,
        "differing_columns": differing,
        "columns": len(shared),
        "rows": len(tables["before"]["env_steps"]),
        "digests": {name: digest(table, shared) for name, table in tables.items()},
        "seconds": {name: round(value) for name, value in seconds.items()},
        "commands": {
            "before": shown(["nppac", "train", *words], found.work),
            "after": shown(["nppac", "train", *new], found.work),
        },
    }


def columns(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file, as they are written."""
    with path.open() as file:
        head, *rows = list(csv.reader(file))
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


def digest(table: dict[str, list[str]], names: list[str]) -> str:
    text = json.dumps({name: table.get(name) for name in names})
    return hashlib.sha256(text.encode()).hexdigest()


def shown(words: list[str], work: Path) -> str:
    """The command without the directories of the machine that it ran on."""
    return " ".join(Path(word).name if "/" in word else word for word in words)


def commit_of(tree: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(tree), "rev-parse", "HEAD"], check=True, capture_output=True
    )
    return done.stdout.decode().strip()


def add_to_record(
    path: Path, trees: dict[str, Path], task: str, entry: dict[str, dict[str, object]]
) -> None:
    """Each comparison with its own commits: the record is added to as the trees go on."""
    record = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
    commits = {name: commit_of(tree) for name, tree in trees.items()}
    record["threads"] = ONE_THREAD
    compared = {name: {**found, "commits": commits} for name, found in entry.items()}
    record["tasks"].setdefault(task, {}).update(compared)
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
