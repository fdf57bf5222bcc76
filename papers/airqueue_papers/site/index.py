"""The first page: the papers, the share of claims that agree, and the claims that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from airqueue import text
from airqueue.report.html import document, table
from airqueue_papers.claim import load
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.site.claims import claim_table, legend, usual_tolerance
from airqueue_papers.site.paper import STYLES, navigation, page_of, records_of
from airqueue_papers.site.verdicts import bar, cards, lead, meanings_section


def index_page(
    by_paper: Mapping[str, Sequence[Reproduced]], facts: Mapping[str, str], command: str
) -> str:
    """Return the first page; ``facts``: origin of the results, ``command``: makes them."""
    records = [record for items in by_paper.values() for record in records_of(items)]
    what = text.plural(sum(bool(records_of(items)) for items in by_paper.values()), "paper")
    body = [
        navigation(list(by_paper)),
        "<main>",
        "<h1>Papers on queues of Wi&#8209;Fi networks, rebuilt</h1>",
        f'<p class="lead">{text.plural(len(records), "claim")} of {what}, each beside the '
        "results of airqueue's simulations and models, with the verdict and its reason.</p>",
        lead(records),
        bar(records),
        cards(records),
        '<section id="papers"><h2>Paper by paper</h2><div class="papers">',
        *(_paper(paper, items) for paper, items in by_paper.items()),
        "</div></section>",
        _misses(by_paper),
        meanings_section(),
        _provenance(facts, command),
        "</main>",
    ]
    return document("Papers on Wi-Fi queues, rebuilt", body, styles=STYLES, pictures=True)


def _paper(paper: str, items: Sequence[Reproduced]) -> str:
    claims = load(paper)
    page = page_of(paper)
    links = "".join(
        f'<li><a href="{page}#{escape(item.name)}">{escape(item.title)}</a></li>'
        for item in (each.chosen.item for each in items)
    )
    return (
        f'<article><h3><a href="{page}">{escape(claims.title)}</a></h3>'
        f'<p class="about">{escape(" · ".join(filter(None, (paper.upper(), claims.authors))))}</p>'
        f"{bar(records_of(items))}"
        f"<details><summary>{text.plural(len(items), 'item')}</summary><ol>{links}</ol></details>"
        "</article>"
    )


def _misses(by_paper: Mapping[str, Sequence[Reproduced]]) -> str:
    """Return the counted claims that are not met, with the reasons."""
    usual = usual_tolerance([record for items in by_paper.values() for record in records_of(items)])
    parts = []
    for paper, items in by_paper.items():
        missed = [record for record in records_of(items) if record.counts and not record.met]
        if missed:
            heading = f"<h3>{escape(paper.upper())}</h3>"
            parts.append(heading + claim_table(missed, usual, page=page_of(paper)))
    heading = '<section id="misses"><h2>Claims not met, and why</h2>'
    if not parts:
        return heading + "<p>None: all claims that count are met.</p></section>"
    return heading + legend(usual) + "".join(parts) + "</section>"


def _provenance(facts: Mapping[str, str], command: str) -> str:
    rows = [[name, value] for name, value in facts.items()]
    return (
        '<section id="provenance"><h2>Origin of the results</h2>'
        f"{table(['', ''], rows, css='facts')}"
        f"<p>Command that reproduces this report:</p><pre><code>{escape(command)}</code></pre>"
        '<p>Every claim as data: <a href="claims.json">claims.json</a>.</p></section>'
    )
