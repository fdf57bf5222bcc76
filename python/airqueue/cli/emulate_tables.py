"""What `airqueue emulate` prints on stderr."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from airqueue import text
from airqueue.emulate.outside import ABOUT
from airqueue.emulate.plan import Plan
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.twins import Comparison
from airqueue.records import PairDict

_REFUSED = {
    "malformed": "no whole IP packet",
    "oversize": "larger than the MTU",
    "foreign_source": "from an address of another node",
    "no_such_node": "to no real node",
    "hop_limit": "at the end of their hop limit",
    "full": "beyond the emulator's memory",
}


_COMPARED = {
    "throughput_bps": ("rate", text.rate),
    "delay_p50_s": ("delay p50", text.seconds),
    "delay_p95_s": ("delay p95", text.seconds),
    "lost_ratio": ("dropped or lost", text.percent),
}


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
        what = _REFUSED.get(reason, reason)
        console.print(f"Not carried: {text.plural(count['packets'], 'packet')} {what}.")
    for node, reason in results.without_back_pressure.items():
        console.print(
            f"Programs at {node} did not feel a full queue, since the kernel did not keep packets "
            f"({reason}).",
            soft_wrap=True,
        )
    if results.outside is not None and not results.outside["whole_run"]:
        console.print("The relay to networks outside ended before the run did.")
    verdict = results.verdict.sentence
    console.print(_effort(results, wall_s), soft_wrap=True)
    console.print(f"{verdict[0].upper()}{verdict[1:]}.", style="bold", soft_wrap=True)


def _pairs(results: EmulationResults, pairs: dict[str, PairDict]) -> Table:
    table = Table("")
    for heading in ("rate", "delay\np50", "delay\np95", "delivered\npackets", "dropped", "lost"):
        table.add_column(heading, justify="right")
    for name, pair in pairs.items():
        table.add_row(
            _arrow(name),
            _rate(results.rate_bps(name)),
            _seconds(pair["delay_p50_s"]),
            _seconds(pair["delay_p95_s"]),
            f"{pair['delivered_packets']:,}",
            f"{pair['dropped_packets']:,}",
            f"{pair['given_up_packets']:,}",
        )
    return table


def show_twins(console: Console, comparisons: Sequence[Comparison], count: int) -> None:
    """Print figures of a run beside those of its twins, and which are not like theirs."""
    table = Table("")
    for heading in ("", "this run", "its twin", f"scatter of\n{count} twins"):
        table.add_column(heading, justify="right", no_wrap=True)
    shown = ""
    for each in comparisons:
        heading, say = _COMPARED[each.figure]
        scatter = "–" if each.low is None else f"{say(each.low)} to {say(each.high)}"
        mark = "" if each.within is not False else " ×"
        pair = "" if each.pair == shown else _arrow(each.pair)
        shown = each.pair
        table.add_row(pair, heading, say(each.run) + mark, say(each.twin), scatter)
    console.print(table)
    outside = [each for each in comparisons if each.within is False]
    known = sum(each.within is not None for each in comparisons)
    what = "are" if len(outside) != 1 else "is"
    console.print(
        f"{len(outside)} of {text.plural(known, 'figure')} of this run {what} outside the scatter of "
        "the twins, in which one more twin would be with a probability of 95 %.",
        soft_wrap=True,
    )


def _arrow(pair: str) -> str:
    return pair.replace("->", " → ")


def _rate(value: float | None) -> str:
    return "–" if value is None else text.rate(value)


def _seconds(value: float | None) -> str:
    return "–" if value is None else text.seconds(value)


def _effort(results: EmulationResults, wall_s: float | None) -> str:
    """Return how late packets were, and what the emulation took."""
    emulated = results.emulated
    late = "no packet was written"
    if emulated["late_p50_s"] is not None:
        median, p99 = text.seconds(emulated["late_p50_s"]), text.seconds(emulated["late_p99_s"])
        late = f"packets were written {median} late in the median, {p99} at the 99th percentile"
    if results.exact:
        took = "" if wall_s is None else f"; the run took {text.seconds(wall_s)} of real time"
        return f"In {text.seconds(emulated['duration_s'])} of virtual time {late}{took}."
    priority = "a real-time priority" if emulated["priority"] else "no real-time priority"
    return (
        f"In {text.seconds(emulated['duration_s'])} {late}; the emulator had {priority} "
        f"and used {text.percent(emulated['cpu_ratio'])} of a processor."
    )
