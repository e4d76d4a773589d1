"""The record of a run: `config.json`, `metrics.csv` and `summary.json` in one directory."""

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from nppac.utils.errors import UserError
from nppac.utils.files import write_atomically

METRICS_FILE = "metrics.csv"

COLUMNS = (
    "env_steps",
    "updates",
    "wall_seconds",
    "eval_return_mean",
    "eval_return_std",
    "eval_success_any",
    "eval_success_end",
    "train_return_mean",
    "kl",
    "policy_gradient",
    "critic_gradient",
    "policy_loss",
    "critic_loss",
    "q",
    "temperature",
    "reference_scale",
    "updates_per_second",
)
"""What each row of `metrics.csv` begins with; a value that was not measured is an empty field.

A method's own measurements follow, in columns that the file's first line names.
"""

CLOCK_COLUMNS = ("wall_seconds", "updates_per_second")
"""The columns that depend on the machine's clock and so differ between identical runs."""

Number = float | np.floating | np.integer
Row = Mapping[str, Number | None]


def append_row(path: str | Path, row: Row, own: Sequence[str] = ()) -> None:
    """Append one row, with the header first in a new file, and see it to the disk.

    `own` names the method's own measurements; in a file that exists its header does.
    """
    path = Path(path)
    fresh = not path.exists()
    columns = [*COLUMNS, *(c for c in own if c not in COLUMNS)] if fresh else _table(path)[0]
    text = (_line(columns) if fresh else "") + _line([_field(row.get(c)) for c in columns])
    try:
        with path.open("a") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UserError(f"Cannot append to {path}: {error.strerror or error}.") from error


def load_metrics(path: str | Path) -> dict[str, np.ndarray]:
    """Every column as an array, NaN where nothing was measured."""
    columns, rows = _table(Path(path))
    return {c: np.array([_number(row[i]) for row in rows]) for i, c in enumerate(columns)}


def rewind(path: str | Path, env_steps: int) -> None:
    """Drop the rows beyond `env_steps`: a resumed run writes them again."""
    path = Path(path)
    if not path.exists():
        return
    columns, rows = _table(path)
    kept = [row for row in rows if float(row[0]) <= env_steps]
    text = _line(columns) + "".join(_line(row) for row in kept)
    write_atomically(path, lambda file: file.write(text.encode()))


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and complete rows; a last line that a killed process left unfinished is not one."""
    try:
        lines = path.read_text().splitlines(keepends=True)
    except FileNotFoundError as error:
        raise UserError(f"There is no {path}: is this the directory of a run?") from error
    complete = [line for line in lines if line.endswith("\n")]
    header, *rows = list(csv.reader(complete)) or [[]]
    if tuple(header[: len(COLUMNS)]) != COLUMNS:
        raise UserError(f"{path} does not hold the metrics of a run: its first line is {header}.")
    return header, rows


def _line(fields: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(fields)
    return buffer.getvalue()


def _field(value: Number | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return repr(value if isinstance(value, int) else float(value))  # NumPy's repr names its type


def _number(field: str) -> float:
    return float(field) if field else math.nan
