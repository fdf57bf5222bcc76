"""RDQM with real Linux TCP, beside drop-tail and FQ-CoDel: six flows of six delays.

User-mode Linux, on an exact virtual clock: a server, a router whose queue towards a station is
compared, and netem's delays at the station. The paper's conclusions are judged with intervals over
seeds: that in a drop-tail queue flows with long ways get less, and that with RDQM all get about the
same. Finished runs are kept in a file, a line each, and are not repeated.

    .venv/bin/python benches/rdqm_linux.py                            # 5 seeds
    .venv/bin/python benches/rdqm_linux.py --seeds 10 --keep rdqm.jsonl --packets 400
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import finished
import guests
from airqueue.stats import jain_index, t_interval

DELAYS_MS = (10.0, 60.0, 110.0, 160.0, 200.0, 240.0)
"""Both ways together; the paper has 5 to 120 ms each way, and judges the flows of 100 and 120 ms."""
FAR = 2
"""Of the last flows."""
RATE_BPS = 4_500_000
"""What the paper says that 802.11b carries on average."""
QUEUES = ("fifo", "fq_codel", "rdqm")
CONGESTION = ("reno", "cubic")


def once(task: dict[str, Any], airqueued: Path) -> list[float]:
    """Run one machine, and return each flow's rate in bit/s."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        guests.run("rdqm_guest", task, airqueued, folder)
        return [float(rate) for rate in json.loads((folder / "rates.json").read_text("utf-8"))]


def words(samples: Sequence[float], digits: int) -> str:
    """The mean with its 95 % interval, if there is more than one run."""
    found = t_interval(samples)
    mean = sum(samples) / len(samples)
    if found is None or found.n == 1:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def table(rows: Sequence[dict[str, Any]], packets: int) -> str:
    """The runs with a buffer of so many packets, as a table of Markdown."""
    lines = [
        "| TCP | queue | Jain's index | far flows, kb/s | near flow, kb/s | together, Mb/s |",
        "|---|---|---|---|---|---|",
    ]
    for congestion in CONGESTION:
        for queue in QUEUES:
            wanted = {"queue": queue, "congestion": congestion, "packets": packets}
            mine = [row["rates_bps"] for row in rows if wanted.items() <= row["task"].items()]
            cells = [
                words([jain_index(rates) for rates in mine], 3),
                words([sum(rates[-FAR:]) / FAR / 1e3 for rates in mine], 0),
                words([rates[0] / 1e3 for rates in mine], 0),
                words([sum(rates) / 1e6 for rates in mine], 2),
            ]
            lines.append("| " + " | ".join([congestion, queue, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description="RDQM with real Linux TCP.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--packets", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--airqueued", type=Path, default=Path("target/release/airqueued"))
    given = parser.parse_args()
    rows = finished.rows(given.keep)
    for seed, congestion, queue in product(range(1, given.seeds + 1), CONGESTION, QUEUES):
        task = {
            "queue": queue,
            "congestion": congestion,
            "packets": given.packets,
            "seed": seed,
            "seconds": given.seconds,
            "rate_bps": RATE_BPS,
            "delays_ms": list(DELAYS_MS),
        }
        if not any(row["task"] == task for row in rows):
            rows.append({"task": task, "rates_bps": once(task, given.airqueued.resolve())})
            finished.keep(given.keep, rows[-1])
            told = [round(rate / 1e3) for rate in rows[-1]["rates_bps"]]
            print(f"{queue} {congestion} {seed}: {told} kb/s", flush=True)
    print(f"\n{table(rows, given.packets)}")


if __name__ == "__main__":
    main()
