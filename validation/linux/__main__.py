"""Measure the kernel's disciplines anew and write kernel.csv: `python -m validation.linux`."""

from __future__ import annotations

import argparse
import datetime
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from airqueue.linux.virtual.machine import Kernel
from validation.linux import kernel, results
from validation.linux.figures import Columns, windows
from validation.linux.scenarios import SCENARIOS, Scenario


def main() -> None:
    """Read the arguments, measure, and replace the rows of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        machine = kernel.install(Path(folder))
        for scenario in SCENARIOS:
            if arguments.only in scenario.name:
                print(scenario.name, flush=True)
                results.store(scenario.name, list(rows(machine, scenario)))


def rows(machine: Kernel, scenario: Scenario) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a scenario: a window of a run each."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    for run in range(1, scenario.discipline.runs + 1):
        packets = Columns.of(scenario.arrivals(run))
        watched = packets.watched(scenario)
        measured = kernel.run(machine, scenario, run)
        at_ns, left_ns = packets.at_ns[watched], measured.left_ns[watched]
        for window in windows(scenario, run, at_ns, left_ns, measured.marked[watched]):
            yield {
                "scenario": scenario.name,
                "tc": scenario.discipline.tc,
                "kernel": machine.release,
                "measured": today,
                "run": run,
                **asdict(window),
            }


if __name__ == "__main__":
    main()
