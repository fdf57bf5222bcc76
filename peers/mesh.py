"""TCP and calls over several hops of 802.11b, as ns-2.35 is given them, and what it made of them.

`ns2/mesh.tcl` runs them; MAC, layer, queues and agents are those of `tcp.py`.

**Places.** A `chain` has one flow from its first node to its last, ``spacing_m`` apart. A
`parking-lot` is a chain whose first three nodes each have a flow to the last, the gateway. A `cross`
has four arms with the gateway in the middle and a flow from the end of each. ns-2's two-ray ground
has frames decoded up to 250 m and the medium found busy up to 550 m. With 200 m between nodes those
three hops apart do not hear each other; `CLOSE_M` has for each length of a chain a distance at which
all its nodes do, and a frame still has every hop to go, as routes are given.

**Routes.** Each node has for each neighbour on a way a link layer of its own that addresses its
frames to it, all of them above one interface queue and one MAC. Nothing but the flows' packets is on
the air: no routing, no ARP. The link layer's 25 us are there on the way down and on the way up, at
relays too.

**Queues.** ``frames`` has ns-2's limit of the interface queue of each node on a way, the source first
and the last node, which sends acknowledgements, at the end; the MAC's frame counts (`tcp.py`). Small
ones come in two conventions: the source's queue may be the first of those that a sum of small
buffers is spread over, or hold 50 frames while the path's begin behind it.

**Calls.** With ``calls`` each source of TCP sends beside it 25 packets of 40 bytes a second to the
same destination, 8 kb/s. Their header is in the 40 bytes.

**Round-trip times.** Two figures, as ns-2 has none but what it computes for its timer:

- `rtt_s` is the mean over acknowledgements of new data of the time since the newest segment that
  they acknowledge was sent, if it was sent once (Karn's rule). From the trace of agents, so that the
  wait in the source's interface queue is in it. The engine's ``rtt_mean_s`` is the same.
- `smoothed_rtt_s` is what the sender held in ``srtt_``, looked at twenty times a second. ns-2 times
  one segment at a time, in ticks of 10 ms. It is what scripts report that look at a sender's
  variables.

A plain mean of what one segment at a time says is 7 to 13 % less than either: of a time with long
round trips it has few. An average over time, as that of ``srtt_``, has not that bias.

**Drops.** By node: what its interface queue had no room for (`overflows`), and what its MAC gave up
(`given_up`), data, acknowledgements and calls alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .mesh_trace import Watch
from .tcp import Run, Scenario, run_traced

KINDS = ("chain", "parking-lot", "cross")
LOT_FLOWS = 3
ARMS = 4
CLOSE_M = {1: 130.0, 2: 130.0, 3: 130.0, 4: 130.0, 5: 110.0, 6: 90.0}
"""By hops: all nodes sense each other within 550 m."""


@dataclass(frozen=True, kw_only=True)
class Mesh(Scenario):
    """Flows over ``hops`` hops and, in a parking lot, one and two less."""

    hops: int
    spacing_m: float = 200.0
    frames: tuple[int, ...] = ()
    """Limits along a way, ``hops + 1`` of them."""
    calls: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        shortest = LOT_FLOWS if self.kind == "parking-lot" else 1
        if self.kind not in KINDS or self.hops < shortest:
            raise ValueError(f"{self}: {', '.join(KINDS)}, of {shortest} hops or more, are needed")
        if len(self.frames) != self.hops + 1 or min(self.frames) < 2 or self.spacing_m <= 0:
            raise ValueError(
                f"{self}: limits of 2 or more for each node, and a distance are needed"
            )

    def __str__(self) -> str:
        words = [self.kind, f"{self.hops} hops of {self.spacing_m:g} m", self.queues]
        return " ".join(words + ["and calls"] * self.calls)

    @property
    def queues(self) -> str:
        """``50``, or the limit of each node along a way."""
        same = len(set(self.frames)) == 1
        return f"{self.frames[0]}" if same else "-".join(map(str, self.frames))

    def nodes(self) -> Iterator[tuple[float, float, int]]:
        """Where each stands, and its queue's limit; of a cross the gateway is last."""
        if self.kind != "cross":
            for place, limit in enumerate(self.frames):
                yield place * self.spacing_m, 0.0, limit
            return
        for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            for place, limit in enumerate(self.frames[:-1]):
                away = (self.hops - place) * self.spacing_m
                yield dx * away, dy * away, limit
        yield 0.0, 0.0, self.frames[-1]

    def routes(self) -> list[list[int]]:
        """Of each flow the numbers of the nodes that it passes."""
        if self.kind == "cross":
            arms = [list(range(a * self.hops, (a + 1) * self.hops)) for a in range(ARMS)]
            return [[*arm, ARMS * self.hops] for arm in arms]
        flows = LOT_FLOWS if self.kind == "parking-lot" else 1
        return [list(range(first, self.hops + 1)) for first in range(flows)]


@dataclass(frozen=True, kw_only=True)
class Meshed(Run):
    """Figures of `Mesh`; of flows and nodes in their order, and empty where nobody watched."""

    flow_bps: Sequence[float]
    """Data without headers that arrived in order."""
    rtt_s: Sequence[float] = ()
    smoothed_rtt_s: Sequence[float] = ()
    overflows: Sequence[int] = ()
    given_up: Sequence[int] = ()
    call_delay_s: Sequence[float] = ()
    """Mean, one way, of what arrived."""
    calls_sent: Sequence[int] = ()
    calls_arrived: Sequence[int] = ()


def run_mesh(scenario: Mesh, *, watch: bool = True) -> Meshed:
    """In ns-2; without ``watch`` at no cost that the simulation would not have."""
    flows = [(kind, route) for kind in kinds(scenario) for route in scenario.routes()]
    options = scenario.options() | {
        "nodes": " ".join(f"{x:g}:{y:g}:{limit}" for x, y, limit in scenario.nodes()),
        "flows": " ".join(f"{kind}:{'-'.join(map(str, route))}" for kind, route in flows),
        "watch": str(int(watch)),
    }
    figures, trace = run_traced("mesh.tcl", options)
    if not watch:
        return Meshed(**figures)  # type: ignore[arg-type]
    nodes = sum(1 for _ in scenario.nodes())
    seen = Watch(nodes, scenario.warm_up_s)
    for line in trace:
        seen.on_line(line)
    ends = [(route[0], route[-1]) for route in scenario.routes()]
    calls = [seen.call(*pair) for pair in ends] if scenario.calls else []
    return Meshed(
        rtt_s=[seen.rtt_s(*pair) for pair in ends],
        overflows=seen.overflows,
        given_up=seen.given_up,
        call_delay_s=[call.delay_s / max(call.arrived, 1) for call in calls],
        calls_sent=[call.sent for call in calls],
        calls_arrived=[call.arrived for call in calls],
        **figures,  # type: ignore[arg-type]
    )


def kinds(scenario: Mesh) -> tuple[str, ...]:
    return ("tcp", "cbr") if scenario.calls else ("tcp",)
