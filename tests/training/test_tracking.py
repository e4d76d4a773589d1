import json
import struct
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from nppac.cli import main
from nppac.evaluation.metrics import load_metrics
from nppac.training.loop import train_to_end
from nppac.training.tracking import tracker_of, tracking
from nppac.utils.errors import UserError
from toy_run import make_problem
from toy_task import AGENT, SCHEDULE

ROWS = [
    {"env_steps": 20, "kl": 0.5, "eval_return_mean": None},
    {"env_steps": 40, "kl": 0.25, "eval_return_mean": -3.0},
]


def events(directory):
    """Scalars by name as TensorBoard itself reads them: (step, value)."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(directory / "tensorboard"))
    reader.Reload()
    names = reader.Tags()["scalars"]
    return {name: [(e.step, e.value) for e in reader.Scalars(name)] for name in names}


def as_logged(directory):
    columns = load_metrics(directory / "metrics.csv")
    steps = columns.pop("env_steps").astype(int)
    return {
        name: [
            (int(step), float(np.float32(value)))
            for step, value in zip(steps, values, strict=True)
            if not np.isnan(value)
        ]
        for name, values in columns.items()
        if not np.isnan(values).all()
    }


def trained(directory, steps, tracker="tensorboard"):
    directory.mkdir(exist_ok=True)
    with tracking(tracker, directory) as log:
        train_to_end(make_problem(), AGENT, replace(SCHEDULE, steps=steps), 0, directory, log)


def test_tensorboard_reads_what_metrics_csv_says_also_of_a_resumed_run(tmp_path):
    trained(tmp_path, 40)
    assert events(tmp_path) == as_logged(tmp_path)
    trained(tmp_path, 80)
    assert events(tmp_path) == as_logged(tmp_path)
    assert {step for step, _ in events(tmp_path)["train_return_mean"]} == {20, 40, 60, 80}
    assert events(tmp_path)["eval_return_mean"][0][0] == 0


def test_what_was_logged_beyond_a_checkpoint_counts_once(tmp_path):
    (tmp_path / "metrics.csv").touch()
    for rows in (ROWS, [{"env_steps": 40, "kl": 9.0}]):
        with tracking("tensorboard", tmp_path) as log:
            for row in rows:
                if not (tmp_path / "tensorboard").exists():
                    (tmp_path / "tensorboard").mkdir()  # nothing earlier to take over
                log(row)
    assert events(tmp_path)["kl"] == [(20, 0.5), (40, 9.0)]


def test_a_run_that_was_not_tracked_before_is_logged_from_its_start(tmp_path):
    trained(tmp_path, 40, None)
    assert tracker_of(tmp_path) is None
    trained(tmp_path, 80)
    assert events(tmp_path) == as_logged(tmp_path)
    assert tracker_of(tmp_path) == "tensorboard"


def test_an_offline_run_of_wandb_needs_no_account(tmp_path, monkeypatch):
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"task": "toy"}')
    (run / "wandb.json").write_text('{"id": "abcd1234"}')
    with tracking("wandb", run) as log:
        for row in ROWS:
            log(row)
    (file,) = run.glob("wandb/offline-run-*-abcd1234/run-abcd1234.wandb")
    for _ in range(300):  # wandb's own process writes the file, and is not waited for
        if len(history := offline_history(file)) == len(ROWS):
            break
        time.sleep(0.1)
    assert history == [
        {"_step": 20, "env_steps": 20.0, "kl": 0.5},
        {"_step": 40, "env_steps": 40.0, "kl": 0.25, "eval_return_mean": -3.0},
    ]
    assert tracker_of(run) == "wandb"


def records(content):
    """The records of a log as LevelDB writes it: in blocks of 32 KiB, after 7 bytes of a header."""
    assert content.startswith(b":W&B")
    at, parts = 7, []
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        size, kind = struct.unpack_from("<HB", content, at + 4)
        parts.append(content[at + 7 : at + 7 + size])
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


def offline_history(file):
    """The logged rows in a file of wandb, without its own clock."""
    from wandb.proto.wandb_internal_pb2 import Record

    rows = []
    for data in records(file.read_bytes()):
        record = Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {i.key or ".".join(i.nested_key): i for i in record.history.item}
            row = {name: json.loads(item.value_json) for name, item in items.items()}
            rows.append({k: v for k, v in row.items() if k not in ("_timestamp", "_runtime")})
    return rows


@pytest.mark.parametrize(("tracker", "module"), [("tensorboard", "tensorboardX"), ("wandb",) * 2])
def test_a_missing_package_is_named_before_anything_is_written(
    tmp_path, monkeypatch, capsys, tracker, module
):
    monkeypatch.setitem(sys.modules, module, None)
    with (
        pytest.raises(UserError, match=r"--track .* is not installed .*pip install 'nppac\[track"),
        tracking(tracker, tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
    with tracking(tracker, tmp_path, required=False) as log:  # a run is resumed all the same
        assert log is None
    assert "The run's log is not continued: --track" in capsys.readouterr().err


def test_a_tracker_that_fails_is_told_once_and_harms_nothing(tmp_path, capsys):
    with tracking("tensorboard", tmp_path / "absent") as log:
        for row in ROWS:
            log(row)
    assert capsys.readouterr().err.count("tensorboard failed and logs no more: There is no") == 1


def test_without_a_tracker_there_is_no_callback(tmp_path):
    with tracking(None, tmp_path) as log:
        assert log is None


def test_an_unknown_tracker_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--track", "tensorbord"])
    assert "tensorboard" in capsys.readouterr().err
