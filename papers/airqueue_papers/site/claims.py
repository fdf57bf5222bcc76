"""The table of an item's claims: printed value, our value, verdict, and reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from airqueue import text
from airqueue.report.html import prose
from airqueue_papers.claim import Claim, Number
from airqueue_papers.finding import Value
from airqueue_papers.site.verdicts import LOOKS, chip
from airqueue_papers.verdict import (
    NOT_DISCRIMINATING,
    UNCHALLENGED,
    UNREAD,
    VALUE,
    Record,
    Verdict,
)

_COMPARED: Final = {"<": "< ", "<=": "≤ ", ">": "> ", ">=": "≥ "}
_UNSAID: Final = frozenset({"", "count", "name", "ratio", "fraction", "probability"})
"""Units that the quantity implies."""
_NUMBERS: Final = ("printed", "ours", "ns-2")
_GAUGE: Final = (132, 14)
"""Width of a gauge, and its height for each value."""
_GAUGE_TOLERANCES: Final = 4.0
"""Deviation at either end of a gauge, in tolerances."""


def usual_tolerance(records: Sequence[Record]) -> float:
    """Return the tolerance of most numbers that count, which is not repeated for each."""
    counted = [each for each in records if each.counts and _has_tolerance(each.claim)]
    seen = Counter(record.claim.tolerance for record in counted)
    return seen.most_common(1)[0][0] if seen else 0.0


def legend(usual: float) -> str:
    """Return the legend of the table."""
    height = _GAUGE[1]
    sample = _svg(
        height,
        [
            *_ground(height),
            '<circle class="ns2" cx="104" cy="7" r="5"/>',
            '<path class="whisker" d="M66 7H92"/><circle class="ours" cx="79" cy="7" r="3.4"/>',
        ],
    )
    return (
        f'<p class="reading good">{sample}<span>The line is the printed number, the band its '
        f"tolerance: {usual * 100:.3g} % unless stated otherwise. The dot is our value with its "
        f"95 % interval, the ring ns-2; the axis ends at {_GAUGE_TOLERANCES:g} tolerances."
        "</span></p>"
    )


def claim_table(records: Sequence[Record], usual: float, *, page: str = "") -> str:
    """Return a row for each record; on a narrow screen each becomes a card.

    ``usual``: tolerance that rows do not repeat. ``page``: the page of the claims, if another.
    """
    shown = [_numbers(record, usual) for record in records]
    present = [head for head in _NUMBERS if any(numbers[head] for numbers in shown)]
    heads = ["claim", *present, "verdict, and why"]
    header = "".join(f'<th scope="col" role="columnheader">{head}</th>' for head in heads)
    rows = "".join(
        _row(record, {head: numbers[head] for head in present}, page)
        for record, numbers in zip(records, shown, strict=True)
    )
    # Browsers drop the table roles of tables that are laid out as cards, so state the roles.
    return (
        '<table class="claims" role="table"><thead role="rowgroup"><tr role="row">'
        f'{header}</tr></thead><tbody role="rowgroup">{rows}</tbody></table>'
    )


def _row(record: Record, numbers: Mapping[str, str], page: str) -> str:
    claim = record.claim
    name = escape(claim.id)
    said = [claim.conditions, claim.note, f"Check: {claim.check}" if claim.check else ""]
    about = "".join(f"<small>{escape(words)}</small>" for words in said if words)
    link = f'<a href="{page}#{name}">{name}</a>'
    cells = [
        f'<th scope="row" role="rowheader">{escape(claim.quantity)}{about}'
        f'<small class="place">{escape(claim.place)} · {link}</small></th>',
        *(_number_cell(head, content) for head, content in numbers.items()),
        f'<td role="cell" class="why">{_verdict(record)}<p>{prose(record.reason)}</p>{_miss(record)}'
        "</td>",
    ]
    return (
        f'<tr id="{name}" role="row" class="{LOOKS[record.counted_as].css}">{"".join(cells)}</tr>'
    )


def _miss(record: Record) -> str:
    return f"<p>Why missed: {prose(record.why)}.</p>" if record.missed else ""


def _numbers(record: Record, usual: float) -> dict[str, str]:
    """Return the cells of the columns of `_NUMBERS`, each present only if any row needs it."""
    cells = (printed(record.claim, usual), _ours(record), _ns2(record))
    return dict(zip(_NUMBERS, cells, strict=True))


def _number_cell(label: str, content: str) -> str:
    css = "n" if content else "n empty"
    return f'<td role="cell" class="{css}" data-label="{label}"><div>{content}</div></td>'


def printed(claim: Claim, usual: float | None = None) -> str:
    """Return the printed value with its spread; empty for a statement in words.

    A tolerance other than the ``usual`` one is named.
    """
    numbers = claim.numbers
    if numbers is None:
        words = claim.printed if isinstance(claim.printed, list) else [claim.printed]
        return "" if words == ["qualitative"] else escape(", ".join(map(str, words)))
    joined = " to " if claim.comparator == "range" else ", "
    shown = _COMPARED.get(claim.comparator, "") + joined.join(map(_as_printed, numbers))
    said = [_spread(claim), claim.uncertainty]
    if usual is not None and _has_tolerance(claim):
        if claim.effects:
            margins = ", ".join(f"{each:.3g}" for each in claim.margins)
            said.append(f"near: within {margins}{_unit(claim)}")
        elif claim.tolerance != usual:
            said.append(f"near: within {claim.tolerance * 100:.3g} %")
    notes = "".join(f"<small>{escape(words)}</small>" for words in said if words)
    return f"<b>{escape(shown)}</b>{_unit(claim)}{notes}"


def _spread(claim: Claim) -> str:
    """Return the paper's own measure of spread."""
    if claim.ci95 is not None:
        return f"± {_as_printed(claim.ci95)} (95 %)"
    if claim.ci95_interval is not None:
        return f"95 %: {' to '.join(map(_as_printed, claim.ci95_interval))}"
    if claim.std is not None:
        return f"std. dev. {_as_printed(claim.std)}"
    return "" if claim.jitter_ms is None else f"jitter {_as_printed(claim.jitter_ms)} ms"


def _has_tolerance(claim: Claim) -> bool:
    compared = claim.sort != "statement" and claim.comparator not in _COMPARED
    return compared and not claim.not_testable


def _ours(record: Record) -> str:
    if not record.ours:
        return ""
    lines = [_value(record, index, value) for index, value in enumerate(record.ours)]
    if len(lines) > 1:
        shown = f'<ol class="values">{"".join(f"<li>{line}</li>" for line in lines)}</ol>'
    else:
        shown = lines[0]
    return shown + _gauge(record)


def _value(record: Record, index: int, value: Value) -> str:
    """Return our number with the printed precision, its deviation and its interval."""
    numbers = record.claim.numbers or []
    of_printed = _digits(numbers[index]) if index < len(numbers) else 3
    digits = min(max(of_printed, 3), 5)
    unit = _unit(record.claim) if len(record.ours) == 1 else ""
    shown = f"<b>{text.rounded(value.mean, digits)}</b>{unit}"
    off = _deviation(record.claim, index, value)
    if off is not None:
        percent = f"{off * 100:+,.0f}" if abs(off) >= 0.005 else "±0"
        shown += f' <span class="off">{percent.replace("-", "−")} %</span>'
    if value.low is not None and value.high is not None:
        low, high = text.rounded(value.low, digits), text.rounded(value.high, digits)
        shown += f"<small>95 %: {low} to {high}</small>"
    return shown


def _deviation(claim: Claim, index: int, value: Value) -> float | None:
    """Return the deviation of our number from a printed number, as a share of the latter."""
    numbers = claim.numbers
    if claim.sort == "statement" or claim.comparator != "=" or not numbers or not numbers[index]:
        return None
    return (value.mean - numbers[index]) / abs(numbers[index])


def _ns2(record: Record) -> str:
    if record.ns2 is None:
        return ""
    beside = {True: "ours is near it", False: "ours is not near it", None: ""}
    said = beside[record.agrees_with_ns2]
    return f"{text.rounded(record.ns2)}{_unit(record.claim)}" + (
        f"<small>{said}</small>" if said else ""
    )


def _verdict(record: Record) -> str:
    kind = record.counted_as
    shown = chip(kind)
    if kind in (NOT_DISCRIMINATING, VALUE, UNCHALLENGED):
        shown += f"<small>{escape(record.verdict.value)}</small>"
    if kind == VALUE and record.challenge is not None:
        shown += f"<small>the null prediction: {escape(record.challenge.verdict.value)}</small>"
    if kind == "by construction":
        shown += f"<small>{escape(record.claim.by_construction)}</small>"
        if record.verdict is not Verdict.REPRODUCED:
            shown += f"<small>and {escape(record.verdict.value)}</small>"
    elif kind == UNREAD:
        shown += f"<small>{escape(record.claim.unread)}; {escape(record.verdict.value)}</small>"
    elif record.met and record.verdict is not Verdict.REPRODUCED:
        shown += "<small>met: ns-2 is off the print too, and ours is near ns-2</small>"
    return shown


def _gauge(record: Record) -> str:
    """Return a picture of deviations: tolerance as a band, ours with its interval, ns-2 hollow."""
    claim = record.claim
    offs = [_deviation(claim, index, value) for index, value in enumerate(record.ours)]
    if not all(claim.margins) or None in offs:
        return ""
    line = _GAUGE[1]
    height = line * len(offs)
    marks = _ground(height)
    if record.ns2 is not None and len(offs) == 1:
        at = _place(claim, 0, record.ns2)
        marks.append(f'<circle class="ns2" cx="{at:.1f}" cy="{height / 2}" r="5"/>')
    for index, value in enumerate(record.ours):
        marks += _gauge_value(claim, index, value, line * (index + 0.5))
    return _svg(height, marks)


def _svg(height: int, marks: Sequence[str]) -> str:
    width = _GAUGE[0]
    return (
        f'<svg class="gauge" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'aria-hidden="true">{"".join(marks)}</svg>'
    )


def _ground(height: int) -> list[str]:
    """Return the parts common to all gauges: axis, band of the tolerance, printed number."""
    middle, near = _GAUGE[0] / 2, _GAUGE[0] / 2 / _GAUGE_TOLERANCES
    return [
        f'<path class="axis" d="M0 {height / 2}H{_GAUGE[0]}"/>',
        f'<rect class="band" x="{middle - near:.1f}" width="{2 * near:.1f}" height="{height}"/>',
        f'<path class="printed" d="M{middle} 0v{height}"/>',
    ]


def _gauge_value(claim: Claim, index: int, value: Value, y: float) -> list[str]:
    marks = []
    if value.low is not None and value.high is not None:
        left, right = _place(claim, index, value.low), _place(claim, index, value.high)
        marks.append(f'<path class="whisker" d="M{left:.1f} {y}H{right:.1f}"/>')
    at = _place(claim, index, value.mean)
    width = _GAUGE[0]
    if 0 < at < width:
        marks.append(f'<circle class="ours" cx="{at:.1f}" cy="{y}" r="3.4"/>')
    else:
        tip, back = (width, -6) if at else (0, 6)
        marks.append(f'<path class="ours" d="M{tip} {y}l{back} -4.5v9z"/>')
    return marks


def _place(claim: Claim, index: int, number: float) -> float:
    """Return the position of a number on a gauge, at most the gauge's end."""
    off = number - float((claim.numbers or [number])[index])
    share = off / claim.margins[index] / _GAUGE_TOLERANCES
    return _GAUGE[0] * (0.5 + 0.5 * min(max(share, -1.0), 1.0))


def _unit(claim: Claim) -> str:
    unit = {"percent": "%", "us": "µs"}.get(claim.unit, claim.unit)
    return f" {escape(unit)}" if unit not in _UNSAID else ""


def _as_printed(number: Number) -> str:
    if 0 < abs(number) < 1e-4:
        return text.rounded(number, _digits(number))
    return f"{number:,}".replace("-", "−")


def _digits(number: Number) -> int:
    """Return the number of significant digits of a number."""
    if not number:
        return 1
    mantissa = f"{abs(number):.9e}".partition("e")[0].replace(".", "").rstrip("0")
    return max(len(mantissa), 1) if math.isfinite(number) else 1
