"""Whatever operation of the disk fails, a run can be resumed and ends as if none had."""

import errno
from contextlib import suppress

import pytest

from nppac.training.runs import resume_run, start_run
from nppac.utils.errors import UserError
from nppac.utils.files import is_leftover
from toy_task import assert_same_run, make_config

from .faults import Faults

CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    start_run(make_config(), directory)
    return directory


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """What a run does to its directory, in order."""
    directory = tmp_path_factory.mktemp("runs") / "counted"
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, directory)
        start_run(make_config(), directory)
    return faults.names


def survives(directory, undisturbed, fail_at, code):
    """Let a run meet one fault; then go on with it, and compare."""
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, directory, fail_at, code)
        with suppress(UserError):  # and nothing else
            start_run(make_config(), directory)
    assert faults.count >= fail_at
    if (directory / "config.json").exists():
        resume_run(directory)
    else:
        start_run(make_config(), directory)
    assert_same_run(directory, undisturbed)
    assert not any(map(is_leftover, directory.iterdir()))


def chosen(operations, kinds=("open", "write", "flush", "fsync", "link", "replace", "mkdir")):
    """One operation of each kind, some early and some late."""
    found = []
    for number, kind in enumerate(kinds, 1):
        places = [i for i, name in enumerate(operations, 1) if name.startswith(kind)]
        found.append(places[number * len(places) // (len(kinds) + 1)])
    return found


def test_a_run_does_to_the_disk_what_the_faults_know(operations):
    kinds = {name.split()[0] for name in operations}
    assert kinds == {"open", "write", "flush", "fsync", "link", "replace", "mkdir", "unlink"}


def test_a_run_survives_a_fault_of_each_kind(tmp_path, undisturbed, operations):
    for number, place in enumerate(chosen(operations)):
        code = CODES[number % len(CODES)]
        survives(tmp_path / f"{place}" / "run", undisturbed, place, code)


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
def test_a_run_survives_every_fault(tmp_path, undisturbed, operations, code):
    for place in range(1, len(operations) + 1):
        survives(tmp_path / f"{place}" / "run", undisturbed, place, code)


def test_a_resumed_run_survives_a_fault_too(tmp_path, undisturbed, operations):
    places = [i for i, name in enumerate(operations, 1) if name == "replace"]
    directory = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        Faults(patch, directory, places[len(places) // 2], errno.ENOSPC)
        with pytest.raises(UserError, match="No space left"):
            start_run(make_config(), directory)
    for place in (3, 8):
        with pytest.MonkeyPatch.context() as patch:
            Faults(patch, directory, place, errno.EIO)
            with suppress(UserError):
                resume_run(directory)
    resume_run(directory)
    assert_same_run(directory, undisturbed)
