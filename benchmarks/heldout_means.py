"""Which mean predicts unseen demonstrations better, the GP's or an ensemble's: what `auto` asks.

    python benchmarks/heldout_means.py door=door.pickle halfcheetah=halfcheetah.npz --record

Every task takes the settings of the default method.
"""

import sys
import time
from dataclasses import dataclass
from typing import Annotated

import tyro

from nppac.demos.for_task import load_task_demos
from nppac.references import heldout_errors
from nppac.references.registry import FitSettings
from nppac.tasks import get_task
from nppac.training.presets import preset
from nppac.utils.errors import UserError
from rounds import write_record


@dataclass(frozen=True)
class Settings:
    demos: Annotated[tuple[str, ...], tyro.conf.Positional]
    """TASK=FILE for each task."""
    record: bool = False
    """Write the record to `results/benchmarks`."""


def row(task: str, source: str) -> dict[str, float]:
    """Steps, the share of variance that each mean leaves unexplained, and the seconds it took."""
    config = preset(task, "nppac-anchored")
    demos = load_task_demos(get_task(task), source, None)
    assert demos is not None
    began = time.monotonic()
    errors = heldout_errors(demos.obs, demos.actions, FitSettings(config.gp, config.network))
    shares = {name: round(error, 4) for name, error in errors.items()}
    return {"steps": len(demos.obs), **shares, "seconds": round(time.monotonic() - began)}


def main(settings: Settings) -> None:
    rows = {}
    for word in settings.demos:
        task, found, source = word.partition("=")
        if not found:
            raise UserError(f"'{word}' does not name a task and a file. Write TASK=FILE.")
        rows[task] = row(task, source)
        print(f"{task}: {rows[task]}", file=sys.stderr, flush=True)
        if settings.record:
            write_record("heldout_means", {"unexplained_variance": rows})


if __name__ == "__main__":
    try:
        main(tyro.cli(Settings, description=__doc__))
    except UserError as error:
        sys.exit(f"error: {error}")
