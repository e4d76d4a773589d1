"""The work of one process: fit a shared reference, or bring one run to its end."""

import sys
import time
import traceback
from pathlib import Path
from typing import Literal, NamedTuple

from nppac.demos.for_task import load_task_demos
from nppac.references import Reference, load_reference
from nppac.sweeps.journal import What, note
from nppac.sweeps.layout import SweepLayout
from nppac.sweeps.record import (
    RunRecord,
    check_same_settings,
    config_of,
    read_manner,
    read_record,
)
from nppac.sweeps.storage import Copies, copies_of
from nppac.tasks import get_task
from nppac.training.config import RunConfig
from nppac.training.directory import CONFIG_FILE, SUMMARY_FILE
from nppac.training.loop import Callback
from nppac.training.problem import obtain_reference
from nppac.training.runs import resume_run, start_run
from nppac.training.signals import Interrupted
from nppac.training.tracking import tracker_of, tracking
from nppac.utils.errors import UserError
from nppac.utils.locks import DirectoryInUse
from nppac.utils.text import brief

FINISHED, FAILED, STOPPED = 0, 1, 75
"""Codes with which a worker exits."""
PATIENCE_SECONDS = 60.0
"""How long a worker waits for another that is about to die on the same run."""


class Job(NamedTuple):
    """What a worker is asked to do."""

    kind: Literal["fit", "run"]
    name: str
    """Of a run; or the key of a fit."""


def do_job(location: str, job: Job) -> int:
    """Do the work and note in the journal what came of it; the code to exit with."""
    copies = copies_of(location)
    copies.pull_plan()
    journal = SweepLayout(copies.root).journal(job.name)
    work = _fit if job.kind == "fit" else _run
    try:
        what, reason, code = work(copies, job.name, journal), "", FINISHED
    except (Interrupted, KeyboardInterrupt) as stop:
        what, reason, code = "stopped", str(stop), STOPPED
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        what, reason, code = "failed", str(error), FAILED
    except Exception as error:  # the sweep goes on; the log has the traceback
        traceback.print_exc()
        what, reason, code = "failed", f"{type(error).__name__}: {brief(error, 300)}", FAILED
    _note(copies, journal, what, reason)
    return code


def _note(copies: Copies, journal: Path, what: What, reason: str = "") -> None:
    note(journal, what, reason)
    copies.push(journal)


def _fit(copies: Copies, key: str, journal: Path) -> What:
    layout = SweepLayout(copies.root)
    path, refit = layout.reference(key), read_manner(copies.root).refit
    copies.pull(path)
    if path.exists() and not refit:
        return "skipped"
    config = config_of(next(run for run in read_record(copies.root) if run.fit == key))
    _note(copies, journal, "started")
    spec = get_task(config.task)
    how = config.demo_episodes, config.demo_actions
    demos = load_task_demos(spec, config.demos, *how)
    obtain_reference(config, spec, demos, refit=refit).save(path)
    copies.push(path)
    return "finished"


def _run(copies: Copies, name: str, journal: Path) -> What:
    """Start the run, or continue it, or see that it is finished; a dying rival is waited for."""
    record = next(run for run in read_record(copies.root) if run.name == name)
    directory = copies.root / name
    copies.pull(directory)
    check_same_settings(directory, record.config)
    if (directory / SUMMARY_FILE).exists():
        return "skipped"
    config = config_of(record)
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            what = _train(copies, record, config, directory, journal)
            break
        except DirectoryInUse:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.5)
    copies.push(directory)
    return what


def _train(
    copies: Copies, record: RunRecord, config: RunConfig, directory: Path, journal: Path
) -> What:
    if (directory / SUMMARY_FILE).exists():  # the rival finished it
        return "skipped"
    track = read_manner(copies.root).track
    log = tracking(track or tracker_of(directory), directory, required=track is not None)
    with log as logged:
        callback = _both(logged, copies.after_checkpoints(directory))
        if (directory / CONFIG_FILE).exists():
            _note(copies, journal, "resumed")
            # These are the settings of the user's own plan, as has been checked: they are trusted.
            resume_run(directory, trust=True, callback=callback)
            return "finished"
        reference = _shared(copies, record, config)
        _note(copies, journal, "started")
        start_run(config, directory, reference=reference, callback=callback)
        return "finished"


def _both(first: Callback | None, second: Callback | None) -> Callback | None:
    if first is None or second is None:
        return first or second
    return lambda row: (first(row), second(row))


def _shared(copies: Copies, record: RunRecord, config: RunConfig) -> Reference | None:
    """The reference that was fitted for several runs; None where nothing is fitted."""
    if record.fit is None:
        return None
    path = SweepLayout(copies.root).reference(record.fit)
    copies.pull(path)
    return load_reference(path, trusted=config.reference)
