import json

import pytest

from nppac.cli import main
from nppac.cli.parsing import whole_number
from nppac.cli.training import train_arguments
from nppac.training.config import read_config
from nppac.training.presets import preset
from toy_task import FLAGS, TASK

from .mistakes import fails


def printed(capsys, *args):
    main(["train", *args, "--print-config"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("text", ["1000", "1_000", "1e3", "1.0e3"])
def test_whole_numbers_are_written_in_many_ways(text):
    assert whole_number(text) == 1000


@pytest.mark.parametrize("text", ["1.5", "inf", "nan", "1e400", "x", ""])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ValueError, match=r"whole|float"):
        whole_number(text)


def test_the_printed_settings_are_those_of_the_preset_and_the_flags(capsys):
    found = printed(capsys, "--task", "pen", "--steps", "1e5", "--gp.fit-points", "1e2")
    assert found["schedule"]["steps"] == 100_000
    assert found["gp"]["fit_points"] == 100
    assert found["agent"]["temperature"] == preset("pen", "nppac-anchored").agent.temperature


def test_printed_settings_can_be_given_back(tmp_path, capsys):
    first = printed(capsys, *FLAGS, "--seed", "3")
    (tmp_path / "c.json").write_text(json.dumps(first))
    assert printed(capsys, "--config", "c.json") == first
    assert printed(capsys, "--config", "c.json", "--seed", "4") == {**first, "seed": 4}


def test_a_run_is_trained_from_an_edited_file(tmp_path, demos, capsys):
    first = printed(capsys, *FLAGS, "--demos", demos)
    first["agent"]["discount"] = 0.9
    (tmp_path / "c.json").write_text(json.dumps(first))
    main(["train", "--config", "c.json", "--steps", "40", "--out", "run"])
    config = read_config("run")
    assert (config.agent.discount, config.schedule.steps) == (0.9, 40)


def test_what_a_file_leaves_out_is_the_presets(tmp_path):
    (tmp_path / "c.json").write_text('{"task": "pen", "agent": {"discount": 0.9}}')
    config = train_arguments(["--config", "c.json"]).run
    expected = preset("pen", "nppac-anchored")
    assert config.agent.discount == 0.9
    assert config.agent.temperature == expected.agent.temperature
    assert config.schedule == expected.schedule


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ('{"agnet": {}}', [], "c.json: Unknown setting 'agnet'. Did you mean 'agent'?"),
        ('{"agent": {"doscount": 1}}', [], "c.json: 'agent': Unknown setting 'doscount'."),
        ("[]", [], "c.json does not hold the configuration of a run"),
        ('{"seed": "one"}', [], "c.json: 'seed' is 'one'; it must be a whole number."),
        (
            '{"method": "sac", "agent": {}}',
            ["--method", "nppac"],
            "c.json holds the settings of the method 'sac', which --method nppac has not",
        ),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path, capsys, text, flags, message):
    (tmp_path / "c.json").write_text(text)
    assert fails(["train", "--config", "c.json", *flags], capsys).startswith(message)


def test_a_file_that_is_not_there_is_named(capsys):
    assert "There is no file c.json" in fails(["train", "--config", "c.json"], capsys)


def test_the_help_shows_what_matters_and_all_of_it_on_request(capsys):
    shown = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["train", flag])
        shown[flag] = capsys.readouterr().out
    for option in ("task", "method", "demos", "reference", "steps", "seed", "out", "config"):
        assert f"--{option} " in shown["--help"]
    assert "--help-all shows every flag." in shown["--help"]
    assert "--gp.kernel" not in shown["--help"]
    for option in ("gp.kernel", "network.hidden", "utd-ratio", "eval-every", "demo-episodes"):
        assert f"--{option} " in shown["--help-all"]
    assert len(shown["--help"].splitlines()) < 45


def test_a_directory_that_cannot_be_written_is_found_before_the_fit(tmp_path, capsys, monkeypatch):
    def fit(*_, **__):
        raise AssertionError("fitted in vain")

    monkeypatch.setattr("nppac.training.problem.fitted_reference", fit)
    monkeypatch.setattr("nppac.api.fitted_reference", fit)
    (tmp_path / "file").write_text("")
    for command in ("train", "fit", "doctor"):
        args = [command, "--task", TASK, "--demos", "d.npz", "--out", "file/there/x"]
        message = fails(args, capsys)
        assert message.startswith("Cannot use the directory file/there")
