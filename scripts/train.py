"""What the compiler learns the engine's usual ways from: each example of a simulation, shortened.

`scripts/wheel.sh` has maturin run this script with an extension that counts, and then build the one
that is kept. The networks of the benchmarks are not among the examples.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.resources import files

from airqueue.simulate import Scenario

SIMULATED_S = 3.0
"""Of each example after its warm-up."""


def main() -> None:
    """Simulate the examples, one after the other in this process: its end writes the counts."""
    folder = files("airqueue").joinpath("examples", "simulate")
    for example in sorted(folder.iterdir(), key=lambda file: file.name):
        if not example.name.endswith(".toml"):
            continue
        scenario = Scenario(tomllib.loads(example.read_text("utf-8")))
        warm_up_s = min(scenario.warm_up_s, SIMULATED_S)
        times = {"duration": f"{warm_up_s + SIMULATED_S} s", "warm_up": f"{warm_up_s} s"}
        try:
            scenario.changed(times).replicate()
        except ValueError as error:
            # Its changes come later than that.
            print(f"{example.name}: whole, {error}", file=sys.stderr)
            scenario.replicate()


if __name__ == "__main__":
    main()
