"""Tables of `airqueue reproduce`: a table for each item, and the number of claims by verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from airqueue import text
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue_papers import tried
from airqueue_papers.challenge import NULL, Row
from airqueue_papers.challenge import records as as_records
from airqueue_papers.claim import SORTS, Claim, load
from airqueue_papers.finding import Value
from airqueue_papers.mechanism import load as grounds
from airqueue_papers.reproduction import Chosen, Reproduced
from airqueue_papers.sabotage import Campaign
from airqueue_papers.tally import sentences, tally
from airqueue_papers.tried import Tried
from airqueue_papers.verdict import NOT_DISCRIMINATING, Record, Verdict, counts, shares

_STYLES: Final = {
    Verdict.REPRODUCED: "green",
    Verdict.OTHER_NUMBER: "yellow",
    Verdict.NOT_REPRODUCED: "red",
    Verdict.UNDECIDED: "dim",
    Verdict.NOT_TESTABLE: "dim",
}
_COMPARED: Final = {"<=": "≤ ", ">=": "≥ ", "<": "< ", ">": "> ", "=": "", "range": ""}


def show_items(console: Console, chosen: Sequence[Chosen]) -> None:
    """List items with the number of their claims."""
    table = Table(boxed=False)
    for heading in ("item", "claims", "title"):
        table.add_column(heading, justify="right" if heading == "claims" else "left")
    for each in chosen:
        option = " (with --exact)" * each.item.exact
        table.add_row(each.name, str(len(each.claims)), each.item.title + option)
    console.print(table)


def show(console: Console, reproduced: Sequence[Reproduced]) -> None:
    """Print the counts, claims and verdicts item by item, then the claims by verdict."""
    records = [record for each in reproduced for record in each.records]
    if records:
        for sentence in sentences(tally(records)):
            console.print(sentence)
    paper = ""
    for each in reproduced:
        if each.chosen.paper != paper:
            paper = each.chosen.paper
            console.print()
            console.print(f"{paper.upper()}: {load(paper).title}", style="bold")
        if each.records or each.sentences:
            console.print()
            console.print(f"{each.chosen.name}: {each.chosen.item.title}")
        if each.records:
            console.print(_table(each.records, apart=not console.is_terminal))
        if each.tried:
            console.print(_settings(each.tried))
            console.print(tried.sentence(each.tried))
        for sentence in each.sentences:
            console.print(sentence)
    console.print()
    console.print(_summary(records))


def show_sabotage(console: Console, done: Campaign) -> None:
    """Print the counts, then what became of claims with their mechanism and without it."""
    for sentence in sentences(tally(as_records(done.rows))):
        console.print(sentence)
    by_claim = {each.claim.id: each for of in done.reproduced for each in of.records}
    for name, rows in groupby(sorted(done.rows, key=_ground), key=_ground):
        if not name:
            continue
        console.print()
        console.print(f"{name}: {_off(name)}", style="bold")
        table = Table(boxed=False)
        table.add_column("claim", no_wrap=True)
        for heading in ("printed", "ours", "verdict", "without", "verdict\nwithout", "stands"):
            table.add_column(heading)
        for row in rows:
            record = by_claim[row.claim]
            counted = replace(record, challenge=row.challenge).counted_as
            table.add_row(
                row.claim.partition(".")[2],
                printed(record.claim),
                _numbers(row.ours),
                _short(row.verdict),
                _numbers(row.ours_without),
                _short(row.without) if row.without else "",
                "stands" if counted == NOT_DISCRIMINATING else "",
            )
        console.print(table)


def _short(verdict: Verdict) -> str:
    return verdict.value.partition(",")[0]


def _ground(row: Row) -> str:
    return row.rests_on


def _off(name: str) -> str:
    """Return what is switched off."""
    paper, _, mechanism = name.partition(".")
    if name == NULL:
        return "a constant, or the best simpler model"
    return next(each.off for each in grounds(paper).mechanisms if each.name == mechanism)


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{each:.4g}" for each in values)


def _table(records: Sequence[Record], *, apart: bool) -> Table:
    """Return a row for each claim. Why one is missed stands beneath it, or ``apart`` in a column."""
    table = Table(boxed=False)
    table.add_column("claim")
    table.add_column("printed", justify="right")
    table.add_column("ours", justify="right")
    table.add_column("unit")
    table.add_column("verdict")
    if apart:
        table.add_column("reason")
    for record in records:
        table.add_row(
            record.claim.quantity,
            printed(record.claim),
            ours(record),
            record.claim.unit,
            record.counted_as,
            *((_reason(record) if record.missed else "",) if apart else ()),
            style=_STYLES[record.verdict],
        )
        if record.missed and not apart:
            table.add_row(f"  {_reason(record)}", style="dim")
    return table


def _reason(record: Record) -> str:
    return f"{record.reason} Why missed: {record.why}."


def _settings(rows: Sequence[Tried]) -> Table:
    """Return how many numbers of an item each setting explains, for all of them together."""
    table = Table(boxed=False)
    table.add_column("one setting for all numbers")
    for verdict in tried.COUNTED:
        table.add_column(_short(verdict), justify="right")
    for row in rows:
        table.add_row(row.setting, *(str(each or "") for each in row.counts))
    return table


def printed(claim: Claim) -> str:
    """Return the printed value as text; empty for a statement in words."""
    if claim.numbers is None:
        return ""
    joined = " to " if claim.comparator == "range" else ", "
    return _COMPARED[claim.comparator] + joined.join(f"{each:g}" for each in claim.numbers)


def ours(record: Record) -> str:
    """Return our values with half their intervals; for a statement whether it holds."""
    if record.ours:
        return ", ".join(_value(value) for value in record.ours)
    if record.claim.sort == "statement" and record.verdict is not Verdict.NOT_TESTABLE:
        return "yes" if record.verdict is Verdict.REPRODUCED else "no"
    return ""


def _value(value: Value) -> str:
    if value.low is None or value.high is None:
        return f"{value.mean:.4g}"
    return f"{value.mean:.4g} ± {(value.high - value.low) / 2:.2g}"


def _summary(records: Sequence[Record]) -> str:
    said = ", ".join(f"{number} {verdict}" for verdict, number in counts(records).items())
    met = [
        f"{met} of {text.plural(of, SORTS[sort])}"
        for sort, (met, of) in shares(records).items()
        if of
    ]
    within = f"\nMet, of what counts: {text.listed(met)}." if met else ""
    return f"{text.plural(len(records), 'claim')}: {said}.{within}"
