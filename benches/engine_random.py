"""Random networks simulated by two engines: instructions, time, and whether figures agree.

The networks are those of the property tests, written as scenarios (`cargo bench -p
airqueue-scenario --bench drawn`); seed and number name a draw. Draws that no file can describe,
or that the earlier engine refuses, are drawn again. Valgrind counts the instructions between the
network that is built and the end of its run, which has the warm-up in it. The time is that of the
fastest of many runs by the wall clock, which says something on an idle machine only.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from math import exp, isclose, log
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUNS = 15
TURNS = 3
"""Both engines in turn run a network on the clock, `RUNS` times a turn; the fastest run counts."""
WORST = 10
LEAST = 0.95
"""Below this ratio a network has become slower."""
QUANTILES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
RELATIVE = 1e-9
"""Figures that differ by less differ by the order of a sum."""
FUNCTION = "*simulate_counted*"
"""Instructions are counted within this function of `one.rs`."""


class BenchError(RuntimeError):
    """A program or file of the bench is not what the bench needs."""


@dataclass(frozen=True)
class Row:
    """A network with both engines. `instructions` and `time_s`: the earlier engine's, and ours."""

    seed: int
    draw: int
    kind: str
    about: str
    instructions: tuple[int, int]
    time_s: tuple[float, float]
    differ: tuple[str, ...]
    """Kinds of figures that differ."""

    def ratio(self, figure: str) -> float:
        """How many times as much the earlier engine takes."""
        earlier, ours = getattr(self, figure)
        return float(earlier / ours)


def built(tree: Path, bench: str) -> Path:
    """The program of a benchmark of airqueue-scenario, built in a tree."""
    command = ["cargo", "bench", "--locked", "-p", "airqueue-scenario", "--bench", bench]
    command += ["--no-run", "--message-format=json"]
    run = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable")]
    return Path(programs[-1])


def earlier(base: str, folder: Path) -> Path:
    """The program `one` of an earlier engine: a program that was built, or a commit's."""
    if Path(base).is_file():
        return Path(base).resolve()
    archive = subprocess.run(
        ["git", "archive", base], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    crate = folder / "crates" / "airqueue-scenario"
    ours = ROOT / "crates" / "airqueue-scenario" / "benches" / "one.rs"
    (crate / "benches" / "one.rs").write_text(ours.read_text())
    manifest = (crate / "Cargo.toml").read_text()
    if 'name = "one"' not in manifest:
        manifest += '\n[[bench]]\nname = "one"\nharness = false\n'
        (crate / "Cargo.toml").write_text(manifest)
    return built(folder, "one")


def draws(program: Path, seed: int, count: int) -> Iterator[dict[str, Any]]:
    """The draws 0 to `count` - 1 of a seed."""
    run = subprocess.run([program, str(seed), str(count)], stdout=subprocess.PIPE, check=True)
    return map(json.loads, run.stdout.splitlines())


def seconds(scenario: Mapping[str, Any]) -> float:
    """Simulated seconds of a scenario, the warm-up included."""

    def of(text: str) -> float:
        number, unit = text.split()
        return float(number) * {"s": 1.0, "ms": 1e-3}[unit]

    return of(scenario["warm_up"]) + of(scenario["duration"])


def refusal(program: Path, file: Path) -> str:
    """Why the engine refuses a scenario; empty if the engine does not."""
    run = subprocess.run([program, file], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def timed(program: Path, file: Path, span_s: float, runs: int) -> tuple[float, dict[str, Any]]:
    """Seconds of the fastest run, and the figures."""
    command = [program, file, f"{span_s:g}", "1", str(runs)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(run.stdout)
    return found["ns"] / 1e9, found["figures"]


def instructions(program: Path, file: Path, span_s: float) -> int:
    """Instructions of a run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        command: list[str | Path] = ["valgrind", "--tool=callgrind", "--collect-atstart=no"]
        command += [f"--toggle-collect={FUNCTION}", f"--callgrind-out-file={out}"]
        command += [program, file, f"{span_s:g}", "1", "1"]
        subprocess.run(command, capture_output=True, check=True)
        totals = [line for line in out.read_text().splitlines() if line.startswith("totals:")]
    return int(totals[0].split()[1])


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two results differ, among the figures that both have."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() & other.keys():
            yield from differences(one[key], other[key], f"{path}.{key}" if path else key)
    elif isinstance(one, float) and isinstance(other, float):
        if not isclose(one, other, rel_tol=RELATIVE):
            yield path
    elif one != other:
        yield path


def about(scenario: Mapping[str, Any]) -> str:
    """What a network is, in a few words."""
    stations = scenario["stations"]
    queues = {station.get("queue", {}).get("discipline", "") for station in stations} - {""}
    words = [scenario["phy"]["standard"], scenario.get("behaviour", "standard")]
    words.append(f"{len(stations)} stations, {len(scenario['flows'])} flows")
    capture = scenario["medium"].get("capture", "default capture")
    words.append(capture if isinstance(capture, str) else next(iter(capture)))
    return ", ".join([*words, *sorted(queues)])


def compared(programs: Sequence[Path], drawn: Mapping[str, Any], seed: int) -> Row | str:
    """A draw with both engines; a text says why there is nothing to compare."""
    if "refused" in drawn:
        return f"no file: {drawn['refused'].split(':')[0]}"
    scenario = drawn["scenario"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(json.dumps(scenario))
        if refused := refusal(programs[0], file):
            return f"earlier engine: {refused.split(',')[0]}"
        span_s = seconds(scenario)
        counts = [instructions(program, file, span_s) for program in programs]
        turns = [[timed(each, file, span_s, RUNS) for each in programs] for _ in range(TURNS)]
    times = [(min(s for s, _ in of), of[0][1]) for of in zip(*turns, strict=True)]
    paths = differences(times[0][1], times[1][1])
    # Of flows.f1.delay_mean_s the kind of figure: flows.delay_mean_s.
    kinds = {(path.split(".")[0], path.split(".")[-1]) for path in paths}
    differ = sorted(".".join(dict.fromkeys(kind)) for kind in kinds)
    return Row(
        seed=seed,
        draw=drawn["draw"],
        kind=drawn["kind"],
        about=about(scenario),
        instructions=(counts[0], counts[1]),
        time_s=(times[0][0], times[1][0]),
        differ=tuple(differ),
    )


def kept(file: Path | None, seed: int) -> list[Row]:
    """The rows of an earlier run that was broken off."""
    if file is None or not file.exists():
        return []
    rows = [Row(**json.loads(line)) for line in file.read_text().splitlines()]
    if any(row.seed != seed for row in rows):
        raise BenchError(f"{file}: it has another seed; name another file")
    return rows


def compare(
    programs: Sequence[Path], drawer: Path, count: int, seed: int, file: Path | None
) -> tuple[list[Row], Counter[str]]:
    """`count` networks, and why further draws were not compared. Rows are appended to `file`."""
    rows, refused = [], Counter[str]()
    known = {row.draw: row for row in kept(file, seed)}
    began, made = time.monotonic(), 0
    # Some draws of three are compared; eight times as many suffice.
    for drawn in draws(drawer, seed, 8 * count):
        if len(rows) == count:
            break
        row = known.get(drawn["draw"]) or compared(programs, drawn, seed)
        if isinstance(row, str):
            refused[row] += 1
            continue
        rows.append(row)
        if row.draw in known:
            continue
        made += 1
        if file is not None:
            with file.open("a") as out:
                out.write(json.dumps(asdict(row)) + "\n")
        left_s = (time.monotonic() - began) / made * (count - len(rows))
        progress = f"{len(rows)}/{count}, about {left_s / 60:.0f} min left"
        print(f"{progress}  x{row.ratio('instructions'):.2f}  {row.about}", file=sys.stderr)
    return rows, refused


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(math.fsum(map(log, ratios)) / len(ratios))


def quantile(ratios: Sequence[float], share: float) -> float:
    """The ratio below which a share of them lies, linear between two."""
    ordered = sorted(ratios)
    at = share * (len(ordered) - 1)
    low = min(int(at), len(ordered) - 2) if len(ordered) > 1 else 0
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Of instructions and time: geometric mean, quantiles, and how many are slower."""
    figures: dict[str, Any] = {"networks": len(rows)}
    for figure in ("instructions", "time_s"):
        ratios = [row.ratio(figure) for row in rows]
        figures[figure] = {
            "geometric_mean": geometric_mean(ratios),
            "quantiles": {f"{share:g}": quantile(ratios, share) for share in QUANTILES},
            "slower": sum(ratio < LEAST for ratio in ratios),
        }
    return figures


def table(rows: Sequence[Row], refused: Counter[str]) -> list[str]:
    """The lines that the bench prints."""
    groups = {"all": list(rows)}
    groups |= {kind: [row for row in rows if row.kind == kind] for kind in {r.kind for r in rows}}
    groups["equal figures"] = [row for row in rows if not row.differ]
    lines = []
    for name, group in sorted(groups.items()):
        if not group:
            continue
        for figure, of in summary(group).items():
            if figure == "networks":
                continue
            line = f"{name}, {len(group)}: {figure} x{of['geometric_mean']:.2f}, quantiles "
            line += ", ".join(f"{share}: {at:.2f}" for share, at in of["quantiles"].items())
            lines.append(f"{line}; {of['slower']} below {LEAST:g}")
    lines.append(f"the {WORST} worst by instructions:")
    for row in sorted(rows, key=lambda row: row.ratio("instructions"))[:WORST]:
        line = (
            f"  draw {row.draw}: x{row.ratio('instructions'):.2f}, time x{row.ratio('time_s'):.2f}"
        )
        lines.append(f"{line}, {row.instructions[1] / 1e6:.1f} M instructions; {row.about}")
    differ = Counter(kind for row in rows for kind in row.differ)
    different = sum(bool(row.differ) for row in rows)
    lines.append(f"{different} of {len(rows)} with other figures")
    lines += [f"  {count} {kind}" for kind, count in differ.most_common(WORST)]
    lines.append(f"{sum(refused.values())} draws were drawn again:")
    return lines + [f"  {count} {why}" for why, count in refused.most_common()]
