"""Kinds of arguments that several commands take."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

Positional = tyro.conf.Positional
RunPath = Annotated[Positional[Path], tyro.conf.arg(metavar="RUN")]
PolicyPath = Annotated[Positional[Path], tyro.conf.arg(metavar="POLICY")]
DemosSource = Annotated[Positional[str], tyro.conf.arg(metavar="DEMOS")]
OptionalCount = Annotated[int | None, tyro.conf.arg(metavar="N")]
OptionalDemos = Annotated[str | None, tyro.conf.arg(metavar="DEMOS")]
OptionalTask = Annotated[str | None, tyro.conf.arg(metavar="TASK")]
EVALUATION_SEED = 1_000_003  # far from the seeds that people train with


@dataclass(frozen=True)
class Choice:
    """What decides the defaults of all other flags, and so is parsed before them."""

    task: str = "door"
    method: str | None = None  # by default the preset's
    preset: str = "default"  # checked by `preset`, which suggests the nearest
