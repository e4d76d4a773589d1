"""The report as one file: style, script, data and drawings inside, and nothing from elsewhere."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from nppac.plotting.report.records import Record, find_runs, read_records
from nppac.plotting.report.section import Group, Section, task_section
from nppac.utils.files import write_atomically

MOST_SHOWN = 8
"""Groups of a task that are visible at first: more curves cannot be told apart."""
COLOURS, DASHES = 8, 4


def write_report(
    directories: Sequence[str | Path], path: str | Path, threshold: float | None = None
) -> int:
    """Write the report of all runs in some directories, and say how many it shows.

    `threshold` replaces the levels to which steps are counted, for every task.
    """
    records, left_out = read_records(find_runs(directories))
    tasks: dict[str, list[Record]] = {}
    for record in records:
        tasks.setdefault(record.task, []).append(record)
    sections = [task_section(tasks[task], threshold, MOST_SHOWN) for task in sorted(tasks)]
    text = render_page(sections, left_out)
    write_atomically(path, lambda file: file.write(text.encode()))
    return len(records)


def render_page(sections: Sequence[Section], left_out: dict[str, str]) -> str:
    """The page; every name and setting in it is escaped by the template's engine."""
    environment = Environment(
        loader=PackageLoader("nppac.plotting.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    methods = list(dict.fromkeys(g.method for section in sections for g in section.groups))
    script, style = _own_file("script.js"), _own_file("style.css")
    return environment.get_template("page.html.jinja").render(
        sections=sections,
        left_out=left_out,
        methods=methods,
        runs=sum(section.runs for section in sections),
        lines=[line_classes(section.groups, methods) for section in sections],
        script=script,
        style=style,
        script_hash=_digest(script),
        style_hash=_digest(style),
        readouts=[[chart.readout() for chart in section.charts] for section in sections],
    )


def line_classes(groups: Sequence[Group], methods: Sequence[str]) -> list[str]:
    """Colour and dash of each group; a method alone has its own colour for every task."""
    classes: dict[str, str] = {}
    free = set(range(COLOURS))
    for group in sorted(groups, key=lambda group: (not group.shown, group.name != group.method)):
        free = free or set(range(COLOURS))
        wanted = methods.index(group.method) % COLOURS
        colour = wanted if wanted in free else min(free)
        free = free - {colour}
        classes[group.name] = f"c{colour} d{(colour + len(classes) // COLOURS) % DASHES}"
    return [classes[group.name] for group in groups]


def _own_file(name: str) -> str:
    return resources.files("nppac.plotting.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    """What the page's policy allows to run or to style; nothing that a name smuggles in is."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
