import html

import numpy as np
import pytest

from nppac.plotting.report import write_report
from nppac.plotting.report.page import line_classes
from nppac.plotting.report.section import Group
from nppac.utils.errors import UserError

from .runs import write_run


@pytest.fixture
def tree(tmp_path):
    for seed in range(3):
        write_run(tmp_path / "runs" / f"a{seed}", seed=seed, level=2.0)
        write_run(tmp_path / "runs" / f"b{seed}", method="sac", seed=seed)
    write_run(tmp_path / "runs" / "c", task="pen")
    return tmp_path / "runs"


def test_a_report_shows_curves_tables_settings_and_commands(tree, tmp_path):
    assert write_report([tree], tmp_path / "r.html") == 7
    page = (tmp_path / "r.html").read_text()
    for text in (
        "7 runs of 2 tasks",
        "nppac (3 seeds)",
        "KL to the reference",
        "Policy gradient",
        "Reference&#39;s scale at visited states",
        "Performance profile",
        "Steps to a threshold",
        "nppac train --seed 2",
        "eval episodes",
    ):
        assert text in page, text


def test_the_same_runs_give_the_same_file(tree, tmp_path):
    pages = []
    for name in ("a.html", "b.html"):
        write_report([tree], tmp_path / name)
        np.random.default_rng().normal()
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_a_threshold_can_be_given(tree, tmp_path):
    write_report([tree], tmp_path / "r.html", threshold=1.25)
    assert "steps to 1.25" in (tmp_path / "r.html").read_text()


def test_one_run_is_a_report_too(tree, tmp_path):
    assert write_report([tree / "c"], tmp_path / "r.html") == 1
    page = (tmp_path / "r.html").read_text()
    assert "1 run of 1 task" in page
    assert "settings of the run" in page
    assert "Methods shown" not in page


def test_nothing_is_loaded_from_elsewhere(tree, tmp_path):
    write_report([tree], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_names_and_settings_are_escaped(tmp_path):
    evil = "<script>alert(1)</script>"
    directory = tmp_path / "runs" / "<script>" / "a"
    write_run(directory, task=evil, method=evil, agent={evil: evil}, seed=evil)
    write_run(tmp_path / "runs" / "<img src=x onerror=alert(2)>", task=evil, method='"x" onclick="')
    broken = write_run(tmp_path / "runs" / "<b>")
    (broken / "config.json").write_text("<i>")
    write_report([tmp_path / "runs"], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert html.escape(evil) in page
    assert "<script>alert" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "<b>" not in page
    assert '"x" onclick' not in page


def test_a_report_that_cannot_be_written_leaves_nothing(tree, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"r\.html"):
        write_report([tree], tmp_path / "file" / "r.html")


def test_a_method_has_one_colour_and_no_two_shown_lines_are_alike():
    def group(name, shown=True):
        return Group(name, name.partition(",")[0], name, shown, 1)

    methods = ["sac", "nppac"]
    assert line_classes([group("nppac, x 1"), group("nppac")], methods) == ["c0 d0", "c1 d1"]
    many = line_classes([group(f"sac, x {i}") for i in range(32)], methods)
    assert len(set(many)) == 32
