import numpy as np
import pytest

from nppac.cli.main import main
from nppac.cli.show import show, show_vector, text_of


def test_tables_in_a_pipe_are_not_cut(capsys, monkeypatch):
    main(["tasks"])
    out, _ = capsys.readouterr()
    assert "Open a latched door with a 24-joint hand (39 observations, 28 actions)." in out
    show("a title that is much longer than the little table below it", {"x": 1.0})
    assert capsys.readouterr().out.startswith("a title that is much longer than the little table")
    show("", {"path": "runs/[red]/" + "x" * 200, "unknown": None, "number": 1 / 3})
    out, _ = capsys.readouterr()
    assert "runs/[red]/" in out
    assert out.count("x") == 200
    assert "0.3333" in out
    assert "…" not in out


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10_650.4, "10,650"),
        (-1234.5, "-1,234"),
        (999.96, "1000"),
        (1 / 3, "0.3333"),
        (1e-7, "1e-07"),
        (2e12, "2e+12"),
        (np.float64(2.5), "2.5"),
        (1000, "1000"),
        (None, "-"),
        ((-1.0, 0.5), "-1, 0.5"),
        ([], "none"),
        ("door", "door"),
    ],
)
def test_facts_are_written_as_people_write_them(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_numbers_are_shown_in_full_however_narrow_the_screen(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    values = [-1.234e-05 * (i + 1) for i in range(28)]
    show_vector("lengthscales", values)
    out, _ = capsys.readouterr()
    assert all(f"{value:.3g}" in out for value in values)
    assert max(map(len, out.splitlines())) <= width
