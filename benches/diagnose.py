"""How often `airqueue diagnose` is right about where packets wait, over random emulated homes.

    python benches/diagnose.py [--homes 100] [--from 0] [--seed 20261125] [--keep FILE]

Each home has its fault at the access point, at the station, at the line, or none: long FIFOs there,
and flow queueing elsewhere. Radio, rates, lengths and delays are drawn from the seed. Programs and
TCP are real, in exact emulations (docs/emulate.md, which says what they need). With --keep finished
homes are in the file, and are not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import stats

import finished
from airqueue.cli.console import Console
from airqueue.cli.table import Table
from airqueue.emulate import Order, Program, exact

AIRQUEUE: Final = (sys.executable, "-m", "airqueue")
KINDS: Final = (
    ("access_point", "down"),
    ("station", "up"),
    ("line", "down"),
    ("line", "up"),
    ("none", "down"),
    ("none", "up"),
)
# Radios with about the rate of IP packets that they carry. Without aggregates: where flows are kept
# apart, a full aggregate before a probe takes more than the 10 ms that `none` allows.
RADIOS: Final = (("54 Mb/s", 30e6), ("24 Mb/s", 17e6), ("12 Mb/s", 9.5e6))
FAIR: Final = "fq_codel"


def home(kind: tuple[str, str], draw: np.random.Generator) -> dict[str, Any]:
    """Draw a home with this fault in this direction."""
    place, _ = kind
    rate, air_bps = RADIOS[draw.integers(len(RADIOS))]
    full_s = float(np.exp(draw.uniform(np.log(0.06), np.log(0.5))))

    def fifo(bps: float) -> str:
        return f"pfifo:{max(20, round(full_s * bps / 12_000))}"

    narrow = place == "line" or (place == "none" and draw.random() < 0.5)
    line_bps = float(air_bps * (draw.uniform(0.15, 0.6) if narrow else draw.uniform(2.0, 5.0)))
    return {
        "warm_up": "0 s",
        "phy": {"standard": "802.11g", "rate": rate},
        "stations": [
            {"name": "ap", "queue": fifo(air_bps) if place == "access_point" else FAIR},
            {
                "name": "phone",
                "real": True,
                "queue": fifo(air_bps) if place == "station" else FAIR,
            },
        ],
        "hosts": [
            {
                "name": "server",
                "link": "ap",
                "real": True,
                "rate": f"{round(line_bps / 1e3)} kb/s",
                "delay": f"{draw.uniform(1, 30):.1f} ms",
                "queue": fifo(line_bps) if place == "line" else FAIR,
            }
        ],
    }


def diagnosed(described: Mapping[str, Any], direction: str, seed: int) -> dict[str, Any]:
    """Diagnose a home, and return the finding."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "result.json"
        words = ("--quiet", "--direction", direction, "--hold", "4s", "--json", str(kept))
        order = Order(
            Program("phone", (*AIRQUEUE, "diagnose", "server", *words)),
            (Program("server", (*AIRQUEUE, "server")),),
        )
        done = exact.run(described, order, seed=seed, scratch=Path(folder), back_pressure=False)
        if done.exit_code != 0:
            raise SystemExit(f"home {seed}: {done.stderr}")
        return dict(json.loads(kept.read_text("utf-8"))["findings"][0])


def main() -> int:
    """Run the homes and print how often each fault was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--homes", type=int, default=100)
    parser.add_argument("--from", type=int, default=0, dest="first", help="number of the first")
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="finished homes, as JSON lines")
    options = parser.parse_args()
    rows = {row["home"]: row for row in finished.rows(options.keep) if row["seed"] == options.seed}
    asked = range(options.first, options.first + options.homes)
    for number in asked:
        kind = KINDS[number % len(KINDS)]
        if number in rows:
            continue
        described = home(kind, np.random.default_rng([options.seed, number]))
        found = diagnosed(described, kind[1], number + 1)
        row = {"seed": options.seed, "home": number, "kind": kind, "home_is": described, **found}
        rows[number] = row
        finished.keep(options.keep, row)
    _show([rows[number] for number in asked])
    return 0


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table(title=f"{len(rows)} homes")
    for head in ("fault", "load", "homes", "right", "undecided", "wrong"):
        table.add_column(head, justify="left" if head in ("fault", "load") else "right")
    total: Counter[str] = Counter()
    for place, direction in KINDS:
        words = Counter(
            _word(row["place"], place) for row in rows if tuple(row["kind"]) == (place, direction)
        )
        total += words
        counts = (words["right"], words["undecided"], words["wrong"])
        table.add_row(place, direction, *(str(n) for n in (sum(counts), *counts)))
    console = Console(width=100)
    console.print(table)
    tested = sum(total.values())
    if tested:
        worst = stats.beta.ppf(0.975, total["wrong"] + 1, max(tested - total["wrong"], 1))
        console.print(
            f"{total['right']} right, {total['undecided']} undecided, {total['wrong']} wrong: at "
            f"most {100 * worst:.1f} % are wrong (Clopper-Pearson, 95 %)."
        )
    for row in rows:
        if _word(row["place"], row["kind"][0]) == "wrong":
            console.print(
                f"Wrong, home {row['home']}, {row['kind']}: {row['place']}. {row['says']}"
            )


def _word(found: str, truth: str) -> str:
    if found in ("undecided", "not_loaded"):
        return "undecided"
    return "right" if found == truth else "wrong"


if __name__ == "__main__":
    sys.exit(main())
