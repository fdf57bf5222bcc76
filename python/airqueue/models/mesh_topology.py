"""A wireless mesh as data: nodes, directed links with their rates, flows with their routes.

`airqueue.models.mesh_file` reads one from a TOML file; `chain`, `parking_lot` and `cross` build the
topologies of K. Jamshaid, B. Shihada, A. Showail, P. Levis, *Deflating Link Buffers in a Wireless
Mesh Network* (MESH): section 6.1, Figs 9a and 9b.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airqueue.models.checks import is_number, number
from airqueue.models.errors import ModelError

MAX_NODES: Final = 10_000
MAX_LINKS: Final = 20_000
MAX_FLOWS: Final = 2_000
MAX_HOPS: Final = 1_000
MAX_ROUTE_HOPS: Final = 50_000
"""Limit for all flows together. The limits keep a wrong or hostile file from exhausting memory."""
MAX_NEIGHBOURS: Final = 5_000_000
"""Pairs of nodes within range of each other."""
MAX_RATE_BPS: Final = 1e12
MAX_DELAY_S: Final = 1e3
MAX_DISTANCE_M: Final = 1e9


class TopologyError(ModelError):
    """An invalid mesh: the message names the place, the value found and the value expected."""

    def __init__(self, place: str, found: str, expected: str) -> None:
        super().__init__(f"{place}: {found}; expected {expected}".removeprefix(": "))
        self.place = place
        self.found = found
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Link:
    """One direction between two neighbours."""

    sender: str
    receiver: str
    rate_bps: float
    """R(m, n): data rate at which frames are sent."""
    channel: str = "1"
    """Links on different channels do not interfere."""
    radio: str | None = None
    """Name of its timing, for `airqueue.models.mesh_exchange.preset`; None for the mesh's."""

    def __str__(self) -> str:
        return f"{self.sender} -> {self.receiver}"


@dataclass(frozen=True, slots=True)
class Flow:
    """One end-to-end flow, by default a greedy TCP bulk transfer."""

    name: str
    route: tuple[str, ...]
    """Its nodes from the source to the destination."""
    demand_bps: float | None = None
    """Demand; None for as much as possible."""
    other_delay_s: float = 0.0
    """Round-trip time outside the mesh, such as that of an access link."""

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """(sender, receiver) of each hop."""
        return tuple(pairwise(self.route))


@dataclass(frozen=True, slots=True)
class Topology:
    """A checked mesh: routes exist, no duplicates; raises TopologyError otherwise.

    Two nodes are neighbours (in transmission range) if they are no farther apart than ``range_m``;
    without ``range_m``, if there is a link between them in either direction.
    """

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    positions_m: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    range_m: float | None = None
    title: str = ""
    radio: str | None = None
    """Timing of links without their own."""
    rts: bool = False
    """Whether RTS and CTS precede every frame."""

    def __post_init__(self) -> None:
        check_count("nodes", len(self.nodes), 2, MAX_NODES)
        check_count("links", len(self.links), 1, MAX_LINKS)
        check_count("flows", len(self.flows), 1, MAX_FLOWS)
        known = _distinct("nodes", self.nodes)
        self._check_positions(known)
        self._check_links(known)
        self._check_flows(known)

    def _check_positions(self, known: Collection[str]) -> None:
        if self.range_m is not None and not 0 < self.range_m <= MAX_DISTANCE_M:
            raise TopologyError(
                "range_m", f"{self.range_m:g}", f"a distance above 0, at most {MAX_DISTANCE_M:g} m"
            )
        for name, position in self.positions_m.items():
            check_known(f"the position of {name!r}", name, known)
            if len(position) != 2 or not all(abs(x) <= MAX_DISTANCE_M for x in position):
                raise TopologyError(
                    f"nodes: {name!r}",
                    f"position {position!r}",
                    f"[x, y] in m, at most {MAX_DISTANCE_M:g} from 0",
                )
        if self.range_m is not None:
            for name in self.nodes:
                if name not in self.positions_m:
                    raise TopologyError(
                        f"nodes: {name!r}", "no position", "one for every node, as range_m is given"
                    )

    def _check_links(self, known: Collection[str]) -> None:
        _distinct("link", (f"{link}" for link in self.links))
        for link in self.links:
            place = f"link {str(link)!r}"
            check_known(place, link.sender, known)
            check_known(place, link.receiver, known)
            if link.sender == link.receiver:
                raise TopologyError(place, "both ends are the same node", "two different nodes")
            _rate(f"{place}: rate", link.rate_bps)
            distance = self._distance_m(link.sender, link.receiver)
            if self.range_m is not None and distance > self.range_m:
                raise TopologyError(
                    place, f"its ends are {distance:.6g} m apart", f"at most {self.range_m:g} m"
                )

    def _check_flows(self, known: Collection[str]) -> None:
        _distinct("flow", (flow.name for flow in self.flows))
        links = {(link.sender, link.receiver) for link in self.links}
        check_count(
            "the flows' hops", sum(len(flow.route) for flow in self.flows), 2, MAX_ROUTE_HOPS
        )
        for flow in self.flows:
            place = f"flow {flow.name!r}: route"
            check_count(f"{place}: nodes", len(flow.route), 2, MAX_HOPS + 1)
            for node in flow.route:
                check_known(place, node, known)
            _distinct(place, flow.route)
            for sender, receiver in flow.hops:
                if (sender, receiver) not in links:
                    raise TopologyError(
                        place, f"no link {f'{sender} -> {receiver}'!r}", "a link for every hop"
                    )
            _rate(f"flow {flow.name!r}: rate", flow.demand_bps)
            if not 0 <= flow.other_delay_s <= MAX_DELAY_S:
                raise TopologyError(
                    f"flow {flow.name!r}: delay",
                    f"{flow.other_delay_s:g} s",
                    f"from 0 to {MAX_DELAY_S:g} s",
                )

    def _distance_m(self, a: str, b: str) -> float:
        if self.range_m is None:
            return 0.0
        return math.dist(self.positions_m[a], self.positions_m[b])

    def neighbours(self) -> NDArray[np.intp]:
        """Return the pairs of neighbours, indices into ``nodes``, each pair once; shape (pairs, 2).

        Raises TopologyError if there are more than `MAX_NEIGHBOURS`.
        """
        if self.range_m is None:
            index = {name: i for i, name in enumerate(self.nodes)}
            linked = {
                tuple(sorted((index[link.sender], index[link.receiver]))) for link in self.links
            }
            return np.array(sorted(linked), dtype=np.intp).reshape(-1, 2)
        return _within(np.array([self.positions_m[name] for name in self.nodes]), self.range_m)


def _within(positions: NDArray[np.float64], apart: float) -> NDArray[np.intp]:
    """Return the pairs of positions at most ``apart`` from each other; shape (pairs, 2).

    Each is compared with those whose first coordinate is near. Raises TopologyError for too many.
    """
    order = np.argsort(positions[:, 0], kind="stable")
    along = positions[order]
    rounding = 4 * np.finfo(np.float64).eps * (np.abs(along[:, 0]) + apart)
    reach = np.searchsorted(along[:, 0], along[:, 0] + apart + rounding, side="right")
    found, count = [np.empty((0, 2), dtype=np.intp)], 0
    for i, end in enumerate(reach.tolist()):
        near = i + 1 + np.flatnonzero(np.hypot(*(along[i + 1 : end] - along[i]).T) <= apart)
        count += len(near)
        if count <= MAX_NEIGHBOURS:
            found.append(np.stack([np.full(len(near), order[i]), order[near]], axis=1))
    check_count("pairs of nodes within range_m", count, 0, MAX_NEIGHBOURS)
    return np.sort(np.concatenate(found), axis=1)


def check_count(place: str, count: int, least: int, most: int) -> None:
    """Raise TopologyError unless there are from ``least`` to ``most`` of something."""
    if not least <= count <= most:
        raise TopologyError(place, f"there are {count:,}", f"from {least:,} to {most:,}")


def check_known(place: str, name: str, known: Collection[str]) -> None:
    """Raise TopologyError unless a node exists."""
    if name not in known:
        raise TopologyError(place, f"there is no node {name!r}", "one of the nodes")


def chain(hops: int, rate_bps: float = 11e6, *, radio: str | None = None) -> Topology:
    """Return a chain of ``hops`` links in each direction with one flow along it.

    >>> [str(link) for link in chain(2).links]
    ['n0 -> n1', 'n1 -> n0', 'n1 -> n2', 'n2 -> n1']
    """
    count = _whole("hops", hops, MAX_HOPS)
    nodes = tuple(f"n{i}" for i in range(count + 1))
    return Topology(
        nodes=nodes,
        links=tuple(_both_ways(nodes, rate_bps)),
        flows=(Flow("flow", nodes),),
        title=f"chain of {count} hops",
        radio=radio,
    )


def parking_lot(
    flow_hops: Iterable[int] = (4, 5, 6), rate_bps: float = 11e6, *, radio: str | None = None
) -> Topology:
    """Return a chain to a gateway with flows that join ``flow_hops`` hops away (MESH Fig. 9a).

    >>> [flow.route[0] for flow in parking_lot((2, 3)).flows]
    ['n2', 'n3']
    """
    counts = [_whole("flow_hops", hops, MAX_HOPS) for hops in flow_hops]
    if not counts:
        raise TopologyError("flow_hops", "there are 0", "the hops of at least one flow")
    nodes = ("gateway", *(f"n{i}" for i in range(1, max(counts) + 1)))
    return Topology(
        nodes=nodes,
        links=tuple(_both_ways(nodes, rate_bps)),
        flows=tuple(Flow(f"{hops} hops", nodes[hops::-1]) for hops in counts),
        title=f"parking lot with {len(counts)} flows",
        radio=radio,
    )


def cross(
    hops: int = 5, arms: int = 4, rate_bps: float = 11e6, *, radio: str | None = None
) -> Topology:
    """Return arms of ``hops`` links that meet at a gateway, a flow inwards on each (MESH Fig. 9b).

    >>> cross(2, 3).flows[0].route
    ('a2', 'a1', 'gateway')
    """
    length = _whole("hops", hops, MAX_HOPS)
    count = _whole("arms", arms, 26)
    nodes: list[str] = ["gateway"]
    links: list[Link] = []
    flows: list[Flow] = []
    for letter in "abcdefghijklmnopqrstuvwxyz"[:count]:
        arm = [f"{letter}{i}" for i in range(1, length + 1)]
        nodes += arm
        links += _both_ways(("gateway", *arm), rate_bps)
        flows.append(Flow(f"arm {letter}", (*reversed(arm), "gateway")))
    return Topology(
        nodes=tuple(nodes),
        links=tuple(links),
        flows=tuple(flows),
        title=f"cross of {count} arms of {length} hops",
        radio=radio,
    )


def _both_ways(nodes: tuple[str, ...], rate_bps: float) -> Iterable[Link]:
    for a, b in pairwise(nodes):
        yield Link(a, b, rate_bps)
        yield Link(b, a, rate_bps)


def _whole(name: str, value: int, most: int) -> int:
    return int(number(name, value, at_least=1, at_most=most, whole=True))


def _rate(place: str, rate_bps: float | None) -> None:
    if rate_bps is None:
        return
    expected = f"from 1 to {MAX_RATE_BPS:g} b/s"
    if not is_number(rate_bps):
        raise TopologyError(place, repr(rate_bps), expected)
    if not 1 <= rate_bps <= MAX_RATE_BPS:
        raise TopologyError(place, f"{rate_bps:g} b/s", expected)


def _distinct(place: str, names: Iterable[str]) -> frozenset[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TopologyError(place, f"{name!r} is there twice", "each once")
        seen.add(name)
    return frozenset(seen)
