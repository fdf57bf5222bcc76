"""Series for figures, computed from the records of a session. All times in seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airqueue.measure.plan import FLOOD_FLOW
from airqueue.measure.session import Session

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Points:
    """Paired arrays of equal length, x ascending."""

    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """Least and greatest value of each bin of x that has any; arrays of equal length, x ascending."""

    x: Floats
    low: Floats
    high: Floats


def excess_delay_s(session: Session) -> Floats:
    """Return every packet's delay above the quiet path, NaN where lost; shape (n,).

    Where the path never was quiet, above the least delay of the run.
    """
    due = session.arrival_if_empty_ns
    if due is None:
        delay = session.run.delay_s
        return delay - np.min(delay, initial=np.inf, where=np.isfinite(delay))
    got = session.run.sent & session.run.received
    excess = np.full(len(session.run), np.nan)
    excess[got] = (session.run.received_ns[got] - due[got]) * 1e-9
    return excess


def delay_over_time(session: Session, *, flood: bool) -> Points:
    """Return delay above the quiet path against send time, of the flood or of the sparse flows.

    Of packets of the flood's size: others have another quiet delay.
    """
    run, excess = session.run, excess_delay_s(session)
    chosen = run.sent & run.received & ((run.flow == FLOOD_FLOW) == flood) & _of_flood_size(session)
    order = np.argsort(run.sent_ns[chosen], kind="stable")
    return Points(run.sent_ns[chosen][order] * 1e-9, excess[chosen][order])


def waits_while_full(session: Session) -> tuple[float, float] | None:
    """Median delays above the quiet path of the sparse flow and the flood, while kept full."""
    excess = excess_delay_s(session)
    known = session.loaded & np.isfinite(excess) & _of_flood_size(session)
    sparse, flood = excess[known & ~session.flood], excess[known & session.flood]
    if not len(sparse) or not len(flood):
        return None
    return float(np.median(sparse)), float(np.median(flood))


def throughput_over_time(session: Session, bins: int = 150) -> tuple[Points, Points]:
    """Return (received, offered) rates in bit/s of IP packets, x being the start of each bin.

    Arrivals are placed on the sender's clock by taking the quiet delay off.
    """
    run = session.run
    sent, got = run.sent, run.sent & run.received
    arrived_s = run.sent_ns[got] * 1e-9 + excess_delay_s(session)[got]
    left_s = run.sent_ns[sent] * 1e-9
    end = max(float(np.max(arrived_s, initial=0.0)), float(np.max(left_s, initial=0.0)), 1e-3)
    # Bins shorter than some tens of packets would show counting noise, not throughput.
    width = max(end / bins, 0.05)
    edges = np.arange(0.0, end + width, width)
    # As floats: sums of uint16 weights would wrap around.
    sizes = run.size_bytes.astype(np.float64)
    received, _ = np.histogram(arrived_s, edges, weights=sizes[got])
    offered, _ = np.histogram(left_s, edges, weights=sizes[sent])
    starts = edges[:-1]
    return Points(starts, received * 8 / width), Points(starts, offered * 8 / width)


def delays_quiet_and_full(session: Session) -> tuple[Floats, Floats]:
    """Return sorted delays above the quiet path: without the flood, and of the flood in hold.

    Of packets of the flood's size: others have another quiet delay.
    """
    excess = excess_delay_s(session)
    known = np.isfinite(excess) & _of_flood_size(session)
    quiet = (session.during("quiet") | session.during("after")) & known
    full = session.during("hold") & session.flood & known
    return np.sort(excess[quiet]), np.sort(excess[full])


def _of_flood_size(session: Session) -> npt.NDArray[np.bool_]:
    return np.asarray(session.run.size_bytes == session.size_bytes)


def cdf(values: Floats, steps: int = 200) -> Points:
    """Return the distribution of sorted values: x the value, y the fraction not above it."""
    count = len(values)
    rank = np.unique(np.linspace(0, max(count - 1, 0), min(count, steps)).astype(np.int64))
    return Points(values[rank], (rank + 1) / max(count, 1))


def occupancy_at_drops(session: Session) -> Points:
    """Return `Session.waiting_at_drop` (packets) against the send time of each drop."""
    held: Floats = session.waiting_at_drop
    known = np.isfinite(held)
    at: Floats = np.asarray(session.run.sent_ns[session.drops[known]], dtype=np.float64) * 1e-9
    return Points(at, held[known])


def spread(points: Points, bins: int = 240) -> Spread:
    """Return what the points span in each bin of x; bins without a point are left out."""
    if not len(points.x):
        return Spread(points.x, points.y, points.y)
    which = _bins(points, bins)
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    return Spread(
        points.x[starts],
        np.minimum.reduceat(points.y, starts),
        np.maximum.reduceat(points.y, starts),
    )


def _bins(points: Points, bins: int) -> npt.NDArray[np.int64]:
    low, high = float(points.x[0]), float(points.x[-1])
    which = ((points.x - low) / max(high - low, 1e-12) * bins).astype(np.int64)
    return np.asarray(np.minimum(which, bins - 1))


def thin(points: Points, bins: int = 400) -> Points:
    """Keep at most three points per bin of x: least, median and greatest y, so no spike is lost."""
    count = len(points.x)
    if count <= 3 * bins:
        return points
    which = _bins(points, bins)
    order = np.lexsort((points.y, which))
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    ends = np.append(starts[1:], count)
    kept = np.unique(np.concatenate([starts, (starts + ends - 1) // 2, ends - 1]))
    chosen = np.sort(order[kept])
    return Points(points.x[chosen], points.y[chosen])
