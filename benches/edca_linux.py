"""EDCA's settings with real Linux TCP: uploads and downloads at an access point, fair or not.

Exact emulations (docs/emulate.md): the kernel's TCP of user-mode Linux over a simulated cell of
802.11b at 11 Mb/s, as in the paper, with a server 10 ms behind the access point. Before: EDCA's
default parameters, all packets best effort. After: the settings of `airqueue size edca`, with
acknowledgements in a category of their own, and the TXOP that `airqueued`'s loop sets. First as many
uploads and downloads as stay, then transfers that come and go, where the TXOP follows as the loop
follows: a look each second, a change at most every 10 s. Finished runs are kept in a file, a line
each, and are not repeated.

With `--airqueued PROGRAM` the downloads are counted by `airqueued flows` at the server, by the
packets that pass there. An exact run cannot be changed while it lasts, so it is run again with the
changes that the counts ask for, until the counts of a run ask for the changes that it had: the same
seed makes the same packets, and those are then what the loop would have done. Without it the loop is
told which transfers there are.

    .venv/bin/python benches/edca_linux.py                            # 3 seeds
    .venv/bin/python benches/edca_linux.py --seeds 5 --keep edca.jsonl
    .venv/bin/python benches/edca_linux.py --all --seeds 1 --congestion cubic \
        --airqueued target/release/airqueued --keep all.jsonl         # 1 to 6 of each: hours
    .venv/bin/python benches/edca_linux.py --all --cases 1,1 3,3 6,6 --keep all.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from airqueue.emulate import Order, Program, exact
from airqueue.sizing.edca import ACK_CATEGORY, EdcaSizing, size_edca
from airqueue.sizing.settings.hostapd import Category
from airqueue.stats import jain_index

sys.path.insert(0, str(Path(__file__).parent))  # tests import this bench from elsewhere
import finished
from rdqm_linux import words

CASES = ((3, 3), (1, 6), (6, 1), (6, 6))
"""Uploads and downloads that stay."""
CONGESTION = ("cubic", "reno")
SETTINGS = ("defaults", "loop")
PACKET_BYTES = 1500
WARM_S, COUNTED_S = 12.0, 20.0
"""Of transfers that stay."""
CHANGING_S = 90.0
"""How long transfers come and go."""
MOST_ROUNDS = 10
"""Changes come at most every 10 s of 90."""
SAME_S = 0.01
"""Between a change that a run had and the look that asks for it."""
MOST = 6
"""Stations with uploads that come and go, and as many with downloads."""
LASTS_S, PAUSES_S = (15.0, 45.0), (2.0, 20.0)
"""How long such a transfer and the pause before it last: uniform between these."""
WINDOW_S = 10
"""Jain's index is taken of the rates in so many seconds, of transfers that last all of them."""
LOOK_S, AT_MOST_EVERY_S = 1, 10
"""The defaults of the service."""
TXOP_UNIT_US = 32
TOS = {"be": 0, "vi": 34 << 2}
"""Category -> the byte with a DSCP of this category (RFC 8325)."""
ACKS_TOS = TOS[ACK_CATEGORY.value]


Turn = tuple[float, int]
"""When the TXOP changes, and for how many packets."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A connection at a station of its own."""

    station: str
    upload: bool
    start_s: float
    stop_s: float


def staying(uploads: int, downloads: int, seed: int) -> list[Transfer]:
    """Transfers that stay, each at its station."""
    draw = random.Random(seed)
    ends_s = WARM_S + COUNTED_S + 1
    stations = [(f"up{n + 1}", True) for n in range(uploads)]
    stations += [(f"down{n + 1}", False) for n in range(downloads)]
    return [Transfer(name, upload, draw.uniform(0.5, 1.5), ends_s) for name, upload in stations]


def changing(seed: int, uploads: int = MOST, downloads: int = MOST) -> list[Transfer]:
    """Transfers that come and go, one after the other at each of so many stations."""
    draw = random.Random(seed)
    transfers = []
    for number, upload in product(range(MOST), (True, False)):
        if number >= (uploads if upload else downloads):
            continue
        station = f"{'up' if upload else 'down'}{number + 1}"
        now_s = 0.0
        while (start_s := now_s + draw.uniform(*PAUSES_S)) < CHANGING_S - 1:
            now_s = start_s + draw.uniform(*LASTS_S)
            transfers.append(Transfer(station, upload, start_s, min(now_s, CHANGING_S)))
    return transfers


def txop_us(downloads: int, sized: EdcaSizing) -> int:
    """The loop's TXOP limit: `txop_us` of `TxopPolicy` in airqueue-control."""
    if downloads <= 1:
        return 0
    sifs_us = sized.cell.phy.sifs_s * 1e6
    need_us = round(downloads * sized.txop.step_s * 1e6 - sifs_us, 3)
    return -int(-need_us // TXOP_UNIT_US) * TXOP_UNIT_US


def turned(counts: Iterable[tuple[float, int]]) -> Iterator[Turn]:
    """When the loop changes the TXOP, and for how many downloads (`AccessLoop` of airqueue-control).

    ``counts``: the times of its looks, and how many downloads were active.
    """
    packets, changed_s = 1, -float(AT_MOST_EVERY_S)
    for now_s, active in counts:
        wanted = max(1, active)
        if wanted != packets and now_s >= changed_s + AT_MOST_EVERY_S:
            packets, changed_s = wanted, now_s
            yield now_s, packets


def followed(transfers: Sequence[Transfer], ends_s: float) -> Iterator[Turn]:
    """What the loop does if it is told which transfers there are.

    A download counts as active if it lasted for half of the time between two looks or more.
    """
    for_looks = (
        (
            now_s,
            sum(
                min(now_s, each.stop_s) - max(now_s - LOOK_S, each.start_s) >= LOOK_S / 2
                for each in transfers
                if not each.upload
            ),
        )
        for now_s in range(LOOK_S, int(ends_s) + 1, LOOK_S)
    )
    return turned(for_looks)


def are_the_same(one: Sequence[Turn], other: Sequence[Turn]) -> bool:
    """Whether two runs were changed alike, at about the same times."""
    return len(one) == len(other) and all(
        mine[1] == its[1] and abs(mine[0] - its[0]) <= SAME_S
        for mine, its in zip(one, other, strict=True)
    )


def scenario(
    transfers: Sequence[Transfer], settings: str, queue_packets: int, ends_s: float
) -> dict[str, Any]:
    """The cell, without the transfers; the TXOP follows what transfers there are."""
    stations = sorted({each.station for each in transfers})
    described: dict[str, Any] = {
        "duration": f"{ends_s} s",
        "warm_up": "0 s",
        "phy": {
            "standard": "802.11b",
            "preamble": "short",
            "rate": "11 Mb/s",
            "control_rate": "11 Mb/s",
        },
        "mac": {"access": "edca"},
        "queue": {"limit": f"{queue_packets} packets", "ring": "10 packets"},
        "stations": [{"name": "ap"}, *({"name": name, "real": True} for name in stations)],
        "hosts": [{"name": "server", "link": "ap", "delay": "10 ms", "real": True}],
    }
    if settings == "defaults":
        described["stations"][0]["mac"] = {"edca": {"role": "access_point"}}
        return described
    sized = size_edca(1, 1, packet_bytes=PACKET_BYTES)
    described["mac"]["edca"] = edca(sized.stations)
    own = {category: values for category, (values, _) in sized.access_point.items()}
    described["stations"][0]["mac"] = {"edca": {"role": "access_point", **edca(own)}}
    described["changes"] = changes(list(followed(transfers, ends_s)))
    return described


def changes(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """What a loop does, as entries of a scenario."""
    sized = size_edca(1, 1, packet_bytes=PACKET_BYTES)
    return [
        {"at": f"{at_s} s", "station": "ap", "txop": f"{txop_us(downloads, sized)} us"}
        for at_s, downloads in turns
    ]


def edca(values: Mapping[Category, Any]) -> dict[str, Any]:
    """A table of categories; every TXOP is one packet."""
    return {
        category.value: {
            "aifsn": each.aifsn,
            "cw_min": each.cw_min,
            "cw_max": each.cw_max,
            "txop": "0 us",
        }
        for category, each in values.items()
    }


def once(task: Mapping[str, Any], airqueued: Path | None = None) -> dict[str, Any]:
    """Run an emulation: each transfer, with the bytes that have arrived by each second.

    With a program that counts, as often as its counts ask for other changes.
    """
    turns: list[Turn] = []
    for rounds in range(1, MOST_ROUNDS + 1):
        described = dict(task["scenario"])
        if rounds > 1:
            described["changes"] = changes(turns)
        transfers, looks = emulated(task, described, airqueued)
        if airqueued is None or task["settings"] != "loop":
            return {"transfers": transfers}
        before = turns if rounds > 1 else list(followed(transfers_of(task), task["ends_s"] + 2))
        turns = list(turned(looks))
        if are_the_same(before, turns):
            return {"transfers": transfers, "rounds": rounds, "turns": turns}
    # Each change that a run gets right stays right in the next one.
    raise SystemExit(f"{MOST_ROUNDS} runs of {task['case']} still ask for other changes: {turns}")


def transfers_of(task: Mapping[str, Any]) -> list[Transfer]:
    return [Transfer(**each) for each in task["transfers"]]


def program(node: str, of: Mapping[str, Any], file: str = "edca_ends.py") -> Program:
    """What runs at a node."""
    path = str(Path(__file__).with_name(file))
    return Program(node, (sys.executable, "-I", "-S", path, json.dumps(of)))


def emulated(
    task: Mapping[str, Any], described: Mapping[str, Any], airqueued: Path | None
) -> tuple[list[dict[str, Any]], list[tuple[float, int]]]:
    """Run a network: the transfers with their bytes, and the looks of the program that counts."""
    transfers = transfers_of(task)
    acks_tos = ACKS_TOS if task["settings"] == "loop" else TOS["be"]
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        ends: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(transfers):
            sender, receiver = (each.station, "server")[:: 1 if each.upload else -1]
            for node in (sender, receiver):
                file = str(scratch / f"{node}.json")
                of_node = {"receive": [], "send": [], "result": file, "until_s": task["ends_s"]}
                ends.setdefault(node, of_node)
            end = {"name": str(number), "port": 5001 + number}
            ends[receiver]["receive"].append({**end, "tos": acks_tos})
            times = {"start_s": each.start_s, "stop_s": each.stop_s}
            ends[sender]["send"].append({**end, "tos": TOS["be"], "address": receiver, **times})
        told = scratch / "looks.jsonl"
        programs = [program(node, of) for node, of in ends.items()]
        if airqueued is not None:
            behind: dict[str, Any] = {
                "ends": ends.pop("server"),
                "stations": list(ends),
                "airqueued": str(airqueued),
                "looks": str(told),
                "count": int(task["ends_s"]) + 2,
            }
            ends["server"] = behind["ends"]
            programs = [each for each in programs if each.node != "server"]
            programs.append(program("server", behind, "edca_server.py"))
        done = exact.run(
            described,
            Order(None, tuple(programs), duration_s=task["ends_s"] + 3),
            seed=task["seed"],
            scratch=scratch,
            tcp={"tcp_congestion_control": task["congestion"]},
        )
        if done.exit_code or done.results.without_back_pressure:
            raise SystemExit(
                f"the emulation ended with {done.exit_code}, {done.results.without_back_pressure}: "
                f"{done.stderr.decode(errors='replace')[-500:]}"
            )
        noted = [json.loads(Path(of["result"]).read_text("ascii")) for of in ends.values()]
        looks = (
            [json.loads(line) for line in told.read_text("ascii").splitlines()] if airqueued else []
        )
    received: dict[str, list[int]] = {}
    for of_node in noted:
        for transfer in of_node["bytes"][0]:
            received[transfer] = [second[transfer] for second in of_node["bytes"]]
    began_s = min(of_node["began_s"] for of_node in noted)
    return (
        [{**asdict(each), "bytes": received[str(n)]} for n, each in enumerate(transfers)],
        [(round(look["at_s"] - began_s, 3), look["downloads"]) for look in looks],
    )


def windows(task: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Seconds at which the windows of a run begin and end."""
    if task["kind"] == "staying":
        return [(int(WARM_S), int(WARM_S + COUNTED_S))]
    return [(at, at + WINDOW_S) for at in range(0, int(CHANGING_S) - WINDOW_S + 1, WINDOW_S)]


def rates(row: Mapping[str, Any]) -> Iterator[list[tuple[bool, float]]]:
    """For each window the transfers that last all of it: whether it is an upload, and its bit/s.

    A transfer that begins less than a second before the window is not among them.
    """
    for begin, end in windows(row["task"]):
        lasting = [t for t in row["transfers"] if t["start_s"] <= begin - 1 and t["stop_s"] >= end]
        if len(lasting) > 1:
            yield [
                (t["upload"], (t["bytes"][end] - t["bytes"][begin]) * 8 / (end - begin))
                for t in lasting
            ]


def fairness(row: Mapping[str, Any]) -> list[float]:
    """Jain's index in each window."""
    return [jain_index([bps for _, bps in window]) for window in rates(row)]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def down_over_up(row: Mapping[str, Any]) -> float:
    """The rate of a download over that of an upload, of the means over all windows."""
    found = {
        upload: [bps for window in rates(row) for way, bps in window if way is upload]
        for upload in (True, False)
    }
    return mean(found[False]) / mean(found[True])


def total_mbps(row: Mapping[str, Any]) -> float:
    """What arrived from the beginning of the first window to the end of the last one."""
    begin, end = windows(row["task"])[0][0], windows(row["task"])[-1][1]
    return sum(t["bytes"][end] - t["bytes"][begin] for t in row["transfers"]) * 8e-6 / (end - begin)


def said(row: Mapping[str, Any]) -> str:
    """A run in a line."""
    task = row["task"]
    about = f"{task['congestion']} {task['case']} {task['settings']} {task['seed']}"
    found = fairness(row)
    index = (
        f"{mean(found):.3f}, least {min(found):.3f}" if found else "no window with two transfers"
    )
    rounds = f", {row['rounds']} rounds" if "rounds" in row else ""
    return f"{about}: {index}, {total_mbps(row):.2f} Mb/s{rounds}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The runs as a table of Markdown: before and after in each cell."""
    lines = [
        "| TCP | uploads | downloads | Jain's index, defaults | with the loop | least of a run "
        "| download over upload, defaults | with the loop | together, Mb/s | with the loop |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    cases = sorted({(r["task"]["congestion"], *r["task"]["case"]) for r in rows}, key=str)
    for congestion, uploads, downloads in cases:
        wanted = {"congestion": congestion, "case": [uploads, downloads]}
        mine = [row for row in rows if wanted.items() <= row["task"].items()]
        before, after = ([r for r in mine if r["task"]["settings"] == of] for of in SETTINGS)
        if not before or not after:
            continue
        cells = [
            *(words([mean(fairness(row)) for row in of], 3) for of in (before, after)),
            f"{min(min(fairness(row)) for row in after):.3f}",
            *(words([down_over_up(row) for row in of], 2) for of in (before, after)),
            *(words([total_mbps(row) for row in of], 2) for of in (before, after)),
        ]
        lines.append("| " + " | ".join([congestion, str(uploads), str(downloads), *cells]) + " |")
    return "\n".join(lines)


def matrix(rows: Sequence[Mapping[str, Any]]) -> str:
    """Jain's index with the defaults and with the loop, by the stations that upload and download."""
    lines = [
        "| stations that upload | "
        + " | ".join(f"{n} download" for n in range(1, MOST + 1))
        + " |",
        "|---|" + "---|" * MOST,
    ]
    for uploads in range(1, MOST + 1):
        cells = []
        for downloads in range(1, MOST + 1):
            mine = [row for row in rows if row["task"]["case"] == [uploads, downloads]]
            each = (
                [
                    mean(found)
                    for r in mine
                    if r["task"]["settings"] == of and (found := fairness(r))
                ]
                for of in SETTINGS
            )
            cells.append(", ".join(words(of, 3) if of else "-" for of in each))
        lines.append(f"| {uploads} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_all(
    seeds: int,
    congestion: Sequence[str],
    queue_packets: int,
    cases: Sequence[tuple[int, int]],
    *,
    counted: bool,
) -> Iterator[dict[str, Any]]:
    """Transfers that come and go at so many stations; ``counted``: by the packets that pass."""
    for seed in range(1, seeds + 1):
        for controller, case, settings in product(congestion, cases, SETTINGS):
            yield {
                **task(controller, settings, seed, queue_packets, changing(seed, *case)),
                "kind": "changing",
                "case": list(case),
                "counted": counted and settings == "loop",
            }


def task(
    congestion: str,
    settings: str,
    seed: int,
    queue_packets: int,
    transfers: Sequence[Transfer],
    *,
    ends_s: float = CHANGING_S,
) -> dict[str, Any]:
    """A run, without its kind and case."""
    return {
        "congestion": congestion,
        "settings": settings,
        "seed": seed,
        "ends_s": ends_s,
        "transfers": [asdict(each) for each in transfers],
        "scenario": scenario(transfers, settings, queue_packets, ends_s + 2),
    }


def tasks(seeds: int, congestion: Sequence[str], queue_packets: int) -> Iterator[dict[str, Any]]:
    """All runs, so that a part of them has some of each case."""
    cases: list[tuple[int, int] | None] = [None, *CASES]
    for seed in range(1, seeds + 1):
        for controller, counts, settings in product(congestion, cases, SETTINGS):
            stays = counts is not None
            transfers = staying(*counts, seed) if counts is not None else changing(seed)
            yield {
                "kind": "staying" if stays else "changing",
                "case": list(counts or (f"0 to {MOST}",) * 2),
                **task(
                    controller,
                    settings,
                    seed,
                    queue_packets,
                    transfers,
                    ends_s=WARM_S + COUNTED_S if stays else CHANGING_S,
                ),
            }


def pair(text: str) -> tuple[int, int]:
    """Uploads and downloads, as in ``3,3``."""
    numbers = tuple(int(part) for part in text.split(",") if part.isdecimal())
    if len(numbers) != 2 or not all(1 <= number <= MOST for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r}: give two numbers of 1 to {MOST}, as 3,3")
    return numbers[0], numbers[1]


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description="EDCA's settings with real Linux TCP.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--congestion", nargs="+", default=CONGESTION)
    parser.add_argument("--queue", type=int, default=100, help="packets at each station")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--all", action="store_true", help="1 to 6 of each, that come and go")
    parser.add_argument("--cases", nargs="+", type=pair, help="of --all: uploads,downloads")
    parser.add_argument("--airqueued", type=Path, help="counts downloads by packets, for --all")
    given = parser.parse_args()
    if not given.all:
        wanted = tasks(given.seeds, given.congestion, given.queue)
        print(f"\n{table(finished.runs(given.keep, wanted, once, said))}")
        return
    numbers = range(1, MOST + 1)
    every = [(uploads, downloads) for uploads in numbers for downloads in numbers]
    airqueued = given.airqueued and given.airqueued.resolve()
    counted = airqueued is not None
    wanted = of_all(
        given.seeds, given.congestion, given.queue, given.cases or every, counted=counted
    )
    runs = finished.runs(given.keep, wanted, lambda of: once(of, airqueued), said)
    for congestion in given.congestion:
        print(
            f"\n{congestion}\n{matrix([r for r in runs if r['task']['congestion'] == congestion])}"
        )


if __name__ == "__main__":
    main()
