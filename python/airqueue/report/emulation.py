"""The HTML report of an emulation: the verdict on its delays, what ran, figures and pictures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, Final

from airqueue import text
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
from airqueue.files import write_atomically
from airqueue.report import html
from airqueue.report.emulation_figures import figures
from airqueue.report.html import document, table

_REASONS: Final = {
    "full": "the queue was full",
    "early": "active queue management",
    "filtered": "filter of acknowledgements",
    "oversize": "too large ever to pass",
    "policed": "beyond the rate of a policer",
    "given_up": "given up after the last attempt on the air",
    "wire": "lost in the wired link",
}
_SHELL: Final = ["sh", "-c"]


def write_report(
    path: str | os.PathLike[str],
    results: EmulationResults,
    exit_code: int,
    twins: Sequence[Comparison] | None = None,
) -> None:
    """Write the HTML report of an emulation; ``exit_code`` is the command's.

    ``twins`` are comparisons with the run's twins, if there were any. Raises OSError naming ``path``.
    """
    write_atomically(path, render(results, exit_code, twins))


def render(
    results: EmulationResults, exit_code: int, twins: Sequence[Comparison] | None = None
) -> str:
    """Return the report as HTML text."""
    verdict = results.verdict.sentence
    body = [
        f"<h1>{escape(f'{verdict[0].upper()}{verdict[1:]}.')}</h1>",
        _about(results),
        _cards(results, exit_code),
        html.paragraph([effort(results), *_sentences(results)]),
        _pairs(results),
        _losses(results),
        *_pictures(results),
        _twins(twins),
        _programs(results),
        _changes(results),
        _queues(results),
        _stations(results),
        html.data(results.to_text(exit_code=exit_code)),
    ]
    return document(f"airqueue: {results.scenario}", body)


def _about(results: EmulationResults) -> str:
    parts = [
        f"scenario {results.scenario}",
        f"seed {results.seed}",
        "on a virtual clock" if results.exact else "in real time",
        f"airqueue {results.document()['airqueue']}",
    ]
    return html.about(parts)


def _cards(results: EmulationResults, exit_code: int) -> str:
    within_s = results.verdict.within_s
    trusted = "yes" if results.verdict.trusted else "no"
    if within_s is not None:
        trusted = f"to within {within_s * 1e3:.1f} ms"
    cards = [
        ("delays can be trusted", trusted),
        ("ran for", text.seconds(results.emulated["duration_s"])),
        ("exit code", str(exit_code)),
    ]
    controls = sorted({_control(each) for each in results.congestion_control.values()})
    if controls:
        cards.append(("TCP of programs", text.listed(controls)))
    return html.cards(cards)


def _control(name: str) -> str:
    return name.upper() if name in ("cubic", "bbr", "dctcp") else name.title()


def _sentences(results: EmulationResults) -> Iterator[str]:
    if results.congestion_control:
        yield "TCP has the congestion control above unless a program chooses another one."
    for node, reason in results.without_back_pressure.items():
        yield not_held_back(node, reason)
    for reason, count in results.emulated["refused"].items():
        yield not_carried(reason, count)
    if results.outside is not None:
        yield f"Networks outside were behind {results.outside.get('node', 'a gateway')}."


def _arrow(name: str) -> str:
    """Return a pair that is not broken at its arrow."""
    return arrow(name).replace(" → ", "\u00a0→\u00a0")


def _busy(results: EmulationResults) -> dict[str, Any]:
    pairs = results.emulated["pairs"].items()
    return {name: pair for name, pair in pairs if pair["offered_packets"]}


def _pairs(results: EmulationResults) -> str:
    rows = [
        [
            _arrow(name),
            known(text.rate, results.rate_bps(name)),
            *(known(text.seconds, pair[f"delay_{q}_s"]) for q in ("p50", "p95", "p99")),
            f"{pair['delivered_packets']:,}",
            f"{pair['dropped_packets']:,}",
            f"{pair['given_up_packets']:,}",
            f"{pair['marked_packets']:,}",
        ]
        for name, pair in _busy(results).items()
    ]
    if not rows:
        return "<h2>Packets of programs</h2><p>No program sent a packet to another node.</p>"
    head = ["", "rate", "delay p50", "delay p95", "delay p99"]
    head += ["delivered packets", "dropped", "lost", "marked"]
    note = "<p>Delays are those in the network, without the lateness of the emulator.</p>"
    shown = table(head, rows, numeric=range(1, len(head)))
    return f"<h2>Packets of programs</h2>{note}{shown}"


def _losses(results: EmulationResults) -> str:
    rows = [
        [_arrow(name), _arrow(loss["place"]), _REASONS[loss["reason"]], f"{loss['packets']:,}"]
        for name, pair in _busy(results).items()
        for loss in pair["losses"]
    ]
    if not rows:
        return ""
    head = ["", "where", "why", "packets"]
    return "<h2>Where packets were lost</h2>" + table(head, rows, numeric={3}, css="facts")


def _pictures(results: EmulationResults) -> list[str]:
    drawn = figures(results)
    return ["<h2>Pictures</h2>", *map(html.figure, drawn)] if drawn else []


def _twins(twins: Sequence[Comparison] | None) -> str:
    if twins is None:
        return ""
    rows, shown = [], ""
    for each in twins:
        rows.append(["" if each.pair == shown else _arrow(each.pair), *comparison(each)])
        shown = each.pair
    head = ["", "", "this run", "its twin", "scatter of the twins"]
    said = html.paragraph([scatter(twins)])
    return f"<h2>Beside its twins</h2>{said}{table(head, rows, numeric={2, 3, 4})}"


def _programs(results: EmulationResults) -> str:
    rows = [
        [of["node"], _command(of["command"]), known(str, of["exit_code"])]
        for of in results.programs
    ]
    addresses = [
        (
            node.name,
            "wired" if node.wired else "wireless",
            "  ".join(node.addresses),
            results.congestion_control.get(node.name, "–"),
        )
        for node in results.nodes
    ]
    ran = table(["node", "command", "exit code"], rows, numeric={2})
    head = ["", "", "addresses", "congestion control of TCP"]
    nodes = f"<h2>Real nodes</h2>{table(head, addresses, css='facts')}"
    return (f"<h2>What ran</h2>{ran}" if rows else "") + nodes


def _command(argv: Sequence[str]) -> str:
    """Return a command as a person would write it; of a shell's command the command."""
    return argv[2] if list(argv[:2]) == _SHELL and len(argv) == 3 else shlex.join(argv)


def _changes(results: EmulationResults) -> str:
    rows = [
        [text.seconds(of["at_s"]), ", ".join(f"{k} = {v}" for k, v in of["change"].items())]
        for of in results.changes
    ]
    if not rows:
        return ""
    return "<h2>Changes while the network ran</h2>" + table(["at", "change"], rows, numeric={0})


def _queues(results: EmulationResults) -> str:
    rows = [
        [
            _arrow(name),
            f"{of['offered_packets']:,}",
            *(f"{of[f'dropped_{why}_packets']:,}" for why in ("full", "early", "filtered")),
            f"{of['marked_packets']:,}",
            text.number(of["length_mean_packets"]),
            f"{of['length_max_packets']:,.0f}",
            known(text.seconds, of["sojourn_mean_s"]),
            known(text.seconds, of["sojourn_max_s"]),
        ]
        for name, of in results.figures["queues"].items()
        if of["offered_packets"]
    ]
    if not rows:
        return ""
    head = ["", "offered packets", "dropped: full", "early", "filtered", "marked"]
    head += ["length, mean", "most", "in the queue, mean", "most"]
    note = "<p>Of all packets, those of simulated flows too.</p>"
    return f"<h2>Queues</h2>{note}" + table(head, rows, numeric=range(1, len(head)))


def _stations(results: EmulationResults) -> str:
    rows = [
        [
            name,
            known(text.percent, of["airtime_ratio"]),
            known(text.percent, of["busy_ratio"]),
            f"{of['attempts']:,}",
            known(text.percent, of["failed_ratio"]),
            f"{of['given_up_packets']:,}",
        ]
        for name, of in results.figures["stations"].items()
        if of["attempts"]
    ]
    if not rows:
        return ""
    head = ["", "air time", "medium busy", "attempts", "failed", "given up packets"]
    return "<h2>Stations</h2>" + table(head, rows, numeric=range(1, len(head)))
