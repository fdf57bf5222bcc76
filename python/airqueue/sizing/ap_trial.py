"""What simulations say of an access point's queue: figures for `airqueue.sizing.ap_parts`.

Nothing is simulated here: `airqueue.trials` does, of the scenario that the advice prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airqueue.sizing.advice import Column, Figure, Table, Value
from airqueue.text import percent, plural, rate, seconds


@dataclass(frozen=True, slots=True)
class TriedQueue:
    """One queue under the downloads, simulated; half widths are of 95 % intervals."""

    packets: int | None
    """The limit of a FIFO; None for flow queueing."""
    goodput_bps: float
    """TCP data of all downloads together."""
    goodput_half_width_bps: float
    ping_p50_s: float | None
    """Round trip between the access point and its slowest station, beside the downloads: median; None
    if none returned."""
    ping_p95_s: float | None


@dataclass(frozen=True, slots=True)
class ApTrial:
    """The queue that is recommended beside others, in the same cell."""

    recommended: TriedQueue
    wanted: TriedQueue
    """The shortest of those tried that TCP needs; perhaps the recommended one."""
    long: TriedQueue
    """So long that a longer one is taken to give TCP no more."""
    flow_queueing: TriedQueue
    """mac80211's."""
    share: float
    """Airtime that the downloads use, of that with the long queue."""
    lost: float
    """Airtime that they use less than with the queue that TCP wants, as a share."""
    gained: float
    """Airtime that they use more with flow queueing than with the recommended queue, as a share."""
    replications: int
    duration_s: float
    """Counted, of each replication."""

    @property
    def flow_queueing_is_sooner(self) -> bool:
        """Whether pings return sooner with flow queueing; those that never return are the latest."""
        other, own = self.flow_queueing.ping_p95_s, self.recommended.ping_p95_s
        return other is not None and (own is None or other < own)

    def table(self) -> Table:
        """Return all queues side by side."""
        return Table(
            "simulated",
            f"Simulated, {self.replications} times {self.duration_s:g} s, with TCP like Linux's",
            (
                Column("queue", "queue"),
                Column("queue_packets", "packets"),
                Column("goodput_bps", "TCP gets"),
                Column("goodput_half_width_bps", "±"),
                Column("ping_p50_s", "ping, median"),
                Column("ping_p95_s", "ping, 95 %"),
            ),
            tuple(self._rows()),
        )

    def _rows(self) -> Iterator[tuple[Value, ...]]:
        seen: set[int | None] = set()
        named = {
            "recommended": self.recommended,
            "what TCP wants": self.wanted,
            "a long queue": self.long,
            "flow queueing": self.flow_queueing,
        }
        for name, queue in named.items():
            if queue.packets not in seen:
                yield (
                    name,
                    queue.packets,
                    queue.goodput_bps,
                    queue.goodput_half_width_bps,
                    queue.ping_p50_s,
                    queue.ping_p95_s,
                )
            seen.add(queue.packets)

    def figures(self) -> tuple[Figure, ...]:
        """Return what the recommended queue gives."""
        queue = self.recommended
        return (
            Figure(
                "simulated_goodput_bps",
                "TCP gets, simulated",
                queue.goodput_bps,
                f"± {rate(queue.goodput_half_width_bps)}, of all downloads together",
            ),
            Figure(
                "simulated_utilisation_fraction",
                "airtime, simulated",
                self.share,
                f"of the airtime that the downloads use with a queue of {self._long()}, where they "
                f"get {rate(self.long.goodput_bps)}",
            ),
            Figure(
                "simulated_ping_p95_s",
                "ping under load, 95 %",
                queue.ping_p95_s,
                "simulated: 95 % of the pings that return take no longer; the median is "
                f"{seconds(queue.ping_p50_s)}",
            ),
        )

    def _long(self) -> str:
        return plural(self.long.packets or 0, "packet")

    def found(self, flows: float) -> str:
        """Say what the recommended queue gives."""
        queue = self.recommended
        downloads = f"{flows:,.7g} long downloads get" if flows != 1 else "one long download gets"
        together = " together" if flows != 1 else ""
        used = (
            "as much airtime as"
            if self.share >= 1.0
            else f"{percent(self.share)} of the airtime that they use"
        )
        return (
            f"simulated, {downloads} {rate(queue.goodput_bps)}{together}, using {used} with a queue "
            f"of {self._long()}, and 95 % of the pings sent beside the downloads return within "
            f"{seconds(queue.ping_p95_s)}."
        )

    def with_flow_queueing(self) -> str:
        """Say what flow queueing gives in its place."""
        queue = self.flow_queueing
        return (
            f"simulated, TCP gets {rate(queue.goodput_bps)} with flow queueing, and 95 % of the "
            f"pings sent beside the downloads return within {seconds(queue.ping_p95_s)}."
        )
