"""Whether the delays of an emulation can be trusted: how late the emulator was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airqueue import text

if TYPE_CHECKING:
    from airqueue.records import EmulationDict

MOST_LATE_RATIO: Final = 0.05
"""Above this share of packets that were more than 1 ms late, an emulator has not kept up."""
MOST_CPU_RATIO: Final = 0.9
"""Above this share of one processor, an emulator has no reserve for bursts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the delays of a run are worth."""

    trusted: bool
    within_s: float | None
    """99th percentiles of late reads and late writes together; None where no packet passed, or delays
    cannot be trusted."""
    sentence: str


def judge(report: EmulationDict, device_drops: Mapping[str, int]) -> Verdict:
    """Judge an engine's report, and the drops of the devices before the engine, by node."""
    problems = list(_problems(report, device_drops))
    if problems:
        said = f"the emulator could not keep up: {text.listed(problems)}"
        return Verdict(False, None, f"{said}; do not trust the delays of this run")
    p99_s, max_s = report["late_p99_s"], report["late_max_s"]
    read_p99_s, read_max_s = report["read_late_p99_s"], report["read_late_max_s"]
    if p99_s is None or max_s is None or read_p99_s is None or read_max_s is None:
        return Verdict(True, None, "no packet passed between the real nodes")
    # A packet may be read late and written late.
    within_s = max(math.ceil((p99_s + read_p99_s) * 1e4 - 1e-6), 1) / 1e4
    max_s = max(max_s, read_max_s)
    return Verdict(
        True,
        within_s,
        f"delays of this run can be trusted to within {within_s * 1e3:.1f} ms "
        "(99th percentiles of late reads and writes together; "
        f"the latest packet was {text.seconds(max_s)} late)",
    )


def _problems(report: EmulationDict, device_drops: Mapping[str, int]) -> Iterator[str]:
    late_ratio, cpu_ratio = report["late_ratio"], report["cpu_ratio"]
    if late_ratio is not None and late_ratio > MOST_LATE_RATIO:
        latest = text.seconds(report["late_max_s"])
        yield f"{text.percent(late_ratio)} of packets were more than 1 ms late, the latest {latest}"
    read_late_ratio = report["read_late_ratio"]
    if read_late_ratio is not None and read_late_ratio > MOST_LATE_RATIO:
        latest = text.seconds(report["read_late_max_s"])
        share = text.percent(read_late_ratio)
        yield f"{share} of packets may have waited more than 1 ms to be read, the latest {latest}"
    for node, dropped in device_drops.items():
        if dropped:
            yield f"the kernel dropped {text.plural(dropped, 'packet')} of {node} before the emulator"
    if report["unwritten_packets"]:
        yield f"{text.plural(report['unwritten_packets'], 'packet')} could not be written"
    full = report["refused"].get("full")
    if full:
        yield f"{text.plural(full['packets'], 'packet')} found the emulator's memory full"
    if cpu_ratio is not None and cpu_ratio > MOST_CPU_RATIO:
        yield f"the emulator used {text.percent(cpu_ratio)} of a processor"
