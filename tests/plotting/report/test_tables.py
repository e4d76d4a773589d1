import math

import numpy as np

from nppac.evaluation.compare import standings
from nppac.plotting.report.records import read_records
from nppac.plotting.report.tables import (
    Cell,
    commands_table,
    end_table,
    settings_tables,
    threshold_table,
)

from .runs import write_run


def run(*returns):
    nothing = np.full(len(returns), np.nan)
    steps, values = np.arange(len(returns)) * 1_000.0, np.array(returns, float)
    return {"env_steps": steps, "eval_success_any": nothing, "eval_return_mean": values}


GROUPS = {"ours": [run(0, 4, 4), run(0, 6, 6)], "theirs": [run(1, 5)]}


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_ends_have_intervals_and_the_chance_to_beat_the_best():
    table = end_table(standings(GROUPS), GROUPS, "return", "eval_return_mean")
    ours, theirs = texts(table)
    assert ours == ["ours", "2", "2,000", "0 [0, 0]", "5 [4, 6]", "5 [4, 6]", "is the best"]
    assert theirs == ["theirs", "1", "1,000", "1", "5", "5", "0.5 [0, 1]"]
    alone = {"ours": GROUPS["ours"]}
    single = end_table(standings(alone), alone, "return", "eval_return_mean")
    assert len(single.columns) == len(single.rows[0]) == 6


def test_thresholds_have_the_share_that_reached_them():
    table = threshold_table(standings(GROUPS, [5.0, 6.0]), [5.0, 6.0], "return")
    columns = ["method", "seeds", "reached 5", "steps to 5", "reached 6", "steps to 6"]
    assert table.columns == columns
    ours, theirs = texts(table)
    assert ours[2:4] == ["50%", "never [1,000, never]"]
    assert theirs[2:] == ["100%", "1,000", "0%", "never"]
    assert table.rows[0][3].key == "Infinity"


def test_keys_are_what_a_script_reads_as_numbers():
    keys = [Cell("", value).key for value in (None, 0.5, -3.0, math.inf)]
    assert keys == ["", "0.5", "-3.0", "Infinity"]


def test_settings_that_differ_are_marked_and_others_named_once(tmp_path):
    runs = [write_run(tmp_path / f"{seed}", method="m", seed=seed) for seed in range(2)]
    agent = {"temperature": 9, "tau": 1}
    runs.append(write_run(tmp_path / "odd", method="m", agent=agent))
    differences, shared = settings_tables(read_records(runs)[0])
    assert differences.columns == ["run", "seed", "temperature"]
    assert [row[2] for row in differences.rows] == [
        Cell("0.5", 0.5),
        Cell("0.5", 0.5),
        Cell("9", 9.0, unusual=True),
    ]
    assert ["steps", "40"] in texts(shared)
    assert ["tau", "1"] in texts(shared)


def test_every_run_has_its_command(tmp_path):
    (row,) = texts(commands_table(read_records([write_run(tmp_path / "a")])[0]))
    assert row == [str(tmp_path / "a"), "40", "4", "abc123", "nppac train --seed 0"]
