import contextlib
import errno
import math
import os
import re

import numpy as np
import pytest

from nppac.evaluation.metrics import (
    COLUMNS,
    append_row,
    load_metrics,
    rewind,
)
from nppac.utils.errors import UserError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.csv"


def write(path, *steps):
    for step in steps:
        append_row(path, {"env_steps": step, "kl": step / 3})


def test_rows_come_back_exactly(path):
    append_row(path, {"env_steps": 20, "updates": 0, "kl": None, "q": math.nan})
    append_row(path, {"env_steps": 40, "updates": 20, "kl": 1 / 3, "q": -1e-12})
    metrics = load_metrics(path)
    assert tuple(metrics) == COLUMNS
    np.testing.assert_array_equal(metrics["env_steps"], [20, 40])
    np.testing.assert_array_equal(metrics["kl"], [math.nan, 1 / 3])
    np.testing.assert_array_equal(metrics["q"], [math.nan, -1e-12])
    assert np.isnan(metrics["eval_return_mean"]).all()


def test_the_file_is_plain_csv_whole_numbers_whole(path):
    append_row(path, {"env_steps": 20, "wall_seconds": 1.5})
    header, row = path.read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert row == "20,,1.5" + "," * (len(COLUMNS) - 3)


def test_numbers_of_numpy_are_numbers_too(path):
    append_row(path, {"env_steps": np.int64(20), "kl": np.float32(0.5), "q": np.float64(0.1)})
    metrics = load_metrics(path)
    assert (metrics["env_steps"][0], metrics["kl"][0], metrics["q"][0]) == (20, 0.5, 0.1)


def test_infinity_comes_back(path):
    append_row(path, {"env_steps": 1, "kl": math.inf})
    assert load_metrics(path)["kl"][0] == math.inf


@pytest.mark.parametrize("half", ["60,0.", "60", "6"])
def test_a_line_that_a_killed_process_left_half_written_is_no_row(path, half):
    write(path, 20, 40)
    with path.open("a") as file:
        file.write(half)
    np.testing.assert_array_equal(load_metrics(path)["env_steps"], [20, 40])
    rewind(path, 1000)
    write(path, 60)
    np.testing.assert_array_equal(load_metrics(path)["env_steps"], [20, 40, 60])


def test_rewinding_keeps_the_rows_as_they_were_written(path):
    write(path, 20, 40)
    before = path.read_bytes()
    write(path, 60, 80)
    rewind(path, 40)
    assert path.read_bytes() == before
    rewind(path, 40)
    assert path.read_bytes() == before


def test_rewinding_to_before_everything_leaves_the_header(path):
    write(path, 20)
    rewind(path, 0)
    assert path.read_text() == ",".join(COLUMNS) + "\n"
    assert len(load_metrics(path)["kl"]) == 0


def test_rewinding_nothing(path):
    rewind(path, 10)
    assert not path.exists()


def test_a_missing_file_is_named(path):
    with pytest.raises(UserError, match=r"metrics\.csv: is this the directory of a run"):
        load_metrics(path)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", ",".join(COLUMNS)])
def test_another_file_is_refused(path, text):
    path.write_text(text)
    with pytest.raises(UserError, match="does not hold the metrics of a run"):
        load_metrics(path)


def test_a_full_disk_is_named(path, monkeypatch):
    write(path, 20)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"append to .*metrics\.csv: No space left"):
        write(path, 40)
    assert load_metrics(path)["env_steps"][0] == 20


def test_a_new_file_is_whole_or_not_there(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left"):
        write(path, 20)
    assert list(path.parent.iterdir()) == []


EMPTY = "," * (len(COLUMNS) - 1)
DAMAGES = {
    "no number": (f"40{EMPTY}x\n", "line 3: column 'updates_per_second' is 'x', which is no num"),
    "a word": (f"40,a b{EMPTY[1:]}\n", "line 3: column 'updates' is 'a b'"),
    "no step": (f"{EMPTY}\n", "line 3: column 'env_steps' is '', which is no step"),
    "a step before the first": (f"-1{EMPTY}\n", "line 3: column 'env_steps' is '-1'"),
    "no step at all": (f"nan{EMPTY}\n", "line 3: column 'env_steps' is 'nan'"),
    "a step back": (f"19{EMPTY}\n", "line 3: column 'env_steps' falls from 20 to 19"),
    "too few fields": ("40,1\n", "line 3: it has 2 fields where the first has 17"),
    "too many fields": (f"40{EMPTY},\n", "line 3: it has 18 fields"),
    "an empty line": (f"\n40{EMPTY}\n", "line 3: it has 0 fields"),
    "an open quote": (f'40{EMPTY}"\n', "line 3: unexpected end of data"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_with_its_line_and_column(path, damage):
    text, message = DAMAGES[damage]
    write(path, 20)
    with path.open("a") as file:
        file.write(text)
    before = path.read_bytes()
    for read in (load_metrics, lambda path: rewind(path, 0)):
        with pytest.raises(UserError, match=re.escape(message)) as caught:
            read(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_no_mutation_gives_anything_but_numbers_or_a_clear_error(path):
    write(path, *range(0, 200, 20))
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(400):
        text = bytearray(whole)
        start = int(rng.integers(len(text)))
        stop = start + int(rng.integers(0, 6))
        text[start:stop] = rng.integers(0, 256, int(rng.integers(0, 6)), np.uint8).tobytes()
        path.write_bytes(text)
        for use in (load_metrics, lambda path: rewind(path, 100), lambda path: write(path, 300)):
            with contextlib.suppress(UserError):
                use(path)


def test_a_file_that_may_not_be_read_is_named(path, monkeypatch):
    write(path, 20)

    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(type(path), "read_bytes", refuse)
    with pytest.raises(UserError, match=r"Cannot read .*metrics\.csv: Permission denied"):
        load_metrics(path)


def test_lines_of_another_system_are_read(path):
    write(path, 20, 40)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    np.testing.assert_array_equal(load_metrics(path)["env_steps"], [20, 40])
