"""A reproduction as plain data: what ``airqueue reproduce --json`` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import airqueue
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.verdict import counts, shares

FORMAT: Final = "airqueue-reproduction"
VERSION: Final = 1


def document(reproduced: Sequence[Reproduced], budget: Budget) -> dict[str, Any]:
    """Return one record for each claim, the number of claims by verdict, and sentences beyond claims.

    The content depends on items, budget and version alone.
    """
    records = [record for each in reproduced for record in each.records]
    return {
        "format": FORMAT,
        "version": VERSION,
        "airqueue": airqueue.__version__,
        "budget": budget.value,
        "items": [each.chosen.name for each in reproduced],
        "verdicts": counts(records),
        "met": {sort: {"met": met, "of": of} for sort, (met, of) in shares(records).items() if of},
        "claims": [record.to_json() for record in records],
        "beyond": {each.chosen.name: [*each.sentences] for each in reproduced if each.sentences},
    }


def to_text(reproduced: Sequence[Reproduced], budget: Budget) -> str:
    """Return `document` as text."""
    whole = document(reproduced, budget)
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
