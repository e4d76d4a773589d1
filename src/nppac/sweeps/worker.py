"""`python -m nppac.sweeps.worker`: one run or fit, on its cores, as long as its driver lives.

Nothing heavy is imported before the process is pinned: libraries count the cores when they start.
"""

import argparse
import os
import shlex
import sys
import threading
from collections.abc import Sequence

from nppac.utils.threads import pin_to


def work(argv: Sequence[str] | None = None) -> int:
    """Do one job; the code to exit with."""
    parser = argparse.ArgumentParser(prog="python -m nppac.sweeps.worker")
    parser.add_argument("location", help="directory or URL of the sweep")
    parser.add_argument("kind", choices=("fit", "run"))
    parser.add_argument("name", help="of the run, or the key of the fit")
    parser.add_argument("--cores", default="", help="such as 0,1")
    found = parser.parse_args(argv)
    if found.cores:
        pin_to(int(core) for core in found.cores.split(","))
    die_with_driver()
    # Here, after the process is pinned.
    from nppac.sweeps.job import Job, do_job
    from nppac.sweeps.record import recorded_command
    from nppac.sweeps.storage import copies_of
    from nppac.utils.compilation import keep_compiled_programs

    keep_compiled_programs()
    copies = copies_of(found.location)
    copies.pull_plan()
    sys.argv = shlex.split(recorded_command(copies.root))  # what the records of runs name
    return do_job(found.location, Job(found.kind, found.name))


def die_with_driver() -> None:
    """End this process when its standard input closes, as it does when the driver is gone.

    Files are never half-written, so the run continues from its checkpoint later.
    """

    def watch() -> None:
        while os.read(0, 64):
            pass
        os._exit(70)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(work())
