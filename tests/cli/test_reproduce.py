import json

import pytest

from nppac.cli import main
from nppac.cli.reproduce import sources_of
from nppac.reproduce import FIGURES


@pytest.mark.parametrize("args", [[], ["list"]])
def test_all_figures_are_listed(capsys, args):
    main(["reproduce", *args])
    out, _ = capsys.readouterr()
    for name, description in FIGURES.items():
        assert name in out
        assert description in out


def test_a_figure_its_data_and_its_record_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["reproduce", "prop1", "--demos", "door=mine.npz", "--demos", "pen=other.npz"])
    out, _ = capsys.readouterr()
    for name in ("prop1.png", "prop1.csv", "prop1.json"):
        assert f"reproduction/{name}\n" in out
        assert (tmp_path / "reproduction" / name).exists()
    record = json.loads((tmp_path / "reproduction" / "prop1.json").read_text())
    assert record["demos"]["pen"] == "other.npz"
    assert record["budget"]["seeds"] == 5
    assert {"command", "commit"} <= record["provenance"].keys()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fig-heatmap"], "Did you mean 'fig-heatmaps'?"),
        (["prop1", "--demos", "door"], "Write TASK=SOURCE"),
        (["prop1", "--demos", "dor=x"], "Did you mean 'door'?"),
    ],
)
def test_mistakes_are_named_and_leave_nothing(tmp_path, monkeypatch, capsys, args, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit:
        main(["reproduce", *args])
    assert exit.value.code == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_source_may_hold_an_equals_sign():
    assert sources_of(("pen=a=b.npz",)) == {"pen": "a=b.npz"}
