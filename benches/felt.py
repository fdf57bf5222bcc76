"""Round trips under load as `airqueue diagnose` reports them, beside captures at both ends.

    python benches/felt.py [--homes 12] [--seed 20261126] [--keep FILE]

The homes are those of benches/diagnose.py, from another seed. The emulator captures what the phone
and the server send and receive, with the network's times; tshark reads the captures. Of each probe
they have four times: request and answer, at the phone and at the server. The median and the 95th
percentile under the load must be those of the diagnosis, within 5 % or half a millisecond: the bound
was set before the first run.

A second table has what the load's own packets wait where probes and they share the queue: of each
probe the packet of TCP beside it, both above their least delay in the loaded direction. Here the
bound is 5 % or 5 ms. With --keep finished homes are in the file, and are not run again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import finished
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import Order, Program, exact
from diagnose import AIRQUEUE, KINDS, home

NODES: Final = ("phone", "server")
RELATIVE: Final = 0.05
ABSOLUTE_S: Final = 0.5e-3
WAITS_S: Final = 5e-3
"""Of the packets beside the probes: some packets of a burst, at the rates of the homes."""
BESIDE_S: Final = 0.05
"""A packet of the load that is farther from a probe is not beside it."""
QUANTILES: Final = (50, 95)
# Of IPv4 and IPv6; tshark leaves empty what a packet does not have.
FIELDS: Final = (
    "frame.time_epoch",
    "ip.src",
    "ipv6.src",
    "ip.dst",
    "ipv6.dst",
    "icmp.type",
    "icmpv6.type",
    "icmp.ident",
    "icmpv6.echo.identifier",
    "icmp.seq",
    "icmpv6.echo.sequence_number",
    "ip.len",
    "ipv6.plen",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
)
FULL_PACKETS: Final = "tcp.len >= 1000"
REQUESTS: Final = ("8", "128")
ANSWERS: Final = ("0", "129")
IPV6_HEADER_BYTES: Final = 40

Probe = tuple[str, int]
"""Identifier and number of an echo request."""


@dataclass(frozen=True)
class Packet:
    """A packet of a capture."""

    at_s: float
    source: str
    destination: str
    kind: str
    probe: Probe
    size_bytes: int
    segment: tuple[str, ...]
    """Of TCP: ports and number."""


def read(capture: Path, which: str, zero_s: int = exact.BEGINNING_S) -> list[Packet]:
    """Return the packets that a filter of tshark lets through; times are since ``zero_s``."""
    words = ["tshark", "-n", "-r", str(capture), "-Y", which, "-T", "fields", "-E", "separator=,"]
    words += [word for field in FIELDS for word in ("-e", field)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    packets = []
    for line in done.stdout.splitlines():
        at, *cells = line.split(",")
        pairs = zip(cells[0:10:2], cells[1:10:2], strict=True)
        source, destination, kind, ident, number = (v4 or v6 for v4, v6 in pairs)
        size = int(cells[10]) if cells[10] else int(cells[11] or 0) + IPV6_HEADER_BYTES
        # Digits of its own for what is below a second: a float of 1970's has none for nanoseconds.
        whole, _, part = at.partition(".")
        at_s = int(whole) - zero_s + float(f"0.{part or 0}")
        probe = (ident, int(number, 0) if number else 0)
        packets.append(Packet(at_s, source, destination, kind, probe, size, (*cells[12:15],)))
    return packets


def probes_to(address: str, phone: Sequence[Packet]) -> dict[Probe, float]:
    """Return when the probes of a leg left, in order: most requests to it have one identifier."""
    sent = [p for p in phone if p.kind in REQUESTS and p.destination == address]
    ((ident, _),) = Counter(p.probe[0] for p in sent).most_common(1)
    return {p.probe: p.at_s for p in sent if p.probe[0] == ident}


def on_the_way(
    leg: Mapping[str, Any], phone: Sequence[Packet], server: Sequence[Packet]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each probe of a leg when it left, its round trip, and its time in the network.

    The last is the way there and the way back without the stay at the server; NaN without answer.
    """
    left = probes_to(leg["answered_by"], phone)
    back = {p.probe: p.at_s for p in phone if p.kind in ANSWERS and p.source == leg["answered_by"]}
    there = {p.probe: p.at_s for p in server if p.kind in REQUESTS}
    thence = {p.probe: p.at_s for p in server if p.kind in ANSWERS}
    missing = float("nan")
    trips, ways = [], []
    for probe, at_s in left.items():
        answered_s = back.get(probe, missing)
        trips.append(answered_s - at_s)
        stay_s = thence.get(probe, missing) - there.get(probe, missing)
        ways.append(answered_s - at_s - stay_s)
    return np.array([*left.values()]), np.array(trips), np.array(ways)


def compared(document: Mapping[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Return reported and captured quantiles of each leg under the load, and the load's rate."""
    phone, server = (read(folder / f"{node}.pcapng", "icmp or icmpv6") for node in NODES)
    (load,) = document["records"]["loads"]
    rows = []
    for leg in document["records"]["legs"]:
        left, trips, ways = on_the_way(leg, phone, server)
        known = len(leg["sent_s"])
        # One clock for all: the first request of the capture is the first probe of the records.
        zero_s = left[0] - leg["sent_s"][0]
        apart = np.abs(left[:known] - zero_s - np.array(leg["sent_s"]))
        if len(left) < known or apart.max() > ABSOLUTE_S:
            raise SystemExit(
                f"The capture has other probes of the leg {leg['name']}: {apart.max()}"
            )
        chosen = (left - zero_s >= load["began_s"]) & (left - zero_s < load["ended_s"])
        (said,) = (
            row
            for row in document["round_trips"]
            if row["leg"] == leg["name"] and row["load_site"] == load["site"]
        )
        row = {"leg": leg["name"], "answered": int(np.count_nonzero(~np.isnan(trips[chosen])))}
        for q in QUANTILES:
            row[f"said_p{q}_s"] = said[f"p{q}_s"]
            row[f"captured_p{q}_s"] = float(np.nanpercentile(trips[chosen], q))
            # The gateway's own capture would be that of a router, which is no real node.
            whole = leg["name"] != "gateway"
            row[f"network_p{q}_s"] = float(np.nanpercentile(ways[chosen], q)) if whole else None
        rows.append(row)
    rows[-1] |= {"said_bps": load["carried_bps"], **beside(load, document, folder)}
    return rows


def beside(
    load: Mapping[str, Any], document: Mapping[str, Any], folder: Path
) -> dict[str, float | int]:
    """Return what probes and the load's packets beside them wait, and the rate that arrived."""
    leg = next(each for each in document["records"]["legs"] if each["name"] == load["site"])
    echoes = {node: read(folder / f"{node}.pcapng", "icmp or icmpv6") for node in NODES}
    left = probes_to(leg["answered_by"], echoes["phone"])
    sender, receiver = NODES[::-1] if load["direction"] == "down" else NODES
    kinds = ANSWERS if load["direction"] == "down" else REQUESTS
    entered, arrived = (
        {p.probe: p.at_s for p in echoes[node] if p.kind in kinds and p.probe in left}
        for node in (sender, receiver)
    )
    data, received = (read(folder / f"{node}.pcapng", FULL_PACKETS) for node in (sender, receiver))
    zero_s = next(iter(left.values())) - leg["sent_s"][0]
    began_s, ended_s = load["began_s"] + zero_s, load["ended_s"] + zero_s
    waits = {
        "probe": _delays(list(entered.items()), arrived),
        # What was sent twice has two times of sending, and tells nothing.
        "data": _delays([(p.segment, p.at_s) for p in data], {p.segment: p.at_s for p in received}),
    }
    at_s, probe_s = waits["probe"][
        :, (began_s <= waits["probe"][0]) & (waits["probe"][0] < ended_s)
    ]
    near = np.abs(waits["data"][0][:, None] - at_s).argmin(axis=0)
    close = np.abs(waits["data"][0][near] - at_s) <= BESIDE_S
    found: dict[str, float | int] = {"pairs": int(close.sum())}
    for q in QUANTILES:
        found[f"probe_waits_p{q}_s"] = float(np.percentile(probe_s[close], q))
        found[f"data_waits_p{q}_s"] = float(np.percentile(waits["data"][1][near[close]], q))
    size = sum(p.size_bytes for p in received if began_s <= p.at_s < ended_s)
    return found | {"captured_bps": 8 * size / (ended_s - began_s)}


def _delays(sent: Sequence[tuple[Any, float]], arrived: Mapping[Any, float]) -> np.ndarray:
    """Return times of sending, and delays above the least, of what was sent once and arrived."""
    often = Counter(key for key, _ in sent)
    pairs = [(at_s, arrived[key]) for key, at_s in sent if often[key] == 1 and key in arrived]
    at_s, arrived_s = np.array(pairs).T
    return np.array([at_s, arrived_s - at_s - (arrived_s - at_s).min()])


def measured(described: Mapping[str, Any], direction: str, seed: int) -> list[dict[str, Any]]:
    """Diagnose a home under capture, and return the comparison."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = folder / "result.json"
        words = ("--quiet", "--direction", direction, "--hold", "4s", "--json", str(kept))
        order = Order(
            Program("phone", (*AIRQUEUE, "diagnose", "server", *words)),
            (Program("server", (*AIRQUEUE, "server")),),
        )
        pcap = {node: folder / f"{node}.pcapng" for node in NODES}
        done = exact.run(
            described, order, seed=seed, scratch=folder, back_pressure=False, pcap=pcap
        )
        if done.exit_code != 0:
            raise SystemExit(f"home {seed}: {done.stderr.decode()}")
        return compared(json.loads(kept.read_text("utf-8")), folder)


def within(said: float, captured: float, absolute_s: float = ABSOLUTE_S) -> bool:
    """Whether a value is the captured one within the bound."""
    return abs(said - captured) <= max(RELATIVE * captured, absolute_s)


def main() -> int:
    """Run the homes; print the comparison, and return whether all is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--homes", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="finished homes, as JSON lines")
    options = parser.parse_args()
    if shutil.which("tshark") is None:
        raise SystemExit("tshark reads the captures, and is not installed: apt-get install tshark")
    done = {row["home"]: row for row in finished.rows(options.keep) if row["seed"] == options.seed}
    for number in range(options.homes):
        if number in done:
            continue
        kind = KINDS[number % len(KINDS)]
        described = home(kind, np.random.default_rng([options.seed, number]))
        legs = measured(described, kind[1], number + 1)
        row = {
            "seed": options.seed,
            "home": number,
            "kind": kind,
            "home_is": described,
            "legs": legs,
        }
        done[number] = row
        finished.keep(options.keep, row)
    return _show([done[number] for number in sorted(done) if number < options.homes])


def _show(rows: list[dict[str, Any]]) -> int:
    table = Table(title="ms: the diagnosis, the phone's capture, both captures without the server")
    for head in ("home", "fault", "load", "leg", "probes", "median", "95 %", "Mb/s", "within"):
        table.add_column(head, justify="left" if head in ("fault", "load", "leg") else "right")
    wrong, worst_s = 0, 0.0
    for row in rows:
        for leg in row["legs"]:
            pairs = [(leg[f"said_p{q}_s"], leg[f"captured_p{q}_s"]) for q in QUANTILES]
            worst_s = max(worst_s, *(abs(said - captured) for said, captured in pairs))
            good = all(within(*pair) for pair in pairs)
            wrong += not good
            cells = (_cell(leg, q) for q in QUANTILES)
            rates = " ".join(
                f"{leg[n] / 1e6:.2f}" for n in ("said_bps", "captured_bps") if n in leg
            )
            table.add_row(
                str(row["home"]),
                *row["kind"],
                leg["leg"],
                str(leg["answered"]),
                *cells,
                rates,
                "yes" if good else "no",
            )
    console = Console(width=120)
    console.print(table)
    legs = sum(len(row["legs"]) for row in rows)
    console.print(
        f"{legs - wrong} of {legs} legs in {len(rows)} homes are within 5 % or 0.5 ms; the largest "
        f"difference is {1e3 * worst_s:.3f} ms."
    )
    return 1 if wrong + _show_waits(rows, console) else 0


def _show_waits(rows: list[dict[str, Any]], console: Console) -> int:
    """Print what probes and packets of the load wait; return how many homes miss the bound."""
    table = Table(title="ms: wait of the probes, wait of the load's packets beside them")
    for head in ("home", "fault", "load", "pairs", "median", "95 %", "within"):
        table.add_column(head, justify="left" if head in ("fault", "load") else "right")
    wrong = 0
    for row in rows:
        leg = row["legs"][-1]
        pairs = [(leg[f"probe_waits_p{q}_s"], leg[f"data_waits_p{q}_s"]) for q in QUANTILES]
        # Where flows are kept apart a probe does not wait behind the load: there is no bound.
        shared = row["kind"][0] != "none"
        good = all(within(*pair, WAITS_S) for pair in pairs)
        wrong += shared and not good
        cells = (f"{1e3 * probe_s:.1f} {1e3 * data_s:.1f}" for probe_s, data_s in pairs)
        judged = ("yes" if good else "no") if shared else "kept apart"
        table.add_row(str(row["home"]), *row["kind"], str(leg["pairs"]), *cells, judged)
    console.print(table)
    return wrong


def _cell(leg: Mapping[str, Any], q: int) -> str:
    values = (leg[f"{of}_p{q}_s"] for of in ("said", "captured", "network"))
    return " ".join("-" if value is None else f"{1e3 * value:.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
