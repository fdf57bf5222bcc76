"""How exact the round trips are that `airqueued flows` tells, against known delays.

User-mode Linux, on an exact virtual clock: a server and a station with a router between them that
listens at both interfaces, and netem's delays on both sides (`rtt_guest.py`). The truth of a half is
the delay of netem in both directions; computing takes no time there, and the only queue, where there
is one, is at the router and in no half. The table has the estimate less the truth, of the least of
the last minute, at the end of a run: of the half to the station as seen at its interface, and of the
half to the server as seen at the uplink. Finished runs are kept in a file, a line each, and are not
repeated. The largest smoothed round trip, less the truth, says how long samples are.

    .venv/bin/python benches/rtt_linux.py                            # 3 seeds
    .venv/bin/python benches/rtt_linux.py --seeds 5 --keep rtt.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from airqueue.stats import t_interval

sys.path.insert(0, str(Path(__file__).parent))  # tests import this bench from elsewhere
import finished
import guests
from rtt_guest import PORT

KINDS = ("download", "upload", "pages", "pushes", "posts")
"""Of which the last three pause: requests with answers, a server's and a station's own data."""
QUEUED = "queued download"
HALVES_MS = ((2, 10), (2, 40), (10, 150), (40, 10), (150, 2))
"""Round trips from the router to the station and to the server."""
LOSS = 0.005
"""At each of four places."""
JITTER_MS = 2
"""More delay in each direction of a half at the most, where there are losses."""
SECONDS = 15


def once(task: Mapping[str, Any], airqueued: Path) -> list[dict[str, Any]]:
    """Run a machine; for each connection what the taps told of its halves at the end."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        guests.run("rtt_guest", task, airqueued, folder)
        looks = {
            name: json.loads((folder / f"{name}.json").read_text("utf-8").splitlines()[-1])
            for name in ("lan", "wan")
        }
    # At each interface what leaves goes to "the station": at the uplink that is the server.
    ends = {"lan": "far", "wan": "station"}
    return [
        {
            "kind": kind,
            "from_the_beginning": bool(later),
            **{
                half: told(looks[name], ends[name], PORT + 2 * number + later)
                for half, name in (("near", "lan"), ("far", "wan"))
            },
        }
        for number, kind in enumerate(task["kinds"])
        for later in (0, 1)
    ]


def told(look: dict[str, Any], server: str, port: int) -> dict[str, Any] | None:
    """The round trip of a flow, by the port of its server, to the end behind the interface."""
    for flow in look["flows"]:
        if flow[server].endswith(f":{port}"):
            found: dict[str, Any] = flow["station_rtt"]
            return found
    return None


def tasks(seeds: int) -> Iterator[dict[str, Any]]:
    """All runs, so that a part of them has some of each."""
    for seed in range(1, seeds + 1):
        for loss, timestamps, queue in (
            *((loss, stamps, False) for stamps, loss in product((True, False), (0.0, LOSS))),
            (0.0, True, True),
        ):
            for near_ms, far_ms in HALVES_MS:
                yield {
                    "near_ms": near_ms,
                    "far_ms": far_ms,
                    "loss": loss,
                    "jitter_ms": JITTER_MS,
                    "timestamps": timestamps,
                    "queue": queue,
                    "kinds": [QUEUED] if queue else list(KINDS),
                    "seed": seed,
                    "seconds": SECONDS,
                }


def errors_ms(
    rows: Sequence[Any], wanted: dict[str, Any], half: str, of: str = "least_s"
) -> Iterator[float | None]:
    """Estimate less truth of each connection of a kind; None without an estimate."""
    for row in rows:
        for flow in row["flows"]:
            found = {**row["task"], **flow}
            if wanted.items() <= found.items():
                told_s = flow[half] and flow[half][of]
                yield None if told_s is None else 1e3 * told_s - row["task"][f"{half}_ms"]


def words(errors: Sequence[float | None]) -> str:
    """The mean error with its 95 % interval, and the least and the largest."""
    known = [error for error in errors if error is not None]
    found = t_interval(known)
    if found is None:
        return f"none of {len(errors)}"
    absent = f"; {len(errors) - len(known)} of {len(errors)} without" * (len(known) < len(errors))
    interval = f"{found.mean:+.2f}" + f" [{found.low:+.2f}, {found.high:+.2f}]" * (found.n > 1)
    return f"{interval}, {min(known):+.2f} to {max(known):+.2f}{absent}"


def table(rows: Sequence[Any]) -> str:
    """The errors in ms, as a table of Markdown."""
    lines = [
        "| application | timestamps | path | seen from | half to the station | half to the server "
        "| smoothed, at most | and to the server |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases = [*product(KINDS, (True, False), (0.0, LOSS)), (QUEUED, True, 0.0)]
    for (kind, timestamps, loss), begins in product(cases, (True, False)):
        wanted = {
            "kind": kind,
            "timestamps": timestamps,
            "loss": loss,
            "from_the_beginning": begins,
        }
        cells = [words(list(errors_ms(rows, wanted, half))) for half in ("near", "far")]
        for half in ("near", "far"):
            smoothed = errors_ms(rows, wanted, half, "smoothed_s")
            longest = max((error for error in smoothed if error is not None), default=None)
            cells.append("-" if longest is None else f"{longest:+.1f}")
        lossy = "lossy" if loss else "clean"
        seen = "its beginning" if begins else "later"
        head = [kind, "yes" if timestamps else "no", lossy, seen]
        lines.append("| " + " | ".join([*head, *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description="Round trips against known delays.")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--airqueued", type=Path, default=Path("target/release/airqueued"))
    given = parser.parse_args()
    airqueued = given.airqueued.resolve()
    mine = finished.runs(
        given.keep,
        tasks(given.seeds),
        lambda task: {"flows": once(task, airqueued)},
        json.dumps,
    )
    print(f"\nEstimate less truth, in ms\n\n{table(mine)}")


if __name__ == "__main__":
    main()
