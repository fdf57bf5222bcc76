"""What a sweep costs beside its simulations: processor time of the command, and of its workers.

    python benches/sweeps.py [--runs 1000]

Two sweeps over a cell of ten stations: few points with many replications each, and many points with
few. The command's time is that beyond a sweep of two runs, by which the start counts once; the
workers' time has the engine and what passes its figures on.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

from airqueue.runs import Local
from airqueue.sweep import Sweep

SCENARIO = {
    "duration": "100 ms",
    "phy": {"standard": "802.11b", "rate": "11 Mb/s"},
    "stations": [{"name": "ap"}, {"name": "sta", "count": 10}],
    "flows": [{"name": "up", "from": "sta", "to": "ap", "size": "1500 B"}],
}


def cpu_s(points: int, replications: int) -> tuple[float, float]:
    """Return the processor time of this process and of the workers of a sweep."""
    values = [f"{100 + n} ms" for n in range(points)]
    swept = {
        "scenario": SCENARIO,
        "replications": {"least": replications, "most": replications},
        "parameters": {"duration": values},
    }
    before = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with tempfile.TemporaryDirectory() as folder:
        Sweep(swept).run(Path(folder) / "sweep", Local(2))
    after = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, workers = (
        b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime
        for a, b in zip(before, after, strict=True)
    )
    return own, workers


def main() -> None:
    """Print a line for each sweep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    cpu_s(1, 2)  # imports
    own, workers = cpu_s(1, 2)
    print(f"{'':24} own ms a run  workers' ms a run")
    for points in (10, runs // 4):
        replications = runs // points
        more, theirs = cpu_s(points, replications)
        each = [
            1e3 * (b - a) / (points * replications - 2) for a, b in ((own, more), (workers, theirs))
        ]
        print(
            f"{points:4} points of {replications:3} runs {each[0]:14.2f} {each[1]:18.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
