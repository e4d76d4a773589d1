"""The command `report`: all runs of some directories in one page."""

from pathlib import Path
from typing import Annotated

import tyro

from nppac.cli.arguments import Positional
from nppac.plotting.report import write_report


def report_command(
    directories: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR...")],
    out: Path = Path("report.html"),
    threshold: Annotated[float | None, tyro.conf.arg(metavar="LEVEL")] = None,
) -> None:
    """Write one HTML file with the curves, tables and settings of runs; it works offline.

    For example: nppac report runs/door-embedded --out door.html

    It shows learning curves with 95 % intervals over seeds, the KL, the gradient and the
    reference's scale beside them, final performance, steps to a threshold, the settings in which
    runs differ, and the command of every run.

    Args:
        directories: Directories of runs, or of whole trees of them, of any tasks.
        out: The file to write.
        threshold: Level to which steps are counted; by default a half and nine tenths of the way.

    """
    count = write_report(directories, out, threshold)
    print(f"Report of {count} run{'' if count == 1 else 's'}: {out}")
