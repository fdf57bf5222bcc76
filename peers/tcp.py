"""TCP over one cell of 802.11b with an access point, as ns-2.35 is given it, and what it made of it.

`ns2/flows.tcl` runs `Transfers`, connections without an end; `ns2/sessions.tcl` runs `Sessions`,
files with time to think between them. What they share is in `ns2/tcp.tcl` and `ns2/wireless.tcl`.

**The cell.** MAC and layer are those of the saturated cells (docs/peers.md): long preambles, data
at 11 Mb/s unless a flow says otherwise, 34 bytes of MAC around an IP packet, backoff uniform
0..CW-1. The access point stands in the middle of a circle of 10 m, each flow's station on it,
evenly spread. With RTS/CTS the place matters, as ns-2 rounds the NAV to whole microseconds: on
100 m ten connections get 1 % less. No routing is on the air, and ARP asks once for each address at
the start.

**Queues.** Each node has a drop-tail interface queue between link layer and MAC. A limit of Q
frames means Q - 1 waiting (`length + 1 >= limit` drops) and one more in the MAC, which took it
before the backoff. The link layer holds every packet for 25 us, on its way down and on its way up.
A queue of `LOSSLESS` frames never overflows here.

**Wires.** A server stands behind a link of 100 Mb/s and its delay, one way, each way, with a queue
that never overflows. Flows with the same delay share server and link. They are a queue and a delay
put between the agent and the access point's node: no hierarchical routing, so ns-2 has a little
less to compute than usual. A flow without a delay ends in the access point itself.

**Agents.** `one-way` is Agent/TCP/Newreno with Agent/TCPSink: 40 bytes of header on data, SYN and
acknowledgements; number 0 is a SYN without data and its answer, after which the window is two
segments; no more than that of a handshake. Timestamps and SACK are off, `tcpTick_` is 10 ms,
`minrto_` 0.2 s, the first timeout 3 s, `maxrto_` 60 s. ssthresh starts at the window. With d = 2
the sink is Agent/TCPSink/DelAck: the first segment in order that waits starts the timer, the second
is acknowledged. For larger d the same is done in Tcl around the plain sink
(`Application/AckEvery`); with d = 2 both give one connection the same throughput to the last
segment.

`full` is Agent/TCP/FullTcp/Newreno at both ends with `segsperack_` = d and `interval_` = the delay.
Its handshake has three packets, the third with the first data. The timer is BSD's: at every
multiple of `interval_` of simulated time it acknowledges what waits, however short it has waited.
At 40 ms and connections that share the air that costs much: ten connections with d = 3 and a window
of 3 get 2.99 Mb/s, and 3.18 Mb/s where the timer starts with the first segment that waits. A
receiver acknowledges at once what is out of order or fills a gap.

Thirty such connections with windows of 1000 fill a queue of 100 s, which is more than `maxrto_`:
from 300 s on they resend what was not lost and get less than 1 Mb/s. The references end at 100 s.

**Times.** Transfers start at random in the second after 0.1 s. Each station of `Sessions` begins
with thinking. Figures are taken from ``warm_up_s`` on for ``seconds``. A flow's throughput counts
segments that reached the receiver in order, without headers; a session counts if it ends in that
time. ns-2 counts the slots of an interrupted backoff by dividing times and cutting off, and what the
division leaves depends on the time itself: one connection with a window of 1 gets 2.325 Mb/s up to
100 s, 2.333 Mb/s from 200 to 250 s and 2.331 Mb/s from 500 s on, with an error of 0.001.

**Seeds.** ``seed`` seeds ns-2's own generator (backoff), the start times, and with 1000 times
itself plus its number the sizes and pauses of each station.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from scipy.special import zeta

from .install import HERE, UnavailableError, checked, install
from .scenario import RATES_MBPS

LOSSLESS = 100_000
"""Frames that no queue of these scenarios ever holds."""
UNLIMITED = 10_000
"""Segments: a window that no connection of these scenarios fills."""
PARETO_SHAPE = 1.5
AGENTS = ("one-way", "full")


@dataclass(frozen=True)
class Flow:
    """One connection of one station."""

    direction: str = "down"
    """down: to the station; up: from it."""
    delay_ms: float | None = None
    """One way, of the wired link to the server; ``None``: the access point is the server."""
    mbps: float = 11.0
    """Data rate of the station, and of the access point towards it."""

    def __post_init__(self) -> None:
        if self.direction not in ("down", "up") or self.mbps not in RATES_MBPS["b"]:
            raise ValueError(f"{self}: up or down, and a rate of 802.11b are needed")
        if self.delay_ms is not None and self.delay_ms < 0:
            raise ValueError(f"{self}: a delay of 0 ms or more is needed")

    def __str__(self) -> str:
        delay = "ap" if self.delay_ms is None else f"{self.delay_ms:g}"
        return f"{self.direction}:{delay}:{self.mbps:g}"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What transfers and sessions have in common."""

    kind: str
    """Which question it belongs to."""
    agents: str = "one-way"
    window: int = UNLIMITED
    """Segments: what the receiver lets be outstanding."""
    ack_every: int = 1
    """d: segments that one acknowledgement answers."""
    ack_delay_s: float = 0.04
    segment_bytes: int = 1460
    control_mbps: float = 1.0
    rts: bool = False
    queue_frames: int = LOSSLESS
    """ns-2's limit of every interface queue."""
    warm_up_s: float = 30.0
    seconds: float = 570.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.agents not in AGENTS:
            raise ValueError(f"agents {self.agents!r}: {' or '.join(AGENTS)} is needed")
        if min(self.window, self.ack_every, self.segment_bytes, self.seed) < 1:
            raise ValueError(f"{self}: window, ack_every, segment_bytes and seed are 1 or more")
        if self.queue_frames < 2 or self.seconds <= 0 or self.warm_up_s < 1:
            raise ValueError(f"{self}: queue_frames >= 2, seconds > 0, warm_up_s >= 1 are needed")

    def options(self) -> dict[str, str]:
        """Arguments that both scripts have."""
        return {
            "agents": self.agents,
            "window": str(self.window),
            "every": str(self.ack_every),
            "ack_delay": f"{self.ack_delay_s:g}",
            "segment_bytes": str(self.segment_bytes),
            "data_mbps": "11",
            "control_mbps": f"{self.control_mbps:g}",
            "preamble": "long",
            "rts": str(int(self.rts)),
            "queue": str(self.queue_frames),
            "warm_up": f"{self.warm_up_s:g}",
            "seconds": f"{self.seconds:g}",
            "seed": str(self.seed),
        }


@dataclass(frozen=True, kw_only=True)
class Transfers(Scenario):
    """Connections that always have data, each of a station of its own."""

    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.flows:
            raise ValueError("one flow or more is needed")

    def __str__(self) -> str:
        words = [self.kind, counted(self.flows), f"W={self.window} d={self.ack_every}", self.agents]
        words += [f"{self.queue_frames} frames"] * (self.queue_frames < LOSSLESS)
        return " ".join(words)


@dataclass(frozen=True, kw_only=True)
class Sessions(Scenario):
    """Stations that fetch files from the access point and think in between."""

    stations: int
    law: str = "exponential"
    """Of file sizes: exponential or pareto."""
    mean_bytes: float = 30_000.0
    think_s: float = 10.0
    """Mean of exponential pauses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.law not in ("exponential", "pareto") or self.stations < 1:
            raise ValueError(f"{self}: exponential or pareto, and one station or more are needed")

    def __str__(self) -> str:
        return f"{self.kind} {self.stations} stations {self.law} W={self.window} {self.agents}"

    @property
    def mean_segments(self) -> float:
        """Of a file: the sum of P(X > j L) over j = 0, 1, ..."""
        segments = self.mean_bytes / self.segment_bytes
        if self.law == "exponential":
            return 1 / -math.expm1(-1 / segments)
        least: float = segments * (1 - 1 / PARETO_SHAPE)
        below = math.floor(least) + 1
        beyond = math.pow(least, PARETO_SHAPE) * float(zeta(PARETO_SHAPE, below))
        return below + beyond


def counted(flows: Iterable[Flow]) -> str:
    """Flows as the references have them: ``3*up:5:11 down:5:11``."""
    words = []
    for flow, same in groupby(flows):
        count = len(list(same))
        words.append(f"{count}*{flow}" if count > 1 else str(flow))
    return " ".join(words)


def parse_flows(text: str) -> tuple[Flow, ...]:
    """What `counted` wrote."""
    flows: list[Flow] = []
    for word in text.split():
        count, _, flow = word.rpartition("*")
        direction, delay, mbps = flow.split(":")
        delay_ms = None if delay == "ap" else float(delay)
        flows += [Flow(direction, delay_ms, float(mbps))] * int(count or 1)
    return tuple(flows)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run cost."""

    simulator: str
    cpu_s: float
    """User and system time of the event loop, warm-up included."""
    simulated_s: float

    @property
    def cpu_s_per_sim_s(self) -> float:
        return self.cpu_s / self.simulated_s


@dataclass(frozen=True, kw_only=True)
class Transferred(Run):
    """Figures of `Transfers`."""

    flow_bps: Sequence[float]
    """Data without headers that arrived in order."""
    ap_queue_frames: float | None
    """Mean number of frames waiting at the access point; ``None`` if nobody watched."""


@dataclass(frozen=True, kw_only=True)
class Browsed(Run):
    """Sums over sessions of `Sessions`, and quantiles."""

    sessions: float
    delay_s: float
    segments: float
    # Who does not know each session does not know these.
    segments_squared: float = math.nan
    delay_s_times_segments: float = math.nan
    delay_p50_s: float = math.nan
    """Mean over stations of the median of each one's sessions."""
    delay_p95_s: float = math.nan
    """95th percentile of all sessions of a run."""


def run(scenario: Transfers | Sessions, *, watch: bool = True) -> Transferred | Browsed:
    """In ns-2; without ``watch`` at no cost that the simulation would not have."""
    if isinstance(scenario, Transfers):
        return run_transfers(scenario, watch=watch)
    return run_sessions(scenario)


def run_transfers(scenario: Transfers, *, watch: bool = True) -> Transferred:
    options = scenario.options() | {
        "flows": " ".join(map(str, scenario.flows)),
        "watch": str(int(watch)),
    }
    return Transferred(**run_script("flows.tcl", options))  # type: ignore[arg-type]


def run_sessions(scenario: Sessions) -> Browsed:
    options = scenario.options() | {
        "stations": str(scenario.stations),
        "law": scenario.law,
        "mean_bytes": f"{scenario.mean_bytes:g}",
        "think_s": f"{scenario.think_s:g}",
    }
    return Browsed(**run_script("sessions.tcl", options))  # type: ignore[arg-type]


def run_script(name: str, options: dict[str, str]) -> dict[str, object]:
    """The line of JSON that a script of ns-2 prints."""
    return run_traced(name, options)[0]


def run_traced(name: str, options: dict[str, str]) -> tuple[dict[str, object], list[str]]:
    """The line of JSON, and what a script of ns-2 prints besides."""
    words = [word for pair in options.items() for word in pair]
    answer = checked([str(install("ns2")), str(HERE / "ns2" / name), *words], f"{name} in ns-2")
    lines = answer.splitlines()
    figures = [line for line in lines if line.startswith("{")]
    if len(figures) != 1:
        raise UnavailableError(f"{name} printed no figures: {answer.strip()[-400:]}")
    parsed: dict[str, object] = json.loads(figures[0])
    return parsed, lines
