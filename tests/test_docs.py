"""The documents: links lead somewhere, and examples are Python."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What its headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def lost(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_a_heading_of_it(page):
    links = LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    inner = [link for link in links if "://" not in link]
    assert [link for link in inner if lost(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_are_valid_python(page):
    for example in EXAMPLE.findall(page.read_text()):
        compile(example, str(page), "exec")
