"""The largest packet that the path carries, found before anything is measured.

Measured packets have the don't-fragment bit (IPv6: are never fragmented by routers), so a packet that
is too large for the path is lost, with an ICMP message or without one (a black hole, RFC 2923). Like
RFC 8899 this module believes only arrivals: sparse packets of several sizes, in the direction that is
measured, each several times; what never arrives does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from airqueue import text
from airqueue.measure.plan import FLOOD_FLOW, PROBE_FLOW, Plan, Segment
from airqueue.measure.records import Run
from airqueue.measure.result import PathMtu
from airqueue.measure.runner import Runner

KIND = "path_mtu"
COPIES = 6
"""Copies of each size: with 10 % loss one size in a million is taken for too large."""
PROBE_BPS = 400e3
"""Rate of these packets: sparse on all but the slowest paths, where the queue keeps them."""
LEAST_S = 0.3
AT_ONCE = 12
"""Sizes tried in one run."""
SMALLEST = 576
"""Every IPv4 host takes packets of this size (RFC 791)."""
LEAST_RATIO = 1.5
"""Sizes nearer to each other do not tell packets from bytes."""


def fitting_sizes(runner: Runner, sizes: Sequence[int], profile: str) -> tuple[int, ...]:
    """Return the packet sizes to measure with: those wanted, or what the path carries of them.

    Runs that were stored before there was this search go on with their sizes.
    """
    if runner.next_stored_kind not in (None, KIND):
        return tuple(sizes)
    found, tried, index = None, sorted({*sizes, min(SMALLEST, *sizes)}), 0
    while tried:
        run = runner.run(*probe_plan(tried, sizes, profile, index))
        index += 1
        found = path_mtu([r for r in runner.runs if r.meta.get("kind") == KIND])
        if found is None or found.bytes >= max(sizes):
            return tuple(sizes)
        too_large = min(s for s in _sizes(runner.runs) if s > found.bytes)
        inner = between(found.bytes, too_large)
        # The sending kernel may refuse all others: what is known to fit lets the run begin.
        tried = [found.bytes, *inner] if inner and run.end != "cancelled" else []
    return tuple(sizes) if found is None else replaced(sizes, found.bytes)


def between(low: int, high: int) -> list[int]:
    """Return sizes above ``low`` and below ``high``: all, or as many as one run tries."""
    inner = high - low - 1
    if inner <= AT_ONCE:
        return list(range(low + 1, high))
    return sorted({low + round((k + 1) * (high - low) / (AT_ONCE + 1)) for k in range(AT_ONCE)})


def replaced(sizes: Sequence[int], largest: int) -> tuple[int, ...]:
    """Return sizes up to ``largest`` in the place of those wanted, far enough from each other."""
    fitting = [s for s in sizes if s * LEAST_RATIO <= largest]
    missing = len(sizes) - 1 - len(fitting)
    # The ratios of the sizes wanted, where a smaller one does not fit beside the largest.
    scaled = [round(s * largest / max(sizes)) for s in sizes if s not in fitting][1:]
    return tuple(sorted({largest, *fitting, *scaled[:missing]}, reverse=True))


def probe_plan(
    tried: Sequence[int], wanted: Sequence[int], profile: str, index: int
) -> tuple[Plan, dict[str, Any]]:
    """Lay out copies of every size, interleaved; then small packets, which end the run early."""
    length_s = max(LEAST_S, COPIES * sum(tried) * 8 / PROBE_BPS)
    gap_s = length_s / COPIES / len(tried)
    small = min(tried)
    segments = (
        *(Segment(PROBE_FLOW, k * gap_s, length_s, COPIES, size) for k, size in enumerate(tried)),
        *(Segment(FLOOD_FLOW, length_s * (1 + 0.1 * k), 0.0, 1, small) for k in (2, 3)),
    )
    meta = {"kind": KIND, "profile": profile, "size_bytes": max(tried), "index": index}
    says = f"looking for the path MTU, {min(tried)} to {max(tried)} bytes"
    return Plan(segments), {**meta, "sizes_wanted": list(wanted), "says": says}


def _sizes(runs: Sequence[Run]) -> list[int]:
    probes = [r.size_bytes for r in runs if r.meta.get("kind") == KIND]
    return [int(s) for s in np.unique(np.concatenate(probes))] if probes else []


def path_mtu(runs: Sequence[Run]) -> PathMtu | None:
    """Return the size of the largest packet that arrived; None without such runs or arrivals.

    ``at_least``: a packet that is larger by a byte was not tried.
    """
    probes = [r for r in runs if r.meta.get("kind") == KIND]
    arrived = [int(r.size_bytes[r.received].max()) for r in probes if np.any(r.received)]
    if not arrived:
        return None
    return PathMtu(max(arrived), at_least=max(arrived) + 1 not in _sizes(probes))


def warning(runs: Sequence[Run]) -> str | None:
    """Return what to say where the sizes wanted did not fit."""
    found = path_mtu(runs)
    if found is None:
        return None
    wanted = next(r.meta["sizes_wanted"] for r in runs if r.meta.get("kind") == KIND)
    if found.bytes >= max(wanted):
        return None
    used = replaced(wanted, found.bytes)
    carries = (
        f"IP packets of {found.bytes} bytes at least, but not those wanted"
        if found.at_least
        else f"IP packets of at most {found.bytes} bytes"
    )
    return (
        f"The path carries {carries}: measured with "
        f"{text.listed([str(s) for s in used])} bytes instead of "
        f"{text.listed([str(s) for s in wanted])}."
    )
