"""Loads: what fills the queues of a path while round trips are measured.

Connections of TCP and floods need an `airqueue server` at the other end. Connections slow down when
packets are lost, as all downloads do; packets of a flood come at a steady rate somewhat above the
path's, whatever is lost, and so show the full queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from airqueue import text
from airqueue.diagnose.records import (
    DIRECTIONS,
    NANOSECONDS,
    STRETCH_S,
    Direction,
    Floats,
    Load,
    LoadKind,
    OneWay,
    Stretch,
    stretches,
)
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import FLOOD_FLOW, Plan, cbr
from airqueue.measure.prober import Prober, RunProgress
from airqueue.measure.quiet import PROBE_FLOWS, baseline, farewell
from airqueue.measure.runner import Runner
from airqueue.measure.search import FILL, LEAST_OVERLOAD, Found, find_rate
from airqueue.measure.session import Session

if TYPE_CHECKING:
    from airqueue.measure.records import Run
    from airqueue.records import LoadSeriesDict

SIZE_BYTES: Final = 1500
QUIET_S: Final = 0.3
"""Of the flood's own run: its packets' delay without a queue."""
FILL_S: Final = 2.0
"""At three times the path's rate this fills a queue that delays by up to four seconds."""
HOLD: Final = 1.1
"""Offered rate while round trips are measured, as a multiple of the path's: the queue stays full."""
PROBES_PPS: Final = 10.0
BEFORE_S: Final = 1.0
"""Of the packets beside connections: their delay without a load."""
SETTLE_S: Final = 3.0
"""Until connections have filled a queue; slow start takes some round trips."""
CONNECTIONS: Final = 4
"""Of TCP, at once: as many as a page or a backup opens."""
SPARSE_PPS, SPARSE_BYTES = 20.0, 200
"""Packets of the run during which connections are open."""
TCP_HEADER_BYTES: Final = 32
"""With timestamps (RFC 7323)."""

Say = Callable[[str, float | None], None]
"""Takes what is done now, and the time left if known."""


class LoadError(Exception):
    """A load could not be made; the message is one sentence that says what to do."""


class Times(Protocol):
    """The time since the diagnosis began, in seconds, and who answers probes."""

    def clock(self) -> float:
        """Return the present time."""
        ...

    def at_s(self, monotonic_ns: int) -> float:
        """Return a time of CLOCK_MONOTONIC."""
        ...

    def answered_by(self, site: str) -> str | None:
        """Return the address that answers the probes of a leg; None before the first answer."""
        ...


def payload_share(address: str | None) -> float:
    """Return the share of data in full packets of TCP from or to an address; None: of IPv4."""
    header = 40 if address is not None and ":" in address else 20
    return (SIZE_BYTES - header - TCP_HEADER_BYTES) / SIZE_BYTES


@dataclass
class _Connected:
    """Connections of TCP with an `airqueue server`, for ``hold_s`` once the queue has filled."""

    site: str
    prober: LiveProber
    times: Times
    hold_s: float

    def _connected(
        self, ways: Sequence[Direction], words: str, say: Say
    ) -> tuple[LoadSeriesDict, OneWay]:
        """Keep connections open in some directions at once.

        Returns what they carried, and sparse packets in the prober's direction.
        """
        end_s = BEFORE_S + SETTLE_S + self.hold_s
        plan = Plan((cbr(FLOOD_FLOW, 0.0, end_s, SPARSE_PPS, SPARSE_BYTES),))

        def glimpse(progress: RunProgress) -> None:
            if progress.runs_ahead:
                say("waiting for other clients of the server", progress.waits_s)
            else:
                say(words, progress.planned_s - progress.elapsed_s)

        down, up = (CONNECTIONS if way in ways else 0 for way in DIRECTIONS)
        series, run, began_ns = self.prober.run_with_load(plan, down, up, glimpse, after_s=BEFORE_S)
        return series, self._one_way(run, began_ns, series["from_ns"])

    def _one_way(self, run: Run, began_ns: int, opened_ns: int) -> OneWay:
        left = run.sent
        delay_s: Floats = run.delay_s[left]
        known = delay_s[~np.isnan(delay_s)]
        if len(known):
            delay_s = np.round(delay_s - known.min(), NANOSECONDS)
        sent_s = np.round(self.times.at_s(began_ns) + run.sent_ns[left] * 1e-9, NANOSECONDS)
        return OneWay(self.times.at_s(opened_ns), sent_s, delay_s)

    def _load(
        self, series: LoadSeriesDict, direction: Direction, one_way: OneWay | None = None
    ) -> Load | None:
        """Return what was carried in a direction; None if nothing was."""
        at_s = np.array([self.times.at_s(ns) for ns in series["at_ns"].tolist()])
        moved = series["down_bytes"] if direction == "down" else series["up_bytes"]
        if not moved.sum():
            return None
        began_s, ended_s = self.times.at_s(series["from_ns"]) + SETTLE_S, float(at_s[-1])
        # Rows end at their times: the first row of the hold is the one that ends after its begin.
        held = at_s > began_s
        if not held.any():
            raise LoadError("The connections broke off before the queue had filled; try again.")
        if not moved[held].sum():
            raise LoadError(
                f"Nothing of the load was acknowledged for {text.seconds(ended_s - began_s)}: the "
                "queue may delay by longer. Give a longer --hold."
            )
        since_s = float(at_s[~held][-1]) if (~held).any() else began_s
        bits = 8 * moved.astype(float) / payload_share(self.times.answered_by(self.site))
        carried_bps = float(bits[held].sum()) / (ended_s - since_s)
        ends_s = np.concatenate([[self.times.at_s(series["from_ns"])], at_s])
        rates = stretches(ends_s, bits)
        return Load(
            self.site,
            direction,
            "tcp",
            began_s,
            ended_s,
            carried_bps,
            rates=rates,
            one_way=one_way,
        )


class Connections(_Connected):
    """Connections in the direction of the prober."""

    def carry_out(self, say: Say) -> Load:
        """Load the path. Raises ProbeError, LoadError.

        A server that takes no connections gets a flood instead.
        """
        direction = self.prober.direction
        words = f"{'downloading' if direction == 'down' else 'uploading'} over TCP"
        series, one_way = self._connected((direction,), words, say)
        load = self._load(series, direction, one_way)
        if load is None:
            say("the server takes no connections of TCP: loading by a flood", None)
            return Flood(self.site, self.prober, self.times, self.hold_s).carry_out(say)
        return load


class BothWays(_Connected):
    """Connections in both directions at once."""

    def carry_out(self, say: Say) -> tuple[Load, ...]:
        """Load the path, and return the load of each direction. Raises ProbeError, LoadError."""
        series, _ = self._connected(DIRECTIONS, "downloading and uploading at once", say)
        down, up = (self._load(series, way) for way in DIRECTIONS)
        if down is None or up is None:
            now, why = self.times.clock(), "The server takes no connections of TCP."
            return tuple(Load(self.site, way, "tcp", now, now, idle=why) for way in DIRECTIONS)
        return down, up


@dataclass
class Flood:
    """Packets of UDP from or to an `airqueue server`."""

    site: str
    prober: Prober
    times: Times
    hold_s: float
    kind: LoadKind = "flood"

    def carry_out(self, say: Say) -> Load:
        """Find the rate of the path, then keep its queue full for ``hold_s``. Raises ProbeError."""
        direction = self.prober.direction
        say(f"looking for the rate of the path, {direction}", None)
        runner = Runner(self.prober)
        found = find_rate(runner, SIZE_BYTES, None)
        if found is None:
            return self._idle()
        plan, meta = flood_plan(SIZE_BYTES, found, self.hold_s)
        began: list[float] = []

        def glimpse(progress: RunProgress) -> None:
            if progress.runs_ahead:
                say("waiting for other clients of the server", progress.waits_s)
                return
            began.append(self.times.clock() - progress.elapsed_s)
            say(f"loading the path, {direction}", progress.planned_s - progress.elapsed_s)

        session = Session(self.prober.run(plan, meta, glimpse))
        # Each glimpse tells when the run began, but for the time in which the glimpse was on its way.
        zero = float(np.median(began)) if began else self.times.clock() - plan.end_s
        start, end = session.phases["hold"]
        return Load(
            self.site,
            direction,
            self.kind,
            zero + start,
            zero + end,
            session.rate_pps("hold") * SIZE_BYTES * 8,
            _flood_rise_s(session),
            rates=_flood_rates(session, zero),
        )

    def _idle(self) -> Load:
        most = self.prober.max_rate_pps(SIZE_BYTES) * SIZE_BYTES * 8e-6
        why = (
            f"The path carries {most:.0f} Mb/s, all that the two ends may send: nothing was filled."
        )
        now = self.times.clock()
        return Load(self.site, self.prober.direction, self.kind, now, now, idle=why)


def flood_plan(size: int, found: Found, hold_s: float) -> tuple[Plan, dict[str, Any]]:
    """Lay out a flood: quiet, fill, hold, with sparse packets of another flow beside it."""
    fill_pps, hold_pps = (
        max(LEAST_OVERLOAD * found.rate_pps, min(factor * found.rate_pps, found.ceiling_pps))
        for factor in (FILL, HOLD)
    )
    filled = QUIET_S + FILL_S
    end = filled + hold_s
    segments = (
        *baseline(0.0, QUIET_S, found.rate_pps, (size,)),
        cbr(FLOOD_FLOW, QUIET_S, filled, fill_pps, size),
        cbr(FLOOD_FLOW, filled, end, hold_pps, size),
        cbr(PROBE_FLOWS[0], filled, end, PROBES_PPS, size),
        *farewell(end + 0.05, size),
    )
    phases = {
        "quiet": [0.0, QUIET_S],
        "fill": [QUIET_S, filled],
        "hold": [filled, end],
        "after": [end, end],
    }
    return Plan(segments), {"kind": "load", "size_bytes": size, "phases": phases}


def _flood_rise_s(session: Session) -> float | None:
    """Return how much longer the flood's packets needed in ``hold`` than packets before the flood."""
    delay = session.run.delay_s
    before = delay[session.during("quiet") & session.run.received]
    loaded = delay[session.during("hold") & session.flood & session.run.received]
    if not len(before) or not len(loaded):
        return None
    return float(np.median(loaded) - np.median(before))


def _flood_rates(session: Session, zero_s: float) -> tuple[Stretch, ...]:
    """Return the rates of a run that began at ``zero_s``.

    Clocks may differ: the packet with the least delay arrived when it left, to a stretch.
    """
    run = session.run
    arrived = run.received
    at_ns = run.received_ns[arrived]
    if not len(at_ns):
        return ()
    at_s = (at_ns - (at_ns - run.sent_ns[arrived]).min()) * 1e-9
    edges = np.arange(0.0, at_s.max() + STRETCH_S, STRETCH_S)
    bits, _ = np.histogram(at_s, edges, weights=8.0 * run.size_bytes[arrived])
    return stretches(zero_s + edges, bits)
