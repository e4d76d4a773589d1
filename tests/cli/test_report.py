from nppac.cli.main import main

from .mistakes import fails


def test_a_run_is_reported_in_one_page(tmp_path, finished, capsys):
    main(["report", str(finished), "--out", "page.html"])
    assert "Report of 1 run: page.html" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    assert "1 run of 1 task" in page
    assert "settings of the run" in page


def test_a_directory_without_runs_is_a_mistake(tmp_path, capsys):
    message = fails(["report", str(tmp_path)], capsys)
    assert message.startswith("No run to report")
    assert not list(tmp_path.iterdir())
    assert "No run to report" in fails(["report"], capsys)
