"""What happened in a step, from figures that count from the end of the warm-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airqueue.stats import jain_index

if TYPE_CHECKING:
    from airqueue.figures import FlowFigures
    from airqueue.simulate.report_types import Run

OBSERVED: Final = (
    "throughput_mbps",
    "jain_index",
    "delay_s",
    "loss_ratio",
    "collided_ratio",
    "waiting_packets",
    "data_airtime_ratio",
)
"""Names of the values of an observation of the network as a whole, in their order."""
OBSERVED_OF_FLOW: Final = ("throughput_mbps", "delay_s", "loss_ratio")
"""Names of the values of each flow."""


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A flow during a step: bit/s delivered, packets delivered and lost, and their mean delay.

    ``delay_s`` is 0 where no packet was delivered.
    """

    throughput_bps: float
    delivered_packets: int
    lost_packets: int
    delay_s: float

    @property
    def loss_ratio(self) -> float:
        """Share of packets dropped or given up among these and the delivered ones, or 0."""
        return _share(self.lost_packets, self.lost_packets + self.delivered_packets)


@dataclass(frozen=True, slots=True)
class Step:
    """A network during ``seconds`` of simulated time that end at ``time_s``, warm-up included."""

    time_s: float
    seconds: float
    flows: Mapping[str, FlowStep]
    attempts: int
    collided: int
    waiting_packets: float
    """Packets in all queues, mean over the step."""
    data_airtime_ratio: float
    """Airtime of data frames that were decoded, as a share of the step."""

    @property
    def throughput_bps(self) -> float:
        """Bit/s of all flows together."""
        return sum(flow.throughput_bps for flow in self.flows.values())

    @property
    def jain_index(self) -> float:
        """Jain's index of the flows' throughputs; 0 where nothing was delivered."""
        return jain_index([flow.throughput_bps for flow in self.flows.values()])

    @property
    def delay_s(self) -> float:
        """Mean delay of all delivered packets; 0 where no packet was delivered."""
        flows = self.flows.values()
        total = sum(flow.delay_s * flow.delivered_packets for flow in flows)
        return _share(total, sum(flow.delivered_packets for flow in flows))

    @property
    def loss_ratio(self) -> float:
        """Share of packets dropped or given up; 0 without packets."""
        lost = sum(flow.lost_packets for flow in self.flows.values())
        delivered = sum(flow.delivered_packets for flow in self.flows.values())
        return _share(lost, lost + delivered)

    @property
    def collided_ratio(self) -> float:
        """Share of all stations' attempts that collided; 0 without attempts."""
        return _share(self.collided, self.attempts)

    def of_network(self) -> list[float]:
        """Return the values of `OBSERVED`."""
        return [
            self.throughput_bps / 1e6,
            self.jain_index,
            self.delay_s,
            self.loss_ratio,
            self.collided_ratio,
            self.waiting_packets,
            self.data_airtime_ratio,
        ]

    def of_flows(self) -> list[float]:
        """Return the values of `OBSERVED_OF_FLOW`, flow by flow."""
        return [
            value
            for flow in self.flows.values()
            for value in (flow.throughput_bps / 1e6, flow.delay_s, flow.loss_ratio)
        ]


def between(before: Run, after: Run, time_s: float) -> Step:
    """Return what happened between two looks at the figures of one run."""
    seconds = after["duration_s"] - before["duration_s"]

    def grown(total: Callable[[Run], float]) -> float:
        return _growth(total(before), total(after))

    return Step(
        time_s=time_s,
        seconds=seconds,
        flows={
            name: _flow(before["flows"][name], of, (before["duration_s"], after["duration_s"]))
            for name, of in after["flows"].items()
        },
        attempts=round(grown(_attempts)),
        collided=round(grown(_collided)),
        waiting_packets=_share(grown(_packet_seconds), seconds),
        data_airtime_ratio=_share(grown(_data_airtime_s), seconds),
    )


def _flow(before: FlowFigures, after: FlowFigures, times_s: tuple[float, float]) -> FlowStep:
    delivered = after["delivered_packets"] - before["delivered_packets"]
    dropped = after["queue_dropped_packets"] - before["queue_dropped_packets"]
    given_up = after["given_up_packets"] - before["given_up_packets"]
    bits = _grown(before["throughput_bps"], after["throughput_bps"], times_s)
    counts = (before["delivered_packets"], after["delivered_packets"])
    delays_s = _grown(before["delay_mean_s"], after["delay_mean_s"], counts)
    return FlowStep(
        throughput_bps=_share(bits, times_s[1] - times_s[0]),
        delivered_packets=delivered,
        lost_packets=dropped + given_up,
        delay_s=_share(delays_s, delivered),
    )


def _grown(before: float | None, after: float | None, counts: tuple[float, float]) -> float:
    """Return by how much a total has grown, whose means over ``counts`` these are."""
    return _growth(_total(before, counts[0]), _total(after, counts[1]))


def _growth(before: float, after: float) -> float:
    """Return the difference, 0 at least: totals are rounded means times counts, and one that has not
    grown may seem to have shrunk.
    """
    return max(0.0, after - before)


def _attempts(run: Run) -> float:
    return sum(station["attempts"] for station in run["stations"].values())


def _collided(run: Run) -> float:
    stations = run["stations"].values()
    return sum(_total(station["collided_ratio"], station["attempts"]) for station in stations)


def _packet_seconds(run: Run) -> float:
    queues = run["queues"].values()
    return sum(_total(queue["length_mean_packets"], run["duration_s"]) for queue in queues)


def _data_airtime_s(run: Run) -> float:
    return _total(run["medium"]["data_airtime_ratio"], run["duration_s"])


def _total(mean: float | None, count: float) -> float:
    """Return the sum whose mean over ``count`` a figure is; 0 of a missing figure."""
    return 0.0 if mean is None else mean * count


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
