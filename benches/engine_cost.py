"""Instructions of the engine for an attempt to transmit, before and after a change.

    python benches/engine_cost.py CELLS [OTHER_CELLS]
    python benches/engine_cost.py --random 150 --seed 1 --base COMMIT [--rows FILE] [--json FILE]

CELLS is the program that `cargo bench -p airqueue-scenario --bench cells --no-run` builds,
OTHER_CELLS the same program after a change. Valgrind counts the instructions of two runs of
different length; their difference has no instructions of the start and the warm-up. Counts are
exact and do not depend on what else the machine does. Needs `valgrind`.

With `--random` both engines simulate random networks of the property tests
(`engine_random.py`); COMMIT is the earlier engine, which is built, or its program `one`. Rows in
FILE of an interrupted run are not made again; rows are of one pair of engines.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from math import exp, log
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine_random

CELLS = {
    "b10-circle": (1.0, 3.0),
    "b10-point": (1.0, 3.0),
    "b50-circle": (1.0, 3.0),
    "b50-point": (1.0, 3.0),
    "b200-circle": (0.5, 1.5),
    "s200-circle": (0.5, 1.5),
    "n200-circle": (0.5, 1.5),
    "ax10-circle": (0.2, 0.8),
    "tcp6": (5.0, 8.0),
    "chain-close": (3.0, 6.0),
    "chain-hidden": (3.0, 6.0),
    "grid100": (0.2, 0.4),
    "sessions20": (20.0, 60.0),
    "start-circle": (0.0, 0.1),
    "start-point": (0.0, 0.1),
    "start-ns3": (0.0, 0.1),
}
"""Simulated seconds of both runs; a run of 0 s is that of building the network."""


def counted(program: str, *words: str) -> tuple[int, int]:
    """Attempts and instructions of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, *words]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        totals = [line for line in out.read_text().splitlines() if line.startswith("totals:")]
    return int(run.stdout), int(totals[0].split()[1])


def cost(program: str, name: str) -> tuple[int, float]:
    """Attempts between both ends of the runs of a cell, and instructions for each of them."""
    short, long = (counted(program, name, f"{seconds:g}") for seconds in CELLS[name])
    attempts = long[0] - short[0]
    return attempts, (long[1] - short[1]) / attempts


def cells(programs: list[str], names: list[str]) -> None:
    """Prints the table of the cells."""
    ratios = []
    for name in names:
        costs = [cost(program, name) for program in programs]
        line = f"{name:14}" + "".join(f"{each:10.0f}" for _, each in costs)
        if len(costs) > 1:
            ratios.append(costs[0][1] / costs[-1][1])
            alike = "" if costs[0][0] == costs[-1][0] else "  other attempts"
            line += f"  x{ratios[-1]:.2f}{alike}"
        print(line, flush=True)
    if len(ratios) > 1:
        print(f"geometric mean x{exp(sum(map(log, ratios)) / len(ratios)):.2f}")


def random_networks(arguments: argparse.Namespace) -> None:
    """Prints the table of random networks."""
    with tempfile.TemporaryDirectory() as folder:
        base = engine_random.earlier(arguments.base, Path(folder))
        ours = arguments.ours or engine_random.built(engine_random.ROOT, "one")
        drawer = engine_random.built(engine_random.ROOT, "drawn")
        rows, refused = engine_random.compare(
            (base, ours), drawer, arguments.random, arguments.seed, arguments.rows
        )
    print("\n".join(engine_random.table(rows, refused)))
    if arguments.json:
        arguments.json.write_text(json.dumps(engine_random.summary(rows), indent=1) + "\n")


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description="Instructions for an attempt to transmit.")
    parser.add_argument("programs", nargs="*", metavar="CELLS", help="the benchmark's program")
    parser.add_argument("--only", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--random", type=int, metavar="N", help="N random networks, not the cells")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random networks")
    parser.add_argument("--base", metavar="COMMIT", help="the earlier engine, or its program")
    parser.add_argument("--ours", type=Path, metavar="PROGRAM", help="built before; else built")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keeps rows, to go on from")
    parser.add_argument("--json", type=Path, metavar="FILE", help="mean and quantiles")
    arguments = parser.parse_args()
    if arguments.random and arguments.base:
        random_networks(arguments)
    elif arguments.programs and not arguments.random:
        cells(arguments.programs, arguments.only)
    else:
        parser.error("give CELLS, or --random with --base")


if __name__ == "__main__":
    main()
