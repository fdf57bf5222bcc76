"""How scenarios and results look in notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from airqueue import toml_text
from airqueue.simulate.reported import KINDS, summaries
from airqueue.simulate.results import Results
from airqueue.simulate.shown import LONG, SHOWN, figure_column

if TYPE_CHECKING:
    from airqueue.description import Description
    from airqueue.figures import Summary

_MOST_ROWS = 50


def of_scenario(description: Description) -> str:
    """Return a scenario as HTML: its keys as a file has them."""
    return f"<pre>{escape(toml_text.render(description))}</pre>"


def of_results(results: Results) -> str:
    """Return results as HTML: the figures that people see first, a table for each kind."""
    parts = [f"<p>{escape(repr(results)[1:-1])}</p>"]
    for kind, noun in KINDS.items():
        named = {name: summaries(of) for name, of in results.summary[kind].items()}
        if named and kind != LONG:
            parts += _table(noun, named, SHOWN[kind])
    if len(results.runs) > 1:
        parts.append("<p>± is half the 95 % confidence interval of the mean.</p>")
    return "".join(parts)


def _table(
    noun: str, named: Mapping[str, Mapping[str, Summary]], figures: tuple[str, ...]
) -> Iterator[str]:
    columns = [figure_column(name, [of[name] for of in named.values()]) for name in figures]
    heads = [noun, *(heading.replace("\n", " ") for heading, _ in columns)]
    yield f"<table><thead>{_row('th', heads)}</thead><tbody>"
    rows = list(zip(named, *(cells for _, cells in columns), strict=True))
    yield from (_row("td", row) for row in rows[:_MOST_ROWS])
    yield "</tbody></table>"
    if len(rows) > _MOST_ROWS:
        yield f"<p>{len(rows) - _MOST_ROWS:,} more; data frames have all.</p>"


def _row(cell: str, values: tuple[str, ...] | list[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(value)}</{cell}>' for value in values)}</tr>"
