"""docs/gallery.md: a page and its figures, made from a reproduction and from nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import reproduced as made_up

from airqueue_papers import document, tried
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced, choose
from validation import gallery

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "SHOWN", ("by-load",))
    (tmp_path / "gallery").mkdir()
    (tmp_path / "gallery" / "old.svg").write_text("")
    gallery.write(tmp_path, made_up.reproduced()[:2], Budget.FULL)
    return tmp_path, (tmp_path / "gallery.md").read_text("utf-8")


def test_it_shows_the_chosen_figures_and_removes_older_ones(page):
    folder, text = page
    assert [path.name for path in folder.glob("gallery/*.svg")] == ["by-load.svg"]
    assert "](gallery/by-load.svg)" in text
    assert "`airqueue reproduce mesh.table3 --budget full`" in text


def test_it_counts_verdicts_and_shares(page):
    _, text = page
    assert "8 of 12 claims count" in text
    row = next(line for line in text.splitlines() if line.startswith("| **all** |"))
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        *("4", "2", "2", "1", "1", "1", "1", "2", "1", "1"),
        *("3 of 5", "1 of 2", "1 of 1"),
    ]


def test_a_figure_that_nobody_draws_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "SHOWN", ("nowhere",))
    with pytest.raises(ValueError, match="no item draws nowhere; there are by-load, goodput"):
        gallery.write(tmp_path, made_up.reproduced(), Budget.FULL)


def test_the_page_in_the_repository_shows_what_lies_beside_it():
    linked = set(re.findall(r"\]\(gallery/([^)]+)\)", (DOCS / "gallery.md").read_text("utf-8")))
    assert linked == {path.name for path in (DOCS / "gallery").iterdir()}
    assert linked == {f"{name}.svg" for name in gallery.SHOWN} | {gallery.CLAIMS} | {
        f"{name}.png" for name in gallery.SCREENS
    }


def test_with_one_paper_all_else_stays(tmp_path):
    shutil.copytree(DOCS / "gallery", tmp_path / "gallery")
    shutil.copy(DOCS / "gallery.md", tmp_path)
    kept = json.loads((DOCS / "gallery" / gallery.CLAIMS).read_text("utf-8"))
    again = [
        Reproduced(
            chosen,
            {},
            [r for r in document.records(kept) if r.claim in chosen.claims],
            (),
            kept["beyond"].get(chosen.name, ()),
            tried=[row for row in tried.read(tried.kept()) if row.item == chosen.name],
        )
        for chosen in choose(["anomaly"])
    ]
    gallery.write(tmp_path, again, Budget(kept["budget"]), ["anomaly"])
    names = ["gallery.md", f"gallery/{gallery.CLAIMS}"]
    for name in [*names, *(f"gallery/{path.name}" for path in DOCS.glob("gallery/*.svg"))]:
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes(), name
