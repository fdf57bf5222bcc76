"""A reproduction as plain data: what ``airqueue reproduce --json`` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import airqueue
from airqueue_papers import challenge
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.sabotage import Campaign
from airqueue_papers.tally import tally
from airqueue_papers.verdict import counts, shares

FORMAT: Final = "airqueue-reproduction"
SABOTAGE_FORMAT: Final = "airqueue-sabotage"
VERSION: Final = 2


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
        "tally": tally(records).to_json(),
        "verdicts": counts(records),
        "met": {sort: {"met": met, "of": of} for sort, (met, of) in shares(records).items() if of},
        "claims": [record.to_json() for record in records],
        "tried": [each.to_json() for of in reproduced for each in of.tried],
        "beyond": {each.chosen.name: [*each.sentences] for each in reproduced if each.sentences},
    }


def sabotage_to_text(done: Campaign, budget: Budget) -> str:
    """Return a campaign as text: for each claim the verdict and our numbers, with its mechanism and
    without, and the counts.
    """
    whole = {
        "format": SABOTAGE_FORMAT,
        "version": VERSION,
        "airqueue": airqueue.__version__,
        "budget": budget.value,
        "tally": tally(challenge.records(done.rows)).to_json(),
        "claims": [
            {
                "id": row.claim,
                "rests_on": row.rests_on or None,
                "verdict": row.verdict.value,
                "ours": row.ours,
                "without_mechanism": None if row.without is None else row.without.value,
                "ours_without": row.ours_without,
                "reason_without": done.without[row.claim].reason
                if row.claim in done.without
                else None,
            }
            for row in done.rows
        ],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_text(reproduced: Sequence[Reproduced], budget: Budget) -> str:
    """Return `document` as text."""
    whole = document(reproduced, budget)
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
