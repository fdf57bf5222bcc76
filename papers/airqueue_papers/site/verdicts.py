"""Verdicts as words, colours and signs, their counts, and the shares that are met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from airqueue import text
from airqueue_papers.claim import SORTS
from airqueue_papers.tally import sentences, tally
from airqueue_papers.verdict import (
    BY_CONSTRUCTION,
    NOT_DISCRIMINATING,
    UNCHALLENGED,
    UNREAD,
    VALUE,
    Record,
    Verdict,
    counts,
    shares,
)


@dataclass(frozen=True, slots=True)
class Look:
    """Look of a verdict, which is never shown by its colour alone."""

    css: str
    sign: str
    meaning: str


LOOKS: Final[Mapping[str, Look]] = {
    Verdict.REPRODUCED.value: Look(
        "good",
        "✓",
        "Our number is within the claim's tolerance of the printed one, and the order that the paper "
        "concludes from it holds; a statement holds.",
    ),
    Verdict.OTHER_NUMBER.value: Look(
        "near",
        "≈",
        "Our number is outside the tolerance, but the paper's conclusion from it, such as which of "
        "two is the smaller, holds.",
    ),
    Verdict.NOT_REPRODUCED.value: Look(
        "bad", "✗", "Neither the number nor the conclusion from it holds; the reason explains why."
    ),
    NOT_DISCRIMINATING: Look(
        "none",
        "○",
        "The verdict stands when the mechanism that the claim is about is switched off: it shows "
        "nothing, and does not count.",
    ),
    VALUE: Look(
        "none",
        "#",
        "A value that is about no mechanism, beside the prediction of a constant or of the best "
        "simpler model; counted apart.",
    ),
    UNCHALLENGED: Look(
        "none", "…", "The mechanism has not been switched off yet; the verdict does not count."
    ),
    Verdict.UNDECIDED.value: Look(
        "none",
        "?",
        "Our interval, or the print's own error, is wider than the tolerance, and both do not "
        "bridge the distance either way.",
    ),
    BY_CONSTRUCTION: Look(
        "given",
        "=",
        "The answer was an input of ours, such as a device that is modelled by its printed capacity: "
        "the result does not count.",
    ),
    UNREAD: Look(
        "none",
        "~",
        "The place in the paper could not be read, and the printed number is as remembered: ours is "
        "compared with it, and does not count.",
    ),
    Verdict.NOT_TESTABLE.value: Look(
        "none", "–", "About hardware that no simulation or model can speak for."
    ),
}
"""Verdicts in the order of the counts."""


def chip(kind: str) -> str:
    """Return the sign and the words of a verdict."""
    look = LOOKS[kind]
    return (
        f'<span class="chip {look.css}"><span aria-hidden="true">{look.sign}</span> '
        f"{escape(kind)}</span>"
    )


def bar(records: Sequence[Record], *, words: bool = True) -> str:
    """Return a bar with parts in proportion to the verdicts of each kind, and the numbers below.

    Empty if there is no record.
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


def lead(records: Iterable[Record]) -> str:
    """Return the counts in sentences."""
    return "".join(f"<p>{escape(each)}</p>" for each in sentences(tally(records)))


def meanings_section() -> str:
    """Return the section that explains the verdicts."""
    rows = "".join(
        f"<div><dt>{chip(kind)}</dt><dd>{escape(look.meaning)}</dd></div>"
        for kind, look in LOOKS.items()
    )
    met = (
        "<b>Met</b> are claims that agree with the print, or with ns-2 where ns-2 itself is off the "
        "print: a setting that the paper does not state then decides. Only claims count whose "
        "verdict changes when their mechanism is switched off."
    )
    return (
        '<section id="verdicts"><h2>Meaning of the verdicts</h2>'
        f'<dl class="meanings">{rows}</dl><p>{met}</p></section>'
    )


def _hidden(words: str) -> str:
    """Return words that only screen readers say."""
    return f'<span class="spoken"> {escape(words)}</span>'
