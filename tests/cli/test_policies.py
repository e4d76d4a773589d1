from nppac.cli.main import main


def test_runs_are_compared_in_one_table_and_one_picture(tmp_path, finished, capsys):
    main(["compare", str(finished), str(finished)])
    out, _ = capsys.readouterr()
    assert "nppac" in out
    assert "…" not in out
    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_where_runs_ended_replaces_the_curves(tmp_path, finished, capsys):
    main(["compare", str(finished), "--out", "curves.png"])
    main(["compare", str(finished), "--ends", "--out", "ends.png"])
    assert "Picture: ends.png" in capsys.readouterr().out
    curves, ends = ((tmp_path / f"{name}.png").read_bytes() for name in ("curves", "ends"))
    assert ends.startswith(b"\x89PNG")
    assert ends != curves
