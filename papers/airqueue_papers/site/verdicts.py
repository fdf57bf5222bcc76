"""Verdicts as words, colours and signs, their counts, and the shares that are met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from airqueue import text
from airqueue_papers.claim import SORTS
from airqueue_papers.verdict import BY_CONSTRUCTION, Record, Verdict, counts, shares


@dataclass(frozen=True, slots=True)
class Look:
    """How a verdict is shown: never by its colour alone."""

    css: str
    sign: str
    meaning: str


LOOKS: Final[Mapping[str, Look]] = {
    Verdict.REPRODUCED.value: Look(
        "good",
        "✓",
        "Our number is within the claim's tolerance of the printed one; a statement holds.",
    ),
    Verdict.OTHER_NUMBER.value: Look(
        "near",
        "≈",
        "Our number is not that near, but what the paper concludes from it, such as which of two is "
        "the smaller, holds.",
    ),
    Verdict.NOT_REPRODUCED.value: Look(
        "bad", "✗", "Neither the number nor what follows from it; the reason says what explains it."
    ),
    Verdict.NOT_TESTABLE.value: Look(
        "none", "–", "About hardware that no simulation or model can speak for."
    ),
    BY_CONSTRUCTION: Look(
        "given",
        "=",
        "The answer was an input of ours, such as a device that is modelled by its printed capacity: "
        "whatever comes out counts for nothing.",
    ),
}
"""In the order in which they are counted."""


def chip(kind: str) -> str:
    """Return the sign and the words of a verdict."""
    look = LOOKS[kind]
    return (
        f'<span class="chip {look.css}"><span aria-hidden="true">{look.sign}</span> '
        f"{escape(kind)}</span>"
    )


def bar(records: Sequence[Record], *, words: bool = True) -> str:
    """Return a bar whose parts are as long as there are verdicts of a kind, with the numbers below.

    Nothing where there is no record.
    """
    if not records:
        return ""
    present = [(kind, number) for kind, number in counts(records).items() if number]
    parts = "".join(
        f'<i class="{LOOKS[kind].css}" style="flex-grow:{number}"></i>' for kind, number in present
    )
    named = "".join(
        f'<li><span class="sign {LOOKS[kind].css}" aria-hidden="true">{LOOKS[kind].sign}</span> '
        f"<b>{number}</b>{' ' + escape(kind) if words else _hidden(kind)}</li>"
        for kind, number in present
    )
    return f'<div class="bar" aria-hidden="true">{parts}</div><ul class="counts">{named}</ul>'


def cards(records: Iterable[Record]) -> str:
    """Return the shares that are met, of ratios, absolute values and statements that count."""
    items = [
        f"<div><span>{SORTS[sort].capitalize()}s met</span><b>{text.percent(met / of)}</b>"
        f"<small>{met} of {of}</small></div>"
        for sort, (met, of) in shares(records).items()
        if of
    ]
    return f'<div class="cards">{"".join(items)}</div>' if items else ""


def meanings_section() -> str:
    """Return a section of what the verdicts mean."""
    rows = "".join(
        f"<div><dt>{chip(kind)}</dt><dd>{escape(look.meaning)}</dd></div>"
        for kind, look in LOOKS.items()
    )
    met = (
        "<b>Met</b> is what agrees with the print, or with ns-2 where ns-2 itself is off the print: "
        "then something that the paper does not state decides. What is by construction, or not "
        "testable here, is in no share."
    )
    return (
        '<section id="verdicts"><h2>What the verdicts mean</h2>'
        f'<dl class="meanings">{rows}</dl><p>{met}</p></section>'
    )


def _hidden(words: str) -> str:
    """Return words that only screen readers say."""
    return f'<span class="spoken"> {escape(words)}</span>'
