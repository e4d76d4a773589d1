"""Kinds of arguments that several commands take."""

from pathlib import Path
from typing import Annotated

import tyro

Positional = tyro.conf.Positional
RunPath = Annotated[Positional[Path], tyro.conf.arg(metavar="RUN")]
PolicyPath = Annotated[Positional[Path], tyro.conf.arg(metavar="POLICY")]
DemosSource = Annotated[Positional[str], tyro.conf.arg(metavar="DEMOS")]
OptionalCount = Annotated[int | None, tyro.conf.arg(metavar="N")]
OptionalTask = Annotated[str | None, tyro.conf.arg(metavar="TASK")]
