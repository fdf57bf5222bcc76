"""RDQM with real Linux TCP and stations of three rates: what a slow station costs the others.

Exact emulations (docs/emulate.md): the kernel's TCP of user-mode Linux, downloads over a simulated
cell of 802.11b with the rates and the delays of the paper's Fig. 3. Compared are the access point's
own queue, a FIFO or FQ-CoDel, and a router in front of the cell that holds the queue by a shaper,
with FQ-CoDel or `airqueued`'s RDQM below. The shaper's rate is 85 % of what the model of the cell
says that its shares come to. Finished runs are kept in a file, a line each, and are not repeated.

    .venv/bin/python benches/rdqm_rates.py                            # 5 seeds
    .venv/bin/python benches/rdqm_rates.py --seeds 10 --keep rates.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import finished
from airqueue.emulate import Order, Program, exact
from airqueue.models.phy_names import phy
from airqueue.models.rate_mix import packet_fair, tcp_cycle_s
from airqueue.stats import jain_index
from rdqm_linux import words

FLOWS = ((160, 1.0), (10, 5.5), (240, 5.5), (100, 11.0), (200, 11.0), (30, 11.0))
"""Delay of both ways in ms, and Mb/s, of each station."""
SLOW = 0
RATES_BPS = [mbps * 1e6 for _, mbps in FLOWS]
SHARES = {
    "fifo": None,
    "fq_codel": None,
    "shaped fq_codel": [1.0] * len(FLOWS),
    "rdqm": RATES_BPS,
}
"""What has the queue, and if the queue needs a shaper, the shares in bits of its flows."""
CONGESTION = ("reno", "cubic")
PACKET_BYTES, SEGMENT_BYTES = 1500, 1448
BELOW = 0.85
"""Of what the model says, which knows no collisions: the access point's queue must stay short."""
WARM_S = 20.0


def cycles_s() -> Any:
    """The medium's time for a packet of each flow; Linux acknowledges every second segment."""
    return tcp_cycle_s(phy("b-short"), RATES_BPS, SEGMENT_BYTES, segments_per_ack=2)


def shaper_bps(shares: Sequence[float]) -> int:
    """The shaper's rate: of packets with their IP headers."""
    total = float(packet_fair(cycles_s(), PACKET_BYTES, weights=shares).total_bps)
    return round(total * BELOW / 1000) * 1000


def scenario(queue: str, packets: int, ends_s: float) -> dict[str, Any]:
    """The cell: an access point, its stations, and the host that is router and server."""
    discipline = {"fq_codel": "fq_codel"}.get(queue, "droptail")
    return {
        "duration": f"{ends_s} s",
        "warm_up": "0 s",
        "phy": {"standard": "802.11b", "preamble": "short"},
        "stations": [
            {"name": "ap", "queue": {"discipline": discipline, "limit": f"{packets} packets"}},
            *(
                {"name": f"sta{number}", "rate": f"{rate} Mb/s", "real": True}
                for number, (_, rate) in enumerate(FLOWS)
            ),
        ],
        "hosts": [{"name": "router", "link": "ap", "delay": "0.1 ms", "real": True}],
    }


def once(task: Mapping[str, Any], airqueued: Path) -> dict[str, Any]:
    """Run an emulation; the rate of each flow, in bit/s."""
    benches = Path(__file__).parent
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        flows = [
            {"station": f"sta{number}", "delay_ms": delay_ms, "rate_mbps": rate}
            for number, (delay_ms, rate) in enumerate(FLOWS)
        ]
        routes = {
            "shaper": task["queue"].removeprefix("shaped ") if task["shaper_bps"] else None,
            "rate_bps": task["shaper_bps"],
            "packets": task["packets"],
            "flows": flows,
            "airqueued": str(airqueued),
            "folder": str(scratch),
            "until_s": task["ends_s"],
        }
        draw = random.Random(task["seed"])
        pulls = [
            {
                "start_s": draw.uniform(1, 5),
                "until_s": task["ends_s"],
                "result": str(scratch / f"{flow['station']}.json"),
            }
            for flow in flows
        ]
        program = str(benches / "rdqm_pull.py")
        done = exact.run(
            task["scenario"],
            Order(
                None,
                (
                    Program(
                        "router",
                        (
                            sys.executable,
                            "-I",
                            "-S",
                            str(benches / "rdqm_router.py"),
                            json.dumps(routes),
                        ),
                    ),
                    *(
                        Program(
                            flow["station"], (sys.executable, "-I", "-S", program, json.dumps(pull))
                        )
                        for flow, pull in zip(flows, pulls, strict=True)
                    ),
                ),
                duration_s=task["ends_s"] + 3,
            ),
            seed=task["seed"],
            scratch=scratch,
            tcp={"tcp_congestion_control": task["congestion"]},
        )
        counts = [json.loads(Path(pull["result"]).read_text("ascii")) for pull in pulls]
    said = done.stderr.decode(errors="replace")
    failed = done.exit_code or any(end["exit_code"] for end in done.results.programs)
    if failed:
        raise SystemExit(f"the emulation ended with {done.exit_code}: {said[-2000:]}")
    begin, end = int(WARM_S), int(task["ends_s"])
    return {
        "rates_bps": [(c[end] - c[begin]) * 8 / (end - begin) for c in counts],
        "waiting_packets": done.results.figures["queues"]["ap"]["length_mean_packets"],
    }


def airtimes(rates_bps: Sequence[float]) -> list[float]:
    """The medium's time of each flow."""
    return [bps / (SEGMENT_BYTES * 8) * s for bps, s in zip(rates_bps, cycles_s(), strict=True)]


def mean_of(rates_bps: Sequence[float], mbps: float) -> float:
    """The mean rate in kb/s of the stations with a rate of the radio."""
    mine = [bps for bps, (_, rate) in zip(rates_bps, FLOWS, strict=True) if rate == mbps]
    return sum(mine) / len(mine) / 1e3


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The runs as a table of Markdown."""
    lines = [
        "| TCP | queue | shaper, Mb/s | together, Mb/s | at 11 Mb/s, kb/s | at 5.5 | at 1 "
        "| Jain's index of air times | packets at the access point |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for congestion, queue in product(CONGESTION, SHARES):
        wanted = {"congestion": congestion, "queue": queue}
        runs = [row for row in rows if wanted.items() <= row["task"].items()]
        if not runs:
            continue
        shaper = runs[0]["task"]["shaper_bps"]
        mine = [row["rates_bps"] for row in runs]
        cells = [
            f"{shaper / 1e6:.2f}" if shaper else "none",
            words([sum(rates) / 1e6 for rates in mine], 2),
            *(words([mean_of(rates, mbps) for rates in mine], 0) for mbps in (11.0, 5.5, 1.0)),
            words([jain_index(airtimes(rates)) for rates in mine], 3),
            words([row["waiting_packets"] for row in runs], 0),
        ]
        lines.append("| " + " | ".join([congestion, queue, *cells]) + " |")
    return "\n".join(lines)


def tasks(seeds: int, seconds: float, packets: int) -> Iterator[dict[str, Any]]:
    """All runs, so that a part of them has some of each case."""
    ends_s = WARM_S + seconds
    for seed, congestion, (queue, shares) in product(
        range(1, seeds + 1), CONGESTION, SHARES.items()
    ):
        yield {
            "queue": queue,
            "congestion": congestion,
            "packets": packets,
            "seed": seed,
            "ends_s": ends_s,
            "shaper_bps": shaper_bps(shares) if shares else 0,
            "scenario": scenario(queue, packets, ends_s + 2),
        }


def said(row: Mapping[str, Any]) -> str:
    """A run in a line."""
    task = row["task"]
    told = [round(rate / 1e3) for rate in row["rates_bps"]]
    return f"{task['queue']} {task['congestion']} {task['seed']}: {told} kb/s"


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description="RDQM with stations of three rates, real TCP.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--packets", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--airqueued", type=Path, default=Path("target/release/airqueued"))
    given = parser.parse_args()
    mine = finished.runs(
        given.keep,
        tasks(given.seeds, given.seconds, given.packets),
        lambda task: once(task, given.airqueued.resolve()),
        said,
    )
    print(f"\n{table(mine)}")


if __name__ == "__main__":
    main()
