"""Traffic for Linux's disciplines and for ours, and the settings of both.

The guest reads this file too: it needs only Python's standard library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

RATE_BPS = 10_000_000
"""Rate of the token bucket behind each discipline, with link-layer bytes."""
BURST_BYTES = 1540
"""Depth of the token bucket: one packet, so that packets leave one at a time."""
LINK_LAYER_BYTES = 14
"""Bytes that Linux counts in addition to an IP packet on Ethernet."""
HANDLE = 0x10
"""Handle of the discipline under the token bucket."""

_SECOND = 1_000_000_000
_GOLDEN = 0.6180339887498949
_LEAD_S = 0.3


class Arrival(NamedTuple):
    """An offered packet."""

    at_ns: int
    flow: int
    size_bytes: int
    """Size of the IP packet."""
    ect: bool
    """Whether the packet is ECN-capable."""
    dscp: int = 0
    source: int = 0
    destination: int = 0
    """Source and destination host."""


@dataclass(frozen=True, slots=True)
class Source:
    """Packets of one size at a constant rate, always or on and off."""

    flow: int
    load: float
    """Rate while on, as a share of the bottleneck's rate."""
    size_bytes: int = 1000
    ect: bool = False
    on_s: float = 0.0
    off_s: float = 0.0
    """Length of a cycle; 0: always on."""
    start_s: float = 0.0
    dscp: int = 0
    source: int = 0
    destination: int = 0
    uneven: bool = False
    """Whether packets are spread over their periods, by multiples of the golden ratio: without this
    option many constant rates fall into step with each other."""

    def arrivals(self, seconds: float) -> list[Arrival]:
        """Return its packets from time zero on."""
        period_s = (self.size_bytes + LINK_LAYER_BYTES) * 8 / (self.load * RATE_BPS)
        found: list[Arrival] = []
        at = 0
        while True:
            late = at * _GOLDEN % 1.0 if self.uneven else 0.0
            sending_s = (at + late) * period_s
            at_s = self.start_s + sending_s
            if self.on_s:
                at_s += sending_s // self.on_s * self.off_s
            if at_s >= seconds:
                return found
            at_ns = round(at_s * _SECOND)
            found.append(
                Arrival(
                    at_ns,
                    self.flow,
                    self.size_bytes,
                    self.ect,
                    self.dscp,
                    self.source,
                    self.destination,
                )
            )
            at += 1


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Sources, their duration, and the windows of time with separate figures."""

    name: str
    title: str
    sources: Sequence[Source]
    windows_s: Sequence[tuple[float, float]]
    watched: frozenset[int] | None = None
    """The flows whose packets the figures count; None: all."""

    @property
    def seconds(self) -> float:
        """End of the last window."""
        return max(end for _, end in self.windows_s)

    def arrivals(self) -> list[Arrival]:
        """Return all packets in the order in which they are offered."""
        return sorted(packet for one in self.sources for packet in one.arrivals(self.seconds))


@dataclass(frozen=True, slots=True, eq=False)
class Discipline:
    """A queue discipline in the syntax of tc and of a scenario's `queue` table."""

    name: str
    tc: str
    queue: Mapping[str, Any]
    runs: int = 1
    """Number of runs; more than one if random numbers are drawn."""
    interval_s: float = 0.0
    """Interval of its own clock; runs begin at different times of this interval."""
    variant: str = ""
    """Name of the setting, if a discipline has several."""
    traffic: Sequence[Traffic] = ()
    """Its traffic; by default the traffic of all disciplines."""
    names_queues: bool = True
    """Whether a socket's priority names a queue of the discipline."""

    @property
    def label(self) -> str:
        """As the results call it."""
        return f"{self.name} {self.variant}".strip()


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A discipline under some traffic."""

    discipline: Discipline
    traffic: Traffic

    @property
    def name(self) -> str:
        """As the results call it."""
        return f"{self.discipline.label} {self.traffic.name}"

    def start_s(self, run: int) -> float:
        """Return the start of the traffic in a run, counted from 1."""
        if not self.discipline.interval_s:
            return 0.0
        return _LEAD_S + self.discipline.interval_s * (run - 1) / self.discipline.runs

    def arrivals(self, run: int) -> list[Arrival]:
        """Return the packets offered in a run.

        A discipline with a clock gets a packet at time zero, long before the traffic: this packet
        starts the clock of ours, while the kernel's runs already.
        """
        start_s = self.start_s(run)
        packets = self.traffic.arrivals()
        if not start_s:
            return packets
        start_ns = round(start_s * _SECOND)
        later = [packet._replace(at_ns=packet.at_ns + start_ns) for packet in packets]
        return [packets[0]._replace(at_ns=0), *later]


_WINDOWS = ((0.0, 2.0), (2.0, 10.0), (10.0, 20.0))

TRAFFIC = (
    Traffic("overload", "constant, 1.25 times the rate", (Source(0, 1.25),), _WINDOWS),
    Traffic(
        "half-ect",
        "constant, 1.25 times the rate, half of it ECN-capable",
        (Source(0, 0.625), Source(1, 0.625, ect=True, start_s=0.0004)),
        _WINDOWS,
    ),
    Traffic(
        "on-off",
        "twice the rate for 0.4 s, 0.6 s of silence",
        (Source(0, 2.0, on_s=0.4, off_s=0.6, uneven=True),),
        ((0.0, 10.0), (10.0, 20.0)),
    ),
    Traffic(
        "many",
        "40 flows of 500 to 1500 bytes, rates 1 to 40, 1.3 times the rate in all",
        tuple(
            Source(
                flow,
                1.3 * (flow + 1) / 820,
                size_bytes=(1500, 1200, 1000, 500)[flow % 4],
                ect=flow % 2 == 0,
                start_s=0.0017 * flow,
                uneven=True,
            )
            for flow in range(40)
        ),
        _WINDOWS,
    ),
)

_FOUR_CLASSES = (
    Source(0, 0.4, uneven=True),
    Source(1, 0.2, dscp=8, start_s=0.0003, uneven=True),
    Source(2, 0.5, dscp=34, start_s=0.0005, uneven=True),
    Source(3, 0.3, dscp=46, start_s=0.0007, uneven=True),
)

CLASSES = (
    Traffic(
        "hosts",
        "eight flows of one host, 0.8 times the rate, and one of another, 0.6 times; figures of that",
        (
            *(
                Source(flow, 0.1, source=1, destination=1, start_s=0.0017 * flow, uneven=True)
                for flow in range(8)
            ),
            Source(8, 0.6, source=2, destination=2, uneven=True),
        ),
        _WINDOWS,
        watched=frozenset({8}),
    ),
    Traffic(
        "voice",
        "best effort 0.4, bulk 0.2, video 0.5 and voice 0.3 times the rate; figures of voice",
        _FOUR_CLASSES,
        _WINDOWS,
        watched=frozenset({3}),
    ),
    Traffic(
        "bulk",
        "the same; figures of bulk",
        _FOUR_CLASSES,
        _WINDOWS,
        watched=frozenset({1}),
    ),
)

_PIE_UPDATE_S = 0.03

_LINK_LAYER = {"link_layer": f"{LINK_LAYER_BYTES} B"}

DISCIPLINES = (
    Discipline(
        "codel",
        "codel limit 1000 target 5ms interval 100ms ecn",
        {
            "discipline": "codel",
            "limit": "1000 packets",
            "codel": {"ecn": True, "behaviour": "linux"},
            **_LINK_LAYER,
        },
    ),
    Discipline(
        "fq_codel",
        # Linux puts a packet whose priority names a queue of the discipline into this queue; ours
        # hashes, and among so many queues no two of the flows share one.
        "fq_codel limit 1000 flows 65535 quantum 1514 target 5ms interval 100ms ecn",
        {
            "discipline": "fq_codel",
            "limit": "1000 packets",
            "fq_codel": {"flows": 65535, "behaviour": "linux"},
            **_LINK_LAYER,
        },
    ),
    Discipline(
        "red",
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.1 bandwidth 10mbit"
        " ecn",
        {
            "discipline": "red",
            "limit": "400000 B",
            "red": {
                "min": "30000 B",
                "max": "90000 B",
                "mean_packet": "1000 B",
                "burst": "55 packets",
                "probability": 0.1,
                "rate": "10 Mb/s",
                "ecn": True,
            },
            **_LINK_LAYER,
        },
        runs=5,
    ),
    Discipline(
        "pie",
        # This kernel has 100 ticks a second, and its timers go off a tick after they are due:
        # 20 ms are 30.
        "pie limit 1000 target 15ms tupdate 20ms alpha 2 beta 20 ecn",
        {
            "discipline": "pie",
            "limit": "1000 packets",
            "pie": {
                "update": f"{_PIE_UPDATE_S:g} s",
                "ecn": True,
                "mean_packet": "1514 B",
                "behaviour": "linux",
            },
            **_LINK_LAYER,
        },
        runs=10,
        interval_s=_PIE_UPDATE_S,
    ),
    Discipline(
        "sfq",
        # As with fq_codel: the flows name their queues to Linux, and our flows never share one.
        "sfq limit 1000 depth 127 flows 128 divisor 65536 quantum 1514",
        {
            "discipline": "sfq",
            "limit": "1000 packets",
            "sfq": {"divisor": 65536},
            **_LINK_LAYER,
        },
    ),
    Discipline(
        "cake",
        # A memory limit that nothing reaches: Linux counts its buffers there.
        "cake unlimited besteffort triple-isolate raw rtt 100ms memlimit 200mb",
        {
            "discipline": "cake",
            "cake": {"tins": "besteffort", "memory_limit": "209715200 B"},
            **_LINK_LAYER,
        },
        runs=3,
        names_queues=False,
    ),
    Discipline(
        "cake",
        "cake bandwidth 8mbit diffserv4 triple-isolate overhead 18 mpu 64 rtt 100ms memlimit 200mb",
        {
            "discipline": "cake",
            "cake": {
                "rate": "8 Mb/s",
                "tins": "diffserv4",
                "overhead": "18 B",
                "mpu": "64 B",
                "memory_limit": "209715200 B",
            },
            **_LINK_LAYER,
        },
        runs=3,
        variant="shaped",
        traffic=CLASSES,
        names_queues=False,
    ),
)

SCENARIOS = tuple(
    Scenario(queue, traffic) for queue in DISCIPLINES for traffic in queue.traffic or TRAFFIC
)


def scenario(name: str) -> Scenario:
    """Return the scenario of that name."""
    return next(one for one in SCENARIOS if one.name == name)
