"""Measure the kernel's TCP anew: `python -m validation.linux.tcp`."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from airqueue.linux.virtual.machine import Kernel
from validation.linux import kernel
from validation.linux.tcp import paths, results


def main() -> None:
    """Read the arguments, measure, and replace the rows of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="paths whose names contain this")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        machine = kernel.install(Path(folder))
        for path in paths.PATHS + paths.BATCHED + paths.BURSTS:
            if arguments.only in path.name:
                print(path.name, flush=True)
                samples, looks, _ = measure(machine, path)
                if path.bursts or path.batch is not None:
                    file = results.BURSTS if path.bursts else results.BATCHES
                    rows = list(results.acknowledged(path, samples, machine.release))
                    results.store(file, path, rows)
                    continue
                rows = list(results.figures(path, samples, machine.release))
                results.store(results.FIGURES, path, rows)
                results.store(results.WINDOWS, path, list(results.windows(path, looks)))
        for path in paths.RECEIVED:
            if arguments.only in path.name:
                print(path.name, flush=True)
                samples, looks, _ = measure(machine, path)
                rows = list(results.received(path, samples, looks, machine.release))
                results.store(results.RECEIVED, path, rows)
        for path in paths.ASYMMETRIC:
            if arguments.only in path.name:
                print(path.name, flush=True)
                samples, _, counted = measure(machine, path)
                rows = list(results.acks(path, samples, counted, machine.release))
                results.store(results.ACKS, path, rows)


def measure(
    machine: Kernel, path: paths.Path
) -> tuple[results.Table, results.Table, dict[str, Any]]:
    """Return the rows on the queue, the rows on the windows, and the counters of a CAKE."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {"AIRQUEUE_PATH": path.name}
        kernel.boot(machine, "validation.linux.tcp.guest", settings, folder, seed=1)
        statistics = folder / "statistics.json"
        counted = json.loads(statistics.read_text("utf-8")) if path.back_bps else {}
        return np.loadtxt(folder / "samples"), np.loadtxt(folder / "windows", ndmin=2), counted


if __name__ == "__main__":
    main()
