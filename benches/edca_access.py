"""EDCA's loop where the TXOP is bounded: uploads and downloads with the TXOP alone, and all three.

A TXOP of fewer packets than there are downloads leaves them less than uploads. `airqueue size edca
--for airqueued` then has the access point win more often, by AIFS and CWmin. Compared is what the
loop sets once numbers of flows stay: the TXOP alone, and the TXOP with the table's AIFSN and CWmin.
Simulated are the flows of examples/simulate/tcp-fair-edca.toml; with `--linux` the kernel's TCP in an
exact emulation (benches/edca_linux.py), a connection at each station. Finished runs are kept in a
file, a line each, and are not repeated.

    .venv/bin/python benches/edca_access.py                           # 3 seeds, simulated
    .venv/bin/python benches/edca_access.py --packets 2 --cases 6,6 3,6 --keep access.jsonl
    .venv/bin/python benches/edca_access.py --linux --seeds 1 --packets 2 --cases 3,6
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from airqueue.simulate import simulate
from airqueue.sizing.edca import size_edca
from airqueue.sizing.edca_follow import access_rows
from airqueue.stats import jain_index

sys.path.insert(0, str(Path(__file__).parent))  # tests import this bench from elsewhere
import edca_linux
import finished
from rdqm_linux import words

EXAMPLE = Path(__file__).parent.parent / "examples/simulate/tcp-fair-edca.toml"
CASES = ((1, 3), (1, 6), (3, 3), (3, 6), (6, 2), (6, 4), (6, 6))
"""Uploads and downloads that stay."""
PACKETS = (1, 2, 3)
SETTINGS = ("txop", "all three")
PLAIN = {"aifsn": 6, "cw_min": 31}
"""Table 2 of the EDCA paper."""
CW_MAX = 1023


def access(uploads: int, downloads: int, packets: int, settings: str) -> dict[str, int]:
    """The access point's AIFSN and CWmin for data, as the loop has them (`AccessLoop::row`)."""
    rows = access_rows(uploads, downloads, packets, CW_MAX) if settings == "all three" else ()
    if not rows:
        return PLAIN
    row = max(rows, key=lambda row: (row.downloads, row.uploads))
    return {"aifsn": row.aifsn, "cw_min": row.cw_min}


def tasks(
    seeds: int, packets: Sequence[int], cases: Sequence[tuple[int, int]], *, linux: bool
) -> Iterator[dict[str, Any]]:
    """All runs in which a TXOP is too short."""
    for bound, case, settings, seed in product(packets, cases, SETTINGS, range(1, seeds + 1)):
        if case[1] > bound:
            yield {
                "linux": linux,
                "case": list(case),
                "packets": bound,
                "settings": settings,
                "seed": seed,
                "access": access(*case, bound, settings),
            }


def once(task: Mapping[str, Any]) -> dict[str, Any]:
    """The bit/s of each upload and of each download."""
    return emulated(task) if task["linux"] else simulated(task)


def simulated(task: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the simulator."""
    uploads, downloads = task["case"]
    own = {f"stations.ap.mac.edca.be.{key}": value for key, value in task["access"].items()}
    changes = {
        "stations.up.count": uploads,
        "stations.down.count": downloads,
        "stations.ap.mac.edca.be.txop": f"{task['packets']} packets",
        **own,
    }
    flows = simulate(EXAMPLE, changes, seed=task["seed"], replications=1, workers=1).flows
    found: dict[str, list[float]] = {"upload": [], "download": []}
    for name, bps in zip(flows["flow"], flows["throughput_bps"], strict=True):
        found[name.rstrip("0123456789")].append(float(bps))
    return found


def emulated(task: Mapping[str, Any]) -> dict[str, Any]:
    """An exact emulation with the kernel's TCP."""
    uploads, downloads = task["case"]
    transfers = edca_linux.staying(uploads, downloads, task["seed"])
    ends_s = edca_linux.WARM_S + edca_linux.COUNTED_S
    run = edca_linux.task("cubic", "loop", task["seed"], 100, transfers, ends_s=ends_s)
    sized = size_edca(1, 1, packet_bytes=edca_linux.PACKET_BYTES)
    own = run["scenario"]["stations"][0]["mac"]["edca"]["be"]
    own |= {**task["access"], "txop": f"{edca_linux.txop_us(task['packets'], sized)} us"}
    run["scenario"]["changes"] = []
    done, _ = edca_linux.emulated(run, run["scenario"], None)
    row = {"task": {**run, "kind": "staying"}, "transfers": done}
    (window,) = edca_linux.rates(row)
    return {
        name: [bps for way, bps in window if way is upload]
        for name, upload in (("upload", True), ("download", False))
    }


def figures(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Jain's index, a download's rate over an upload's, and Mb/s together."""
    up, down = row["upload"], row["download"]
    quotient = sum(down) / len(down) / (sum(up) / len(up))
    return jain_index([*up, *down]), quotient, (sum(up) + sum(down)) * 1e-6


def said(row: Mapping[str, Any]) -> str:
    """A run in a line."""
    task = row["task"]
    jain, quotient, mbps = figures(row)
    own = "AIFSN {aifsn}, CWmin {cw_min}".format(**task["access"])
    about = f"{task['case']}, {task['packets']} packets, {task['settings']} ({own}) {task['seed']}"
    return f"{about}: {jain:.3f}, {quotient:.2f}, {mbps:.2f} Mb/s"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The runs as a table of Markdown."""
    lines = [
        "| TXOP, packets | uploads, downloads | AIFSN, CWmin | Jain's index, TXOP alone | all three "
        "| download over upload, TXOP alone | all three | Mb/s, TXOP alone | all three |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for packets, case in sorted({(r["task"]["packets"], tuple(r["task"]["case"])) for r in rows}):
        mine = [
            r for r in rows if (r["task"]["packets"], tuple(r["task"]["case"])) == (packets, case)
        ]
        alone, three = ([r for r in mine if r["task"]["settings"] == of] for of in SETTINGS)
        own = three[0]["task"]["access"]
        cells = [
            words([figures(row)[figure] for row in of], digits)
            for figure, digits in ((0, 3), (1, 2), (2, 2))
            for of in (alone, three)
        ]
        head = [str(packets), f"{case[0]}, {case[1]}", f"{own['aifsn']}, {own['cw_min']}"]
        lines.append("| " + " | ".join([*head, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description="EDCA's loop where the TXOP is bounded.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--packets", type=int, nargs="+", default=PACKETS)
    parser.add_argument("--cases", nargs="+", type=edca_linux.pair, default=CASES)
    parser.add_argument("--linux", action="store_true", help="the kernel's TCP, emulated")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    wanted = tasks(given.seeds, given.packets, given.cases, linux=given.linux)
    print(f"\n{table(finished.runs(given.keep, wanted, once, said))}")


if __name__ == "__main__":
    main()
