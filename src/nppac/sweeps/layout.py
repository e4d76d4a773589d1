"""The files of a sweep's directory: one directory for each run, and `.sweep` for the rest."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = ".sweep"
"""Hidden, so that `DIR/*` names the runs alone."""


@dataclass(frozen=True)
class SweepLayout:
    """Where a sweep keeps what."""

    root: Path

    @property
    def folder(self) -> Path:
        """Everything that is no run."""
        return self.root / FOLDER

    @property
    def plan(self) -> Path:
        """The expanded plan, which workers read."""
        return self.folder / "plan.json"

    def journal(self, name: str) -> Path:
        """What happened to a run or a fit, one JSON object a line."""
        return self.folder / "journal" / f"{name}.jsonl"

    def log(self, name: str) -> Path:
        """What the worker of a run or a fit printed."""
        return self.folder / "logs" / f"{name}.log"

    def reference(self, key: str) -> Path:
        """A fitted reference that runs share."""
        return self.folder / "references" / f"{key}.npz"
