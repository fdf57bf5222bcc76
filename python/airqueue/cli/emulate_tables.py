"""What `airqueue emulate` prints on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airqueue import text
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate.outside import ABOUT
from airqueue.emulate.plan import Plan
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.twins import Comparison
from airqueue.emulate.words import (
    arrow,
    comparison,
    effort,
    known,
    not_carried,
    not_held_back,
    scatter,
)

if TYPE_CHECKING:
    from airqueue.records import PairDict


def beginning(name: str, plan: Plan) -> str:
    """Return the sentence with which an emulation begins: its nodes and their addresses."""
    nodes = (f"{node.name} is {' and '.join(node.addresses)}" for node in plan.nodes)
    return f"Emulating {name}: {'; '.join(nodes)}."


def way_out(node: str) -> str:
    """Return the sentence that says how programs reach networks outside."""
    return f"Networks outside are behind {node}, by way of {ABOUT}."


def show(console: Console, results: EmulationResults, wall_s: float | None = None) -> None:
    """Print the packets of each pair, how late the emulator was, and the verdict.

    ``wall_s``: real time that an exact emulation took.
    """
    emulated = results.emulated
    pairs = {name: pair for name, pair in emulated["pairs"].items() if pair["offered_packets"]}
    if pairs:
        console.print(_pairs(results, pairs))
    for reason, count in emulated["refused"].items():
        console.print(not_carried(reason, count))
    for node, reason in results.without_back_pressure.items():
        console.print(not_held_back(node, reason), soft_wrap=True)
    if results.outside is not None and not results.outside["whole_run"]:
        console.print("The relay to networks outside ended before the run did.")
    verdict = results.verdict.sentence
    console.print(effort(results, wall_s), soft_wrap=True)
    console.print(f"{verdict[0].upper()}{verdict[1:]}.", style="bold", soft_wrap=True)


def _pairs(results: EmulationResults, pairs: dict[str, PairDict]) -> Table:
    table = Table("pair")
    for heading in ("rate", "delay\np50", "delay\np95", "delivered\npackets", "dropped", "lost"):
        table.add_column(heading, justify="right")
    for name, pair in pairs.items():
        table.add_row(
            arrow(name),
            known(text.rate, results.rate_bps(name)),
            known(text.seconds, pair["delay_p50_s"]),
            known(text.seconds, pair["delay_p95_s"]),
            f"{pair['delivered_packets']:,}",
            f"{pair['dropped_packets']:,}",
            f"{pair['given_up_packets']:,}",
        )
    return table


def show_twins(console: Console, comparisons: Sequence[Comparison], count: int) -> None:
    """Print figures of a run beside those of its twins, and which are not like theirs."""
    table = Table("pair")
    for heading in ("figure", "this run", "its twin", f"scatter of\n{count} twins"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = ""
    for each in comparisons:
        # A row of tab-separated values stands by itself.
        pair = "" if console.is_terminal and each.pair == shown else arrow(each.pair)
        shown = each.pair
        table.add_row(pair, *comparison(each))
    console.print(table)
    console.print(scatter(comparisons), soft_wrap=True)
