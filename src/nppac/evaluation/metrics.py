"""The record of a run: `config.json`, `metrics.csv` and `summary.json` in one directory."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from nppac.utils.bounded import require_regular
from nppac.utils.errors import UserError
from nppac.utils.files import append_durably, write_atomically

METRICS_FILE = "metrics.csv"
SUCCESS, RETURN, RETURN_STD = "eval_success_any", "eval_return_mean", "eval_return_std"
EPISODES = "eval_episodes"

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
    if path.exists():
        header = _header(path, _complete_lines(path))
        append_durably(path, _line([_field(row.get(c)) for c in header]))
        return
    columns = [*COLUMNS, *(c for c in own if c not in COLUMNS)]
    text = _line(columns) + _line([_field(row.get(c)) for c in columns])
    write_atomically(path, lambda file: file.write(text.encode()))


def load_metrics(path: str | Path) -> dict[str, np.ndarray]:
    """Every column as an array, NaN where nothing was measured."""
    columns, _, numbers = _table(Path(path))
    return {c: np.array([row[i] for row in numbers], float) for i, c in enumerate(columns)}


def rewind(path: str | Path, env_steps: int) -> None:
    """Drop the rows beyond `env_steps`: a resumed run writes them again."""
    path = Path(path)
    if not path.exists():
        return
    columns, rows, numbers = _table(path)
    kept = [row for row, values in zip(rows, numbers, strict=True) if values[0] <= env_steps]
    text = _line(columns) + "".join(_line(row) for row in kept)
    write_atomically(path, lambda file: file.write(text.encode()))


def _table(path: Path) -> tuple[list[str], list[list[str]], list[list[float]]]:
    """Header, and the complete rows as text and as numbers."""
    lines = _complete_lines(path)
    header = _header(path, lines)
    rows = [_fields(path, number, line) for number, line in enumerate(lines[1:], 2)]
    numbers = [_numbers(path, number, header, row) for number, row in enumerate(rows, 2)]
    for number, (before, row) in enumerate(pairwise(numbers), 3):
        if row[0] < before[0]:
            reason = f"column 'env_steps' falls from {before[0]:g} to {row[0]:g}"
            raise _damaged(path, number, reason)
    return header, rows, numbers


def _complete_lines(path: Path) -> list[str]:
    """The lines; a last one that a killed process left unfinished is not one."""
    try:
        require_regular(path)
        parts = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError as error:
        raise UserError(f"There is no {path}: is this the directory of a run?") from error
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror or error}.") from error
    lines = []
    for number, part in enumerate(parts, 1):
        try:
            lines.append(part.removesuffix(b"\r").decode())
        except UnicodeDecodeError as error:
            raise _damaged(path, number, f"character {error.start + 1} is no text") from error
    return lines


def _header(path: Path, lines: Sequence[str]) -> list[str]:
    header = _fields(path, 1, lines[0]) if lines else []
    if tuple(header[: len(COLUMNS)]) != COLUMNS or len(set(header)) < len(header):
        raise UserError(f"{path} does not hold the metrics of a run: its first line is {header}.")
    return header


def _fields(path: Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise _damaged(path, number, str(error)) from error


def _numbers(path: Path, number: int, header: Sequence[str], row: Sequence[str]) -> list[float]:
    if len(row) != len(header):
        raise _damaged(path, number, f"it has {len(row)} fields where the first has {len(header)}")
    values = []
    for column, field in zip(header, row, strict=True):
        try:
            values.append(float(field) if field else math.nan)
        except ValueError as error:
            reason = f"column '{column}' is {field[:40]!r}, which is no number"
            raise _damaged(path, number, reason) from error
    if not 0 <= values[0] < math.inf:
        raise _damaged(path, number, f"column 'env_steps' is '{row[0]}', which is no step")
    return values


def _damaged(path: Path, number: int, reason: str) -> UserError:
    return UserError(
        f"{path}, line {number}: {reason}. The file was changed after it was written: mend the "
        "line, or restore a copy of the file."
    )


def _line(fields: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(fields)
    return buffer.getvalue()


def _field(value: Number | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return repr(value if isinstance(value, int) else float(value))  # NumPy's repr names its type
