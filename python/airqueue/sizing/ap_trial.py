"""What simulations say of an access point's queue: figures for `airqueue.sizing.ap_parts`.

Nothing is simulated here: `airqueue.trials` does, of the scenario that the advice prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from airqueue.sizing.advice import Column, Figure, Table, Value
from airqueue.text import percent, plural, rate, seconds

MUCH: Final = 0.05
"""Share of the air that decides whether one queue is better than another."""


@dataclass(frozen=True, slots=True)
class TriedQueue:
    """One queue under the downloads, simulated; half widths are of 95 % intervals."""

    name: str
    packets: int | None
    """The limit of a FIFO; None for flow queueing."""
    goodput_bps: float
    """TCP data of all downloads together."""
    goodput_half_width_bps: float
    ping_p50_s: float
    """Round trip between the access point and a station, beside the downloads: median."""
    ping_p95_s: float


@dataclass(frozen=True, slots=True)
class ApTrial:
    """The queue that is recommended beside others, in the same cell."""

    recommended: TriedQueue
    wanted: TriedQueue
    """The shortest that gives TCP nearly what the long one does; perhaps the recommended one."""
    long: TriedQueue
    """So long that a longer one gives TCP no more."""
    flow_queueing: TriedQueue
    """mac80211's."""
    share: float
    """Time of the medium that the downloads use, of that with the long queue."""
    lost: float
    """What they use less than with the queue that TCP wants, as a share."""
    gained: float
    """What they use more with flow queueing than with the recommended queue, as a share."""
    replications: int
    duration_s: float
    """Counted, of each replication."""

    @property
    def flow_queueing_is_better(self) -> bool:
        """Whether flow queueing uses more of the air, or nearly as much with shorter delays."""
        sooner = self.flow_queueing.ping_p95_s < self.recommended.ping_p95_s
        return self.gained > MUCH or (self.gained > -MUCH and sooner)

    def table(self) -> Table:
        """Return all queues side by side."""
        return Table(
            "simulated",
            f"Simulated, {self.replications} times {seconds(self.duration_s)}: TCP like Linux's "
            "through each queue",
            (
                Column("queue", "queue"),
                Column("queue_packets", "packets"),
                Column("goodput_bps", "TCP gets"),
                Column("goodput_half_width_bps", "±"),
                Column("ping_p50_s", "a ping takes"),
                Column("ping_p95_s", "95 % within"),
            ),
            tuple(self._rows()),
        )

    def _rows(self) -> Iterator[tuple[Value, ...]]:
        seen: set[int | None] = set()
        for queue in (self.recommended, self.wanted, self.long, self.flow_queueing):
            if queue.packets not in seen:
                yield (
                    queue.name,
                    queue.packets,
                    queue.goodput_bps,
                    queue.goodput_half_width_bps,
                    queue.ping_p50_s,
                    queue.ping_p95_s,
                )
            seen.add(queue.packets)

    def figures(self) -> tuple[Figure, ...]:
        """Return what the recommended queue gives."""
        queue, long = self.recommended, plural(self.long.packets or 0, "packet")
        return (
            Figure(
                "simulated_goodput_bps",
                "TCP gets, simulated",
                queue.goodput_bps,
                f"± {rate(queue.goodput_half_width_bps)}, of all downloads together",
            ),
            Figure(
                "simulated_utilisation_fraction",
                "air in use, simulated",
                self.share,
                f"of what TCP gets with a queue of {long}, {rate(self.long.goodput_bps)}",
            ),
            Figure(
                "simulated_ping_p95_s",
                "a ping beside, simulated",
                queue.ping_p95_s,
                f"within this time 95 % are back; half of them within {seconds(queue.ping_p50_s)}",
            ),
        )

    def found(self, flows: float) -> str:
        """Say what the recommended queue gives."""
        queue = self.recommended
        downloads = f"{flows:,.7g} long downloads get" if flows != 1 else "one long download gets"
        together = " together" if flows != 1 else ""
        return (
            f"simulated, {downloads} {rate(queue.goodput_bps)}{together}, {percent(self.share)} of "
            f"what a very long queue gives, and 95 % of the pings beside take less than "
            f"{seconds(queue.ping_p95_s)}."
        )

    def with_flow_queueing(self) -> str:
        """Say what flow queueing gives in its place."""
        queue = self.flow_queueing
        return (
            f"simulated, TCP gets {rate(queue.goodput_bps)} with it, and 95 % of the pings beside "
            f"take less than {seconds(queue.ping_p95_s)}."
        )
