"""A reproduction as plain data: what ``airqueue reproduce --json`` writes, and its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

import airqueue
from airqueue_papers import challenge, claim
from airqueue_papers.finding import Value
from airqueue_papers.item import Budget
from airqueue_papers.reproduction import Reproduced
from airqueue_papers.sabotage import Campaign
from airqueue_papers.tally import tally
from airqueue_papers.verdict import Record, Verdict, counts, shares

FORMAT: Final = "airqueue-reproduction"
SABOTAGE_FORMAT: Final = "airqueue-sabotage"
VERSION: Final = 2
SCHEMAS: Final = {
    FORMAT: "results.schema.json",
    SABOTAGE_FORMAT: "sabotage.schema.json",
}
"""Format -> the file of its JSON Schema (2020-12)."""


def document(reproduced: Sequence[Reproduced], budget: Budget) -> dict[str, Any]:
    """Return one record for each claim, the number of claims by verdict, and sentences beyond claims.

    The content depends on items, budget and version alone.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "airqueue": airqueue.__version__,
        "budget": budget.value,
        "items": [each.chosen.name for each in reproduced],
        **_counted([record for each in reproduced for record in each.records]),
        "tried": [each.to_json() for of in reproduced for each in of.tried],
        "beyond": {each.chosen.name: [*each.sentences] for each in reproduced if each.sentences},
    }


def _counted(found: Sequence[Record]) -> dict[str, Any]:
    """Return records as plain data, and their counts."""
    return {
        "tally": tally(found).to_json(),
        "verdicts": counts(found),
        "met": {sort: {"met": met, "of": of} for sort, (met, of) in shares(found).items() if of},
        "claims": [record.to_json() for record in found],
    }


def merged(
    new: Mapping[str, Any], old: Mapping[str, Any], papers: Collection[str]
) -> dict[str, Any]:
    """Return a document in which these papers have what is new, and all others what is old.

    Claims are those of today. Raises ValueError if the budgets differ.
    """
    if new["budget"] != old["budget"]:
        raise ValueError(
            f"the kept claims are of the budget {old['budget']}, the new ones of {new['budget']}: "
            "run all papers, or with the other budget"
        )

    def of_both(key: str, name: Callable[[Any], str]) -> list[Any]:
        def of(each: Any) -> str:
            return name(each).partition(".")[0]

        kept = [each for each in old[key] if of(each) not in papers]
        return sorted([*kept, *new[key]], key=lambda each: claim.PAPERS.index(of(each)))

    claims = of_both("claims", lambda each: str(each["id"]))
    items = of_both("items", str)
    said = {**old["beyond"], **new["beyond"]}
    return {
        **new,
        "items": items,
        **_counted([*records({"claims": claims})]),
        "tried": of_both("tried", lambda each: str(each["item"])),
        "beyond": {item: said[item] for item in items if item in said},
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
    return written(document(reproduced, budget))


def written(whole: Mapping[str, Any]) -> str:
    """Return a document as text."""
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def schema(of: str = FORMAT) -> dict[str, Any]:
    """Return the JSON Schema of a format, which refers to nothing outside."""
    loaded: dict[str, Any] = _read(of)
    # Definitions that both formats share are in the file of the first.
    loaded["$defs"] = _read(FORMAT)["$defs"] | loaded["$defs"]
    return loaded


def _read(of: str) -> dict[str, Any]:
    text = resources.files("airqueue_papers").joinpath(SCHEMAS[of]).read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def records(written: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the records of a `document`, with the claims and challenges that there are now.

    Raises KeyError for a claim that there is no longer.
    """
    for each in written["claims"]:
        of = claim.load(each["id"].partition(".")[0]).claims[each["id"]]
        yield Record(
            of,
            Verdict(each["verdict"]),
            each["reason"],
            tuple(_values(each["ours"], each["ci95"])),
            each["ns2"],
            each["agrees_with_ns2"],
            challenge.challenge_of(of),
        )


def _values(ours: Any, ci95: Any) -> Iterator[Value]:
    """Yield the values of a record: one is written as itself, none as null."""
    if ours is None:
        return
    if not isinstance(ours, list):
        ours, ci95 = [ours], [ci95]
    for mean, interval in zip(ours, ci95, strict=True):
        yield Value(mean, *(interval or (None, None)))
