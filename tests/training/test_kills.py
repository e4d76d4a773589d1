import json
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak_kills.py"


@pytest.mark.slow
def test_runs_that_are_killed_again_and_again_end_as_if_they_had_not_been(tmp_path):
    record = tmp_path / "record.json"
    numbers = ["--kills", "20", "--terminations", "5", "--out", str(record)]
    done = subprocess.run(
        [sys.executable, str(SOAK), *numbers], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(record.read_text())
    assert found["problems"] == []
    assert sum(found["counts"].values()) >= 25 + found["counts"]["runs compared"]
