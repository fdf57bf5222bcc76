"""Shared by all HTML pages: the document frame, tables, and protection against injected code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Final

# A page executes nothing and loads only pictures beside the page: users mail pages, which contain
# names of hosts and files from outside. Escaping is the first protection, this policy the second.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


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
