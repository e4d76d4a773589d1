from nppac.cli.main import main


def test_runs_are_compared_in_one_table_and_one_picture(tmp_path, finished, capsys):
    main(["compare", str(finished), str(finished)])
    out, _ = capsys.readouterr()
    assert "nppac" in out
    assert "…" not in out
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
