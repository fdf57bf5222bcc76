"""Every link of a page leads somewhere: to a file, and to a heading of it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.listings import FENCE, ROOT, pages

PAGES = [*pages(), ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
SCHEME = re.compile(r"[a-z]+:")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site give to a page's headings."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", page.read_text("utf-8"))):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
        number = 0
        while (each := anchor + (f"-{number}" if number else "")) in found:
            number += 1
        found.add(each)
    return found


def links(page: Path) -> list[str]:
    """Return the links of a page, but for those of its listings."""
    text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text("utf-8")))
    return LINK.findall(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    for link in links(page):
        if SCHEME.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(page.parent / path)) if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_every_page_is_in_the_index():
    index = ROOT / "docs" / "index.md"
    named = {os.path.normpath(index.parent / link.partition("#")[0]) for link in links(index)}
    project = ROOT / "docs" / "project"
    missing = [
        page
        for page in sorted(ROOT.glob("docs/**/*.md"))
        if str(page) not in named and page != index and page.parent != project
    ]
    assert not missing


def test_the_files_of_the_root_are_where_the_site_looks_for_them():
    """The site has what the sections of the index link (docs/conf.py), not the text above them."""
    section = (ROOT / "docs" / "index.md").read_text("utf-8").partition("\n## The project\n")[2]
    for page in (ROOT / "docs" / "project").glob("*.md"):
        assert f"](../{page.stem.upper()}.md)" in section, page


def test_a_wrong_anchor_would_be_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One `[two]` (three)\n\n```sh\n# not\n```\n\n## One `[two]` (three)\n")
    assert anchors(page) == {"one-two-three", "one-two-three-1"}
