"""The runs that tell how stations share an access point.

``rate``  a short flood to one station, faster from run to run, until the path carries less;
``alone``  a longer flood to one station, with sparse flows to the others and beside it: its rate
alone, and who waits behind whom;
``together``  floods to two stations at once, one of which offers three times its part;
``two_to_one``  two flows to this machine against one to another station.

Every run begins and ends with a quiet period, for each flow packets of the flow's own size: all
that is compared of two stations is the delay above that, by the sender's clock. So no two clocks
need agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airqueue.measure.plan import Plan, Segment, cbr

PROFILE: Final = "stations"
RATE: Final = "rate"
ALONE: Final = "alone"
TOGETHER: Final = "together"
TWO_TO_ONE: Final = "two_to_one"
"""Kinds of these runs in their meta data."""
OWN_FLOWS: Final = 2
"""Flows of this machine, station 0; each further station has one."""
SPARE_FLOW: Final = 1
"""The second flow of this machine."""
MOST: Final = 15
"""Stations, this machine included: a session has sixteen flows."""
SIZE_BYTES: Final = 1500
SPARSE_BYTES: Final = 200
SPARSE_PPS: Final = 15.0
"""Beside a flood to one station: their waits tell."""
ALIVE_PPS: Final = 2.0
"""Beside floods to two stations, where sparse packets would take turns of a station's flood."""
QUIET_S: Final = 0.6
QUIET_PACKETS: Final = 12
"""For each flow."""
RATE_S: Final = 0.3
PACES: Final = (1.07, 0.91, 1.13, 0.83, 1.17, 0.97, 1.03, 0.87, 1.11, 0.91)
"""A flood is a sum of so many even streams; their rates over their mean. A full queue has room from
one departure to the next arrival: after half a gap if a large flood is even, and a small one then
finds room half as often as its share of the arrivals. The sum of k streams leaves k / (k + 1) of a
gap."""
DETUNED: Final = 0.013
"""By how much the streams of one flood are faster than those of another, so that no two keep in
step."""
GOLDEN: Final = 0.618034
"""Its multiples, modulo 1, spread the streams' beginnings."""
ALONE_OVERLOAD: Final = 1.5
MORE: Final = 3.0
"""How much more than its part one of two stations is offered."""
PART: Final = 1.25
"""What is offered over the most that a station may get where shares do not follow arrivals."""
LEAST_S: Final = 3.0
LONGEST_S: Final = 12.0
PACKETS: Final = 250
"""Of the station that gets the fewest, in floods to two."""
ALONE_S: Final = 2.5
MOST_PACKETS: Final = 60_000
"""Of a run's floods; faster paths have shorter ones."""
SHORTEST_S: Final = 0.6
SPARE_S: Final = 0.1
LONGEST_DRAIN_S: Final = 20.0

Planned = tuple[Plan, dict[str, Any]]


def flow_of(station: int) -> int:
    """Return the flow of a station that carries its floods."""
    return 0 if station == 0 else station + OWN_FLOWS - 1


@dataclass(frozen=True, slots=True)
class Stream:
    """What a flow carries while the path is loaded: packets per second of a size."""

    flow: int
    rate_pps: float
    size_bytes: int = SIZE_BYTES


def rate_plan(station: int, rate_pps: float, stations: int, index: int) -> Planned:
    """Lay out a short flood to one station."""
    streams = [Stream(flow_of(station), rate_pps), *sparse(stations, [flow_of(station)])]
    length = min(RATE_S, MOST_PACKETS / rate_pps)
    says = f"flood of {rate_pps * SIZE_BYTES * 8e-6:.3g} Mb/s"
    meta = {"kind": RATE, "index": index, "stations": [station], "says": says}
    return _laid_out(streams, length, SPARE_S, meta)


def alone_plan(
    station: int, rate_pps: float, stations: int, most_pps: float, index: int
) -> Planned:
    """Lay out a longer flood to one station, whose path carries so much, and sparse flows."""
    others = sparse(stations, [flow_of(station)])
    offered = min(ALONE_OVERLOAD * rate_pps, most_pps - total_pps(others))
    flood = flow_of(station)
    streams = [Stream(flood, offered), *others]
    length = max(SHORTEST_S, min(max(ALONE_S, 2 * PACKETS / rate_pps), MOST_PACKETS / offered))
    drain = (offered / rate_pps - 1) * length + SPARE_S
    meta = {"kind": ALONE, "index": index, "stations": [station], "says": "flood to one station"}
    return _laid_out(streams, length, drain, meta)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two stations and what their paths carry alone, in packets per second."""

    first: int
    second: int
    rates_pps: tuple[float, float]

    @property
    def equal_pps(self) -> float:
        """Packets per second of each if both get as many."""
        first, second = self.rates_pps
        return first * second / (first + second)

    @property
    def parts_pps(self) -> tuple[float, float]:
        """What each must be offered to get no less than its share: of packets, and of airtime."""
        first, second = (PART * max(rate / 2, self.equal_pps) for rate in self.rates_pps)
        return first, second

    @property
    def fewest_pps(self) -> float:
        """Packets per second of the station that gets the fewest, under any of the rules."""
        return min(self.equal_pps, *(rate / 2 for rate in self.rates_pps))

    def length_s(self, offered_pps: float) -> float:
        """Return how long both are flooded."""
        wanted = min(max(LEAST_S, PACKETS / self.fewest_pps), LONGEST_S)
        return max(SHORTEST_S, min(wanted, MOST_PACKETS / offered_pps))


def together_plan(
    pair: Pair, *, more_to_first: bool, stations: int, most_pps: float
) -> Planned | None:
    """Lay out floods to two stations, more to one of them; None if that much cannot be sent."""
    first, second = pair.parts_pps
    offered = (MORE * first, second) if more_to_first else (first, MORE * second)
    streams = [Stream(flow_of(pair.first), offered[0]), Stream(flow_of(pair.second), offered[1])]
    more = pair.first if more_to_first else pair.second
    meta = {"kind": TOGETHER, "index": int(more_to_first), "more_to": more}
    return _to_both(pair, streams, stations, most_pps, meta)


def two_to_one_plan(pair: Pair, stations: int, most_pps: float) -> Planned | None:
    """Lay out two flows to this machine and one to the other; None if that much cannot be sent."""
    first, second = pair.parts_pps
    streams = [
        Stream(flow_of(pair.first), first),
        Stream(SPARE_FLOW, first),
        Stream(flow_of(pair.second), second),
    ]
    return _to_both(pair, streams, stations, most_pps, {"kind": TWO_TO_ONE, "index": 0})


def _to_both(
    pair: Pair, streams: list[Stream], stations: int, most_pps: float, meta: dict[str, Any]
) -> Planned | None:
    offered = total_pps(streams)
    others = sparse(stations, [s.flow for s in streams], ALIVE_PPS)
    if offered + total_pps(others) > most_pps:
        return None
    length = pair.length_s(offered)
    busy = sum(s.rate_pps / pair.rates_pps[s.flow == flow_of(pair.second)] for s in streams)
    drain = max(0.0, busy - 1) * length + SPARE_S
    about = {**meta, "stations": [pair.first, pair.second], "says": "floods to two stations"}
    return _laid_out([*streams, *others], length, drain, about)


def total_pps(streams: Sequence[Stream]) -> float:
    """Return the packets per second of all streams."""
    return sum(s.rate_pps for s in streams)


def sparse(stations: int, but: Sequence[int], rate_pps: float = SPARSE_PPS) -> list[Stream]:
    """Return sparse flows on all others, which also keep every station in the run."""
    flows = range(OWN_FLOWS + stations - 1)
    return [Stream(flow, rate_pps, SPARSE_BYTES) for flow in flows if flow not in but]


def _laid_out(
    streams: Sequence[Stream], length_s: float, drain_s: float, meta: dict[str, Any]
) -> Planned:
    """Put a quiet period before and after; this machine has the last packet."""
    start, end = QUIET_S, QUIET_S + length_s
    drained = end + min(drain_s, LONGEST_DRAIN_S)
    over = drained + QUIET_S
    segments = [*_quiet(streams, 0.0)]
    for n, stream in enumerate(streams):
        segments += _uneven(stream, start, end, n)
    segments += [*_quiet(streams, drained)]
    last = sorted(streams, key=lambda s: s.flow < OWN_FLOWS)
    segments += [Segment(s.flow, over + 0.01, 0.0, 1, s.size_bytes) for s in last]
    phases = {
        "quiet": [0.0, start],
        "load": [start, end],
        "drain": [end, drained],
        "after": [drained, over],
    }
    floods = [[s.flow, s.rate_pps] for s in streams if s.size_bytes == SIZE_BYTES]
    about = {"profile": PROFILE, "size_bytes": SIZE_BYTES, **meta, "floods": floods}
    return Plan(tuple(segments)), {**about, "phases": phases}


def _quiet(streams: Sequence[Stream], start_s: float) -> list[Segment]:
    gap = QUIET_S / QUIET_PACKETS / len(streams)
    return [
        Segment(s.flow, start_s + n * gap, QUIET_S - n * gap, QUIET_PACKETS, s.size_bytes)
        for n, s in enumerate(streams)
    ]


def _uneven(stream: Stream, start_s: float, end_s: float, turn: int) -> list[Segment]:
    """Return a flood as a sum of even streams, or a sparse flow, which is even."""
    if stream.size_bytes != SIZE_BYTES:
        return [cbr(stream.flow, start_s, end_s, stream.rate_pps, stream.size_bytes)]
    one = stream.rate_pps / sum(PACES)
    segments = []
    for k, pace in enumerate(PACES):
        rate = one * (pace + DETUNED * turn * (-1) ** k)
        begin = start_s + (GOLDEN * (k + 1 + len(PACES) * turn) % 1) / rate
        if begin < end_s:
            segments.append(cbr(stream.flow, begin, end_s, rate, stream.size_bytes))
    return segments


def fits(meta: Mapping[str, Any]) -> bool:
    """Whether a description of a stored run is one that `verdict` can rely on."""
    kind, stations, floods = meta.get("kind"), meta.get("stations"), meta.get("floods")
    phases = meta.get("phases")
    if kind not in (RATE, ALONE, TOGETHER, TWO_TO_ONE) or not isinstance(phases, dict):
        return False
    wanted = 2 if kind in (TOGETHER, TWO_TO_ONE) else 1
    if not isinstance(stations, list) or not all(
        type(s) is int and 0 <= s < MOST for s in stations
    ):
        return False
    if not isinstance(floods, list) or not all(map(_flood, floods)):
        return False
    flows = {flow_of(station) for station in stations}
    return (
        len(stations) == wanted
        and flows <= {flow for flow, _ in floods}
        and {"quiet", "load", "after"} <= phases.keys()
        and phases["load"][0] < phases["load"][1]
        and (kind != TOGETHER or meta.get("more_to") in stations)
    )


def _flood(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    flow, pps = value
    return type(flow) is int and isinstance(pps, int | float) and 0 < pps < 1e12
