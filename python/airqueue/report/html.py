"""Shared by all HTML pages: the document frame, tables, and protection against injected code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Final

# A page executes nothing and loads only pictures beside the page: users mail pages, which contain
# names of hosts and files from outside. Escaping is the first protection, this policy the second.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Figure:
    """A titled picture: one or more charts under each other or side by side."""

    title: str
    caption: str
    charts: tuple[str, ...]
    legend: tuple[tuple[int, str], ...] = field(default=())
    """(series colour, name) pairs."""


def document(
    title: str, body: Iterable[str], *, styles: Sequence[str] = (), pictures: bool = False
) -> str:
    """Return a page: parts that are HTML already, empty ones left out, with its style sheets inside.

    ``styles`` are style sheets after the common one; ``pictures`` lets the page show files that lie
    beside it.
    """
    common = resources.files("airqueue.report").joinpath("style.css").read_text("utf-8")
    style = "".join((common, *styles))
    policy = _POLICY + ("; img-src 'self'" if pictures else "")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        f"<style>{style}</style></head>\n<body>\n"
        + "\n".join(filter(None, body))
        + "\n</body></html>\n"
    )


def prose(words: str) -> str:
    """Return a sentence as HTML; text between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Iterable[int] = (),
    classes: Sequence[str] = (),
    css: str = "",
) -> str:
    """Return a table of plain text that scrolls on its own; ``numeric`` are columns of numbers.

    ``classes`` has one for each row.
    """
    right = set(numeric)

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{escape(cell)}</{tag}>'
            if i in right
            else f"<{tag}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    header = f"<thead><tr>{cells('th', head)}</tr></thead>" if any(head) else ""
    body = "".join(
        f'<tr class="{classes[i] if classes else ""}">{cells("td", row)}</tr>'
        for i, row in enumerate(rows)
    )
    return f'<div class="scroll"><table class="{css}">{header}<tbody>{body}</tbody></table></div>'


def about(parts: Iterable[str]) -> str:
    """Return the line below the headline."""
    return f'<p class="about">{escape(" · ".join(parts))}</p>'


def cards(items: Iterable[tuple[str, str]]) -> str:
    """Return the most important values, each with its name."""
    shown = "".join(f"<div><span>{escape(k)}</span><b>{escape(v)}</b></div>" for k, v in items)
    return f'<div class="cards">{shown}</div>'


def paragraph(sentences: Sequence[str]) -> str:
    """Return sentences as a paragraph; nothing without sentences."""
    return f"<p>{escape(' '.join(sentences))}</p>" if sentences else ""


def figure(shown: Figure) -> str:
    """Return a picture with its title, caption and legend."""
    legend = "".join(
        f'<span><i class="s{number}"></i>{escape(name)}</span>' for number, name in shown.legend
    )
    arranged = {1: " single", 3: " three"}.get(len(shown.charts), "")
    return (
        f"<figure><figcaption><b>{escape(shown.title)}</b>"
        f"<small>{escape(shown.caption)}</small></figcaption>"
        + (f'<div class="legend">{legend}</div>' if legend else "")
        + f'<div class="charts{arranged}">{"".join(shown.charts)}</div></figure>'
    )


def by_width(wide: str, narrow: str) -> str:
    """Return one picture drawn twice, of which a screen shows the one for its width."""
    return f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'


def data(json_text: str) -> str:
    """Embed a result; in a script element only ``<`` could end or nest it."""
    safe = json_text.replace("<", "\\u003c")
    return f'<script type="application/json" id="result">{safe}</script>'
