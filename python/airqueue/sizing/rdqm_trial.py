"""What simulations say of a divided buffer: figures for `airqueue.sizing.rdqm_advice`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from airqueue.sizing.advice import Column, Figure, Settings, Table
from airqueue.sizing.rdqm import RdqmSizing
from airqueue.sizing.settings import base_station
from airqueue.sizing.settings.base_station import Download
from airqueue.text import rate

LEAST_S: Final = 60.0
TRIPS: Final = 400.0
"""Longest round trips in the counted time, a quarter of them before anything is counted."""
LEGACY_RTT_S: Final = 0.05
"""Of a flow whose round trip is not known, where no other is known either."""


@dataclass(frozen=True, slots=True)
class TriedBuffer:
    """What flows get through one discipline, as IP packets, simulated.

    Flows in the order of the sizing's; half widths are of 95 % intervals.
    """

    flows_bps: tuple[float, ...]
    half_widths_bps: tuple[float, ...]
    together_bps: float
    together_half_width_bps: float

    def found(self) -> str:
        """Say what all flows get, and what the slowest does."""
        return f"{rate(self.together_bps)} together, and the slowest {rate(min(self.flows_bps))}"

    def column(self) -> tuple[tuple[float, float], ...]:
        """Return the flows' rates and half widths, and those of all together."""
        each = tuple(zip(self.flows_bps, self.half_widths_bps, strict=True))
        return (*each, (self.together_bps, self.together_half_width_bps))


@dataclass(frozen=True, slots=True)
class RdqmTrial:
    """One FIFO, RDQM in the base station and flow queueing, in the same cell."""

    fifo: TriedBuffer
    rdqm: TriedBuffer
    flow_queueing: TriedBuffer
    """mac80211's, with equal shares of the time."""
    replications: int
    duration_s: float
    """Counted, of each replication."""

    def table(self, sized: RdqmSizing) -> Table:
        """Return all side by side, flow by flow."""
        names = [flow.address or str(number) for number, flow in enumerate(sized.flows, 1)]
        columns = [each.column() for each in (self.fifo, self.rdqm, self.flow_queueing)]
        return Table(
            "simulated",
            f"Simulated, {self.replications} times {self.duration_s:g} s, with TCP like Linux's",
            (
                Column("flow", "flow"),
                Column("simulated_fifo_bps", "one FIFO"),
                Column("simulated_fifo_half_width_bps", "±"),
                Column("simulated_rdqm_bps", "RDQM"),
                Column("simulated_rdqm_half_width_bps", "±"),
                Column("simulated_flow_queueing_bps", "mac80211"),
                Column("simulated_flow_queueing_half_width_bps", "±"),
            ),
            tuple(
                (name, *(value for pair in row for value in pair))
                for name, *row in zip([*names, "together"], *columns, strict=True)
            ),
        )

    def figures(self) -> tuple[Figure, ...]:
        """Return what all flows get together."""
        return tuple(
            Figure(
                f"simulated_{name}_bps",
                f"{label}, simulated",
                tried.together_bps,
                f"± {rate(tried.together_half_width_bps)}, all flows together; "
                f"{rate(min(tried.flows_bps))} the slowest",
            )
            for name, label, tried in (
                ("fifo", "one FIFO", self.fifo),
                ("rdqm", "RDQM", self.rdqm),
                ("flow_queueing", "mac80211's queues", self.flow_queueing),
            )
        )

    def found(self) -> str:
        """Say what flows get divided, and from one FIFO."""
        return (
            f"Simulated with RDQM, the flows get {self.rdqm.found()}; with one FIFO they get "
            f"{self.fifo.found()}."
        )

    @property
    def is_worse(self) -> bool:
        """Whether RDQM gives less than one FIFO to all flows together, and to the slowest."""
        rdqm, fifo = self.rdqm, self.fifo
        margin = rdqm.together_half_width_bps + fifo.together_half_width_bps
        less = rdqm.together_bps + margin < fifo.together_bps
        return less and min(rdqm.flows_bps) < min(fifo.flows_bps)


def times_s(sized: RdqmSizing) -> tuple[float, float]:
    """Return how long is counted, and how long is simulated before that."""
    longest = max((flow.rtt_s or 0.0 for flow in sized.flows), default=0.0)
    counted_s = math.ceil(max(LEAST_S, TRIPS * longest))
    return counted_s, math.ceil(0.25 * counted_s)


def unknown_rtt_s(sized: RdqmSizing) -> float:
    """Return the round trip with which flows are simulated whose own is not known."""
    known = [flow.rtt_s for flow in sized.flows if flow.rtt_s is not None]
    return sum(known) / len(known) if known else LEGACY_RTT_S


def scenario(sized: RdqmSizing, discipline: str = "rdqm") -> Settings:
    """Return the base station: its buffer divided, one FIFO ("droptail"), or "mac80211"."""
    downloads = [
        Download(
            rate_bps,
            unknown_rtt_s(sized) if flow.rtt_s is None else flow.rtt_s,
            flow.rtt_s is not None,
        )
        for flow, rate_bps in zip(sized.flows, sized.air.rates_bps, strict=True)
    ]
    return base_station.settings(
        sized.air.phy,
        sized.air.packet_bytes,
        downloads,
        buffer_packets=sized.buffer_packets,
        discipline=discipline,
        times_s=times_s(sized),
    )
