"""The page of a paper: its items one by one, and the claims that get no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources

from airqueue.report.html import document, prose, table
from airqueue_papers import tried
from airqueue_papers.claim import SORTS, Claim, load
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.site.claims import claim_table, legend, printed, usual_tolerance
from airqueue_papers.site.figures import Drawn
from airqueue_papers.site.runs import again
from airqueue_papers.site.verdicts import bar, cards, meanings_section
from airqueue_papers.tried import Tried
from airqueue_papers.verdict import Record

STYLES = (resources.files("airqueue_papers.site").joinpath("site.css").read_text("utf-8"),)


def page_of(paper: str) -> str:
    """Return the file name of a paper's page."""
    return f"{paper}.html"


def paper_page(
    paper: str,
    items: Sequence[Reproduced],
    drawn: Mapping[str, Sequence[Drawn]],
    papers: Sequence[str],
    budget: Budget,
) -> str:
    """Return the page of a paper; ``drawn`` has the pictures by the names of the items."""
    claims = load(paper)
    records = records_of(items)
    usual = usual_tolerance(records)
    body = [
        navigation(papers, paper),
        "<main>",
        f"<h1>{escape(claims.title)}</h1>",
        f'<p class="about">{escape(claims.authors)}</p>',
        bar(records),
        cards(records),
        _contents(items),
        legend(usual) if any(record.ours for record in records) else "",
        *(_item(each, drawn.get(each.chosen.name, ()), usual, budget) for each in items),
        _tolerances(records),
        _unjudged([claim for claim in claims.claims.values() if not claim.judged]),
        meanings_section() if records else "",
        "</main>",
    ]
    return document(f"{paper.upper()} rebuilt", body, styles=STYLES, pictures=True)


def records_of(items: Sequence[Reproduced]) -> list[Record]:
    """Return the records of all items."""
    return [record for each in items for record in each.records]


def navigation(papers: Sequence[str], current: str = "") -> str:
    """Return links to all pages."""
    pages = [("index.html", "All papers", ""), *((page_of(p), p.upper(), p) for p in papers)]
    links = "".join(
        f'<a href="{href}"{" aria-current=page" if name == current else ""}>{escape(words)}</a>'
        for href, words, name in pages
    )
    return f'<nav aria-label="Papers">{links}</nav>'


def _contents(items: Sequence[Reproduced]) -> str:
    links = "".join(
        f'<li><a href="#{escape(each.chosen.item.name)}">{escape(each.chosen.item.title)}</a> '
        f"{bar(each.records, words=False)}</li>"
        for each in items
    )
    return f'<ol class="contents" id="items">{links}</ol>'


def _item(each: Reproduced, drawn: Sequence[Drawn], usual: float, budget: Budget) -> str:
    item = each.chosen.item
    where = "Real programs and a whole Linux kernel on a virtual clock."
    real = f'<p class="real">{where}</p>' * item.exact
    notes = "".join(f"<p>{prose(note)}</p>" for note in item.notes)
    says = [f"<p>{prose(sentence)}</p>" for sentence in each.sentences]
    parts = [
        f'<section id="{escape(item.name)}">',
        f"<h2>{escape(item.title)} <code>{escape(each.chosen.name)}</code></h2>",
        real,
        '<div class="figures">' if drawn else "",
        *(picture.html() for picture in drawn),
        "</div>" if drawn else "",
        *says,
        claim_table(each.records, usual) if each.records else "",
        _settings(each.tried),
        f'<div class="notes"><h3>Notes</h3>{notes}</div>' if notes else "",
        again(each, budget),
        '<p class="up"><a href="#items">↑ all items</a></p>',
        "</section>",
    ]
    return "".join(parts)


def _settings(rows: Sequence[Tried]) -> str:
    """Return how many numbers of an item each setting explains, for all of them together."""
    if not rows:
        return ""
    heads = ["one setting for all numbers", *(verdict.value for verdict in tried.COUNTED)]
    cells = [[row.setting, *(str(each or "") for each in row.counts)] for row in rows]
    return (
        f"{table(heads, cells, numeric=range(1, len(heads)))}<p>{prose(tried.sentence(rows))}</p>"
    )


def _tolerances(records: Sequence[Record]) -> str:
    """Return the tolerances and their reasons: the common tolerance once, the others by claim."""
    reasons: dict[tuple[str, float, str], list[Claim]] = {}
    for claim in (record.claim for record in records):
        if claim.sort != "statement" and not claim.not_testable:
            reasons.setdefault((claim.sort, claim.tolerance, claim.because), []).append(claim)
    if not reasons:
        return ""
    rows = []
    for (sort, tolerance, because), claims in reasons.items():
        names = ", ".join(f'<a href="#{escape(c.id)}">{escape(c.id)}</a>' for c in claims)
        many = f"<details><summary>{len(claims)} claims</summary>{names}</details>"
        rows.append(
            f"<li>± {tolerance * 100:.3g} % for {SORTS[sort]}s, {escape(because)}. "
            f"{names if len(claims) <= 3 else many}</li>"
        )
    return (
        '<section id="near"><h2>Tolerances</h2><p>Stated before any run.</p>'
        f'<ul class="near">{"".join(rows)}</ul></section>'
    )


def _unjudged(claims: Sequence[Claim]) -> str:
    """Return the paper's settings and errors of print, which get no verdict."""
    if not claims:
        return ""
    errors_first = sorted(claims, key=lambda claim: claim.kind != "erratum")
    rows = "".join(map(_unjudged_row, errors_first))
    return (
        '<section id="settings"><h2>Settings, and errors of print</h2>'
        "<p>Entries of the paper that are not results and get no verdict.</p>"
        f"<details><summary>{len(claims)} of them</summary>"
        f'<table class="settings" role="table"><tbody role="rowgroup">{rows}</tbody></table>'
        "</details></section>"
    )


def _unjudged_row(claim: Claim) -> str:
    about = "".join(f"<small>{escape(w)}</small>" for w in (claim.conditions, claim.check) if w)
    what = "error of print" if claim.kind == "erratum" else printed(claim)
    return (
        f'<tr role="row"><th scope="row" role="rowheader">{escape(claim.quantity)}{about}</th>'
        f'<td role="cell">{what}</td><td role="cell">{escape(claim.place)}</td></tr>'
    )
