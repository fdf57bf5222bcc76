"""What a mesh costs to simulate, small and large, as a table.

A grid of 16 nodes with 4 flows to a gateway, and one of 400 with 40. Each row gives the CPU
seconds of this process on one core: to check the scenario and find its ways, and to simulate a
second of it; and the latter per delivered frame-hop, a packet that a station has passed to the
next one, with all the frames, collisions and retries that this takes.

    .venv/bin/python benches/meshes.py                   # exit code 1 if a row misses its target
    .venv/bin/python benches/meshes.py --only tcp        # rows whose name contains a word
    .venv/bin/python benches/meshes.py --json out.json

Targets: the large grids take less time than passes in them, and at most twice as much per
frame-hop as the small ones with the same traffic.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.simulate import Scenario, mesh

Made = TypeVar("Made")

MOST_RATIO = 2.0
"""CPU per frame-hop of a large grid over that of the small one."""
MOST_PER_SECOND = 1.0
"""CPU seconds for a simulated second."""
RUNS = 5
COLUMNS = {"small": 4, "large": 20}
FLOWS = {"small": 4, "large": 40}
DURATION_S = {"small": 200.0, "large": 40.0}
TRAFFIC: dict[str, mesh.Options] = {
    "tcp": {},
    "tcp from a server": {"server": "10 ms", "direction": "down"},
    "cbr": {"flow": {"source": "cbr", "rate": "20 kb/s"}},
    "cbr, overloaded": {"flow": {"source": "cbr", "rate": "500 kb/s"}},
}


@dataclass(frozen=True)
class Row:
    """A grid with some traffic."""

    name: str
    size: str
    build_s: float
    """CPU time until the scenario is checked."""
    cpu_per_s: float
    """CPU time of a simulated second."""
    frame_hops_per_s: float
    """Packets passed on in a simulated second."""
    cpu_per_frame_hop_s: float
    ratio: float | None
    """Of that to the small grid's."""

    @property
    def missed(self) -> bool:
        """Whether it misses a target."""
        large = self.size == "large" and self.cpu_per_s > MOST_PER_SECOND
        return large or (self.ratio is not None and self.ratio > MOST_RATIO)


def grid(size: str, options: mesh.Options) -> Scenario:
    """Return the grid of a size."""
    columns = COLUMNS[size]
    lasting: mesh.Options = {**options, "duration": f"{DURATION_S[size]} s"}
    return mesh.grid(columns, columns, flows=FLOWS[size], **lasting)


def measured(work: Callable[[], Made]) -> tuple[Made, float]:
    """Return what ``work`` returns, and the CPU time that it took."""
    before = time.process_time()
    made = work()
    return made, time.process_time() - before


def row(name: str, size: str, options: mesh.Options, small: Row | None) -> Row:
    """Simulate a grid: what it takes if nothing disturbs it, which the best of some runs shows."""
    description = grid(size, options).description
    scenario, build_s = measured(lambda: Scenario(description))
    runs = [measured(lambda: scenario.simulate(replications=1, workers=1)) for _ in range(RUNS)]
    results, cpu_s = runs[0][0], min(cpu_s for _, cpu_s in runs)
    passed = float(results.stations["acknowledged_packets"].sum()) / scenario.duration_s
    cpu_per_s = cpu_s / (scenario.duration_s + scenario.warm_up_s)
    each = cpu_per_s / passed
    ratio = None if small is None else each / small.cpu_per_frame_hop_s
    return Row(name, size, build_s, cpu_per_s, passed, each, ratio)


def table(rows: list[Row]) -> Table:
    """Return the rows for people."""
    made = Table(
        "traffic",
        "grid",
        "build\nms",
        "CPU s\nper s",
        "frame-hops\nper s",
        "us per\nframe-hop",
        "ratio",
    )
    for one in rows:
        ratio = "-" if one.ratio is None else f"{one.ratio:.2f}{' MISSED' if one.missed else ''}"
        made.add_row(
            one.name,
            one.size,
            f"{1e3 * one.build_s:.1f}",
            f"{one.cpu_per_s:.4f}",
            f"{one.frame_hops_per_s:,.0f}",
            f"{1e6 * one.cpu_per_frame_hop_s:.2f}",
            ratio,
        )
    return made


def main() -> int:
    """Print the table; 1 if a row misses a target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    given = parser.parse_args()
    rows: list[Row] = []
    for name, options in TRAFFIC.items():
        if given.only in name:
            small = row(name, "small", options, None)
            rows += [small, row(name, "large", options, small)]
    Console().print(table(rows))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(one) for one in rows], indent=2) + "\n", "utf-8")
    return 1 if any(one.missed for one in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
