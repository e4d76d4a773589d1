"""The command `report`: all runs of some directories in one page."""

from pathlib import Path
from typing import Annotated

import tyro

from nppac.cli.arguments import Positional
from nppac.plotting.report import write_report


def report(
    directories: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR...")],
    out: Path = Path("report.html"),
    threshold: Annotated[float | None, tyro.conf.arg(metavar="LEVEL")] = None,
) -> None:
    """Write one HTML file with the curves, tables and settings of runs; it works offline.

    Args:
        directories: Directories of runs, or of whole trees of them, of any tasks.
        out: The file to write.
        threshold: Count the steps until this level is held for three evaluations; by default half
            and nine tenths of all successes, or of the way from the lowest start to the best end.

    """
    count = write_report(directories, out, threshold)
    print(f"Report of {count} run{'' if count == 1 else 's'}: {out}")
