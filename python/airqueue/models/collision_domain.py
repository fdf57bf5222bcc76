"""Collision domains of a mesh: the links that share the air, and the domain that limits each flow.

MESH section 3.1. Two links interfere if an endpoint of one is within transmission range of an
endpoint of the other (the two-hop model) on the same channel. The domain of a link is the link and
all that interfere with it; what its links carry, each at its own rate, must fit into it:
``Σ r(m, n) / R(m, n) <= 1``. Links that no flow uses take no air and are left out.

A flow's bottleneck is a saturated domain in which no flow is faster. Rates are max-min fair over the
domains unless they are given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from airqueue.models.catalogue import Kind, Model, Output, Parameter
from airqueue.models.checks import FloatArray, choice, finished, number, numbers
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_topology import (
    Link,
    Topology,
    chain,
    check_count,
    cross,
    parking_lot,
)
from airqueue.models.sparse_rows import Rows

SATURATED: Final = 0.9
"""Utilisation from which a domain counts as saturated at measured rates (MESH section 5.1)."""
ALIKE: Final = 0.05
"""Measured utilisations that differ by no more count as equal."""
TIES: Final = ("fewest", "most")
MAX_INTERFERENCES: Final = 20_000_000
"""Most pairs of interfering links, and of flows with domains."""
MAX_FILLING: Final = 1_000_000_000
"""Most steps to find the fair rates, which visits all pairs again for each flow."""
_TOLERANCE: Final = 1e-9
_Domains: TypeAlias = NDArray[np.integer[Any]]
"""Indices of domains."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The domain that limits one flow."""

    flow: str
    centre: Link
    """The link in the middle of the domain."""
    hops: tuple[int, ...]
    """The flow's hops within the domain, counted from 1 at the source: M of them."""
    utilisation: float
    rate_bps: float
    """The flow's rate."""
    saturated: bool
    """Whether the domain is full; if not, the flow gets its demand (or the given rate)."""

    @property
    def transmitters(self) -> int:
        """M, number of nodes that transmit this flow in the domain: one per hop."""
        return len(self.hops)


class CollisionDomains:
    """The domains of the links that flows use; domain i is that of ``links[i]``."""

    def __init__(self, topology: Topology) -> None:
        """Find the links that interfere; raises TopologyError for too many pairs."""
        self.topology = topology
        self.links, self._index, routes = _used_links(topology)
        self._interference = _interference(topology, self.links)
        work = int((self._interference.lengths[routes.rows]).sum())
        check_count("pairs of a hop and a domain", work, 1, MAX_INTERFERENCES)
        self._hops = self._interference.times(routes).transposed()
        """Flows by domains: hops of the flow in the domain."""
        air = 1.0 / np.array([link.rate_bps for link in self.links])
        per_bit = dataclasses.replace(routes, values=routes.values * air[routes.rows])
        self._load = self._interference.times(per_bit)
        """Domains by flows: air time in the domain per bit of the flow."""
        check_count(
            "flows times pairs of a flow and a domain",
            self._load.entries * len(topology.flows),
            1,
            MAX_FILLING,
        )

    def members(self, domain: int) -> tuple[Link, ...]:
        """Return the links of a domain, its own link among them.

        >>> domains = CollisionDomains(chain(6))
        >>> [str(link) for link in domains.members(2)]
        ['n0 -> n1', 'n1 -> n2', 'n2 -> n3', 'n3 -> n4', 'n4 -> n5']
        """
        return tuple(self.links[i] for i in self._members(domain))

    def flows(self, domain: int) -> tuple[int, ...]:
        """Return which flows, as indices into ``topology.flows``, cross a domain."""
        return tuple(self._load.columns[self._load.row(domain)].tolist())

    def air_in_use(self, domain: int, rates_bps: Sequence[float] | FloatArray) -> dict[int, float]:
        """Return each flow's part of a domain's `utilisation`, by index, at the given rates.

        >>> CollisionDomains(parking_lot((2, 4))).air_in_use(1, [1.1e6, 0.55e6])
        {0: 0.2, 1: 0.2}
        """
        rates = self._rates(rates_bps)
        crossing = self._load.row(domain)
        flows, air = self._load.columns[crossing], self._load.values[crossing]
        return dict(zip(flows.tolist(), (air * rates[flows]).tolist(), strict=True))

    def domains(self, flow: int) -> tuple[int, ...]:
        """Return the domains that a flow crosses."""
        return tuple(self._crossed(flow).tolist())

    def hops(self, domain: int, flow: int) -> tuple[int, ...]:
        """Return the flow's hops within the domain, from 1: its M transmitting nodes.

        >>> lot = CollisionDomains(parking_lot())
        >>> [len(lot.hops(2, flow)) for flow in range(3)]
        [4, 5, 5]
        """
        members = set(self._members(domain))
        route = self.topology.flows[flow].hops
        return tuple(i for i, hop in enumerate(route, start=1) if self._index[hop] in members)

    def utilisation(self, rates_bps: Sequence[float] | FloatArray) -> FloatArray:
        """Return ``Σ r(m, n)/R(m, n)`` of each domain for the given end-to-end rates of the flows.

        Raises ParameterError for rates that are negative or not one per flow.

        >>> CollisionDomains(chain(4)).utilisation([2.75e6]).tolist()
        [0.75, 1.0, 1.0, 0.75]
        """
        return finished("utilisation", self._load @ self._rates(rates_bps))

    def max_min_rates_bps(self) -> FloatArray:
        """Return the max-min fair rates of the flows: no domain above 1, no flow above its demand.

        All rates rise together until a domain is full or a demand is met; the rates of those flows
        are then fixed, and the others rise on (progressive filling).
        """
        demand = np.array(
            [np.inf if f.demand_bps is None else f.demand_bps for f in self.topology.flows]
        )
        rates = np.zeros(len(demand))
        active = np.ones(len(demand), dtype=bool)
        while active.any():
            used = self._load @ np.where(active, 0.0, rates)
            slope = self._load @ active.astype(np.float64)
            crossed = slope > 0
            levels = np.maximum(0.0, 1.0 - used[crossed]) / slope[crossed]
            level = min(levels.min(), demand[active].min())
            full = np.zeros(len(slope), dtype=bool)
            full[np.flatnonzero(crossed)[levels <= level * (1 + _TOLERANCE)]] = True
            stopped = active & ((demand <= level) | ((full.astype(np.float64) @ self._load) > 0))
            rates[active] = level
            active &= ~stopped
        return rates

    def bottlenecks(
        self, rates_bps: Sequence[float] | FloatArray | None = None, *, tie: str = "fewest"
    ) -> tuple[Bottleneck, ...]:
        """Return the bottleneck of each flow, at max-min fair rates or at those given.

        At max-min rates it is a full domain in which no flow is faster than this one; at given
        (measured) rates, and for a flow whose demand is met, the most utilised domain it crosses.
        Among equally utilised domains, ``tie`` takes the one with the "fewest" transmitters of the
        flow, which the flow shares most with others (so in the cross), or the one with the "most",
        which gives the larger buffer.

        >>> [b.transmitters for b in CollisionDomains(cross()).bottlenecks()]
        [2, 2, 2, 2]
        """
        choice("tie", tie, TIES)
        if rates_bps is None:
            rates = self.max_min_rates_bps()
            utilisation = self._load @ rates
            full = utilisation >= 1.0 - _TOLERANCE
            chosen = self._fair(lambda crossed: crossed, rates, utilisation, tie)
        else:
            rates = self._rates(rates_bps)
            utilisation = self._load @ rates
            full = utilisation >= SATURATED
            chosen = [
                self._of_equals(_highest(self._crossed(flow), utilisation), flow, tie)
                for flow in range(len(rates))
            ]
        return tuple(
            self._bottleneck(domain, flow, utilisation, rates, full)
            for flow, domain in enumerate(chosen)
        )

    def busy_bottlenecks(
        self,
        busy: Sequence[float] | FloatArray,
        full: Sequence[bool] | NDArray[np.bool_] | None = None,
        *,
        tie: str = "fewest",
    ) -> tuple[Bottleneck, ...]:
        """Return the bottleneck of each flow, chosen by how busy the medium was measured to be.

        busy: of each domain, the fraction of time in which its medium was busy. full: which domains
        count as saturated; those busy for `SATURATED` of the time if not given (MESH section 5.1).
        A flow's bottleneck is among the saturated domains that it crosses, else among the domains
        within `ALIKE` of its busiest. A measurement does not distinguish these, so the two-hop model
        decides: the domain most utilised at max-min rates, then ``tie`` among equals. The returned
        rates are max-min fair.

        Raises ParameterError for values that are not fractions, or not one per domain.

        >>> domains = CollisionDomains(chain(4))
        >>> [str(b.centre) for b in domains.busy_bottlenecks([0.95, 0.7, 0.7, 0.7])]
        ['n0 -> n1']
        """
        choice("tie", tie, TIES)
        fractions = numbers("busy", busy, at_least=0, at_most=1)
        if fractions.shape != (len(self.links),):
            raise ParameterError(
                "busy",
                f"busy has shape {fractions.shape}; it must be one per domain: {len(self.links)}",
            )
        saturated = fractions >= SATURATED if full is None else np.asarray(full, dtype=bool)
        rates = self.max_min_rates_bps()

        def likely(crossed: _Domains) -> _Domains:
            among: _Domains = crossed[saturated[crossed]]
            if not among.size:
                among = crossed[fractions[crossed] >= fractions[crossed].max() - ALIKE]
            return among

        chosen = self._fair(likely, rates, self._load @ rates, tie)
        return tuple(
            self._bottleneck(domain, flow, fractions, rates, saturated)
            for flow, domain in enumerate(chosen)
        )

    def _fair(
        self,
        likely: Callable[[_Domains], _Domains],
        rates: FloatArray,
        utilisation: FloatArray,
        tie: str,
    ) -> list[int]:
        """Return which of the candidate domains limits each flow at max-min fair rates.

        A full domain in which no flow is faster, else the most utilised domain.
        """
        full = utilisation >= 1.0 - _TOLERANCE
        fastest = _row_maximum(self._load, rates)
        chosen = []
        for flow, rate in enumerate(rates):
            among = likely(self._crossed(flow))
            limits = among[full[among] & (fastest[among] <= rate * (1 + _TOLERANCE))]
            if not limits.size:
                limits = _highest(among, utilisation)
            chosen.append(self._of_equals(limits, flow, tie))
        return chosen

    def _crossed(self, flow: int) -> _Domains:
        """Return the domains that a flow crosses, in order."""
        return self._hops.columns[self._hops.row(flow)]

    def _of_equals(self, domains: _Domains, flow: int, tie: str) -> int:
        """Return the domain with the fewest or the most transmitters of a flow, the first of them."""
        crossed = self._hops.row(flow)
        transmitters = self._hops.values[crossed][np.isin(self._hops.columns[crossed], domains)]
        order = np.lexsort((domains, transmitters if tie == "fewest" else -transmitters))
        return int(domains[order[0]])

    def _bottleneck(
        self,
        domain: int,
        flow: int,
        utilisation: FloatArray,
        rates: FloatArray,
        full: NDArray[np.bool_],
    ) -> Bottleneck:
        return Bottleneck(
            flow=self.topology.flows[flow].name,
            centre=self.links[domain],
            hops=self.hops(domain, flow),
            utilisation=float(utilisation[domain]),
            rate_bps=float(rates[flow]),
            saturated=bool(full[domain]),
        )

    def _members(self, domain: int) -> list[int]:
        if not 0 <= domain < len(self.links):
            raise ParameterError(
                "domain", f"domain is {domain}; it must be from 0 to {len(self.links) - 1}"
            )
        members: list[int] = self._interference.columns[self._interference.row(domain)].tolist()
        return members

    def _rates(self, rates_bps: Sequence[float] | FloatArray) -> FloatArray:
        rates = numbers("rates_bps", rates_bps, at_least=0)
        count = len(self.topology.flows)
        if rates.shape != (count,):
            raise ParameterError(
                "rates_bps", f"rates_bps has shape {rates.shape}; it must be one per flow: {count}"
            )
        return rates


def _used_links(
    topology: Topology,
) -> tuple[tuple[Link, ...], dict[tuple[str, str], int], Rows]:
    """Return the links on routes, where each is, and links by flows: 1 where the flow uses it."""
    used = {hop for flow in topology.flows for hop in flow.hops}
    links = tuple(link for link in topology.links if (link.sender, link.receiver) in used)
    index = {(link.sender, link.receiver): i for i, link in enumerate(links)}
    rows = [index[hop] for flow in topology.flows for hop in flow.hops]
    columns = [i for i, flow in enumerate(topology.flows) for _ in flow.hops]
    return links, index, Rows.of(rows, columns, 1.0, (len(links), len(topology.flows)))


def _interference(topology: Topology, links: tuple[Link, ...]) -> Rows:
    """Return links by links: 1 where they interfere, and on the diagonal.

    Link k interferes with l if an endpoint of k neighbours or equals an endpoint of l: the pattern
    of ``E (A + I) Eᵀ`` with E links by nodes and A the neighbours. The work is proportional to the
    number of pairs that interfere.
    """
    index = {name: i for i, name in enumerate(topology.nodes)}
    ends = np.array([[index[link.sender], index[link.receiver]] for link in links])
    nodes = len(topology.nodes)
    rows = np.repeat(np.arange(len(links)), 2)
    endpoint = Rows.of(rows, ends.ravel(), 1.0, (len(links), nodes))
    pairs = topology.neighbours()
    everyone = np.arange(nodes)
    first = np.concatenate([pairs[:, 0], pairs[:, 1], everyone])
    second = np.concatenate([pairs[:, 1], pairs[:, 0], everyone])
    hears = Rows.of(first, second, 1.0, (nodes, nodes))
    work = int(hears.lengths[ends].sum())
    check_count("pairs of a link and a node that hears it", work, 1, MAX_INTERFERENCES)
    reached = endpoint.times(hears)
    at_node = np.bincount(ends.ravel(), minlength=nodes)
    work = int(at_node[reached.columns].sum()) // 2
    check_count("pairs of interfering links", work, 0, MAX_INTERFERENCES)
    both = reached.times(endpoint.transposed())
    names = {name: i for i, name in enumerate(dict.fromkeys(link.channel for link in links))}
    channel = np.array([names[link.channel] for link in links])
    same = both.only(channel[both.rows] == channel[both.columns])
    return dataclasses.replace(same, values=np.ones(same.entries))


def _highest(domains: _Domains, utilisation: FloatArray) -> _Domains:
    """Return the most utilised of the given domains."""
    of = utilisation[domains]
    highest: _Domains = domains[of >= of.max() * (1 - _TOLERANCE)]
    return highest


def _row_maximum(load: Rows, rates: FloatArray) -> FloatArray:
    """Return for each domain the highest rate of the flows that cross it."""
    maximum: NDArray[np.float64] = np.maximum.reduceat(rates[load.columns], load.starts[:-1])
    return maximum


SHAPES: Final = ("chain", "parking-lot", "cross")


def shaped(shape: str, hops: float, flows: float, rate_bps: float) -> Topology:
    """Return a chain, a parking lot or a cross by name; the longest flow has ``hops`` hops.

    A parking lot has ``flows`` flows, the shortest one hop each shorter; a cross has that many arms.
    A chain has one flow whatever ``flows`` is.
    """
    choice("shape", shape, SHAPES)
    count = int(number("flows", flows, at_least=1, at_most=26, whole=True))
    length = int(number("hops", hops, at_least=1, at_most=200, whole=True))
    if shape == "chain":
        return chain(length, rate_bps)
    if shape == "cross":
        return cross(length, count, rate_bps)
    if count > length:
        raise ParameterError("flows", f"flows is {count}; it must be at most the hops, {length}")
    return parking_lot(range(length - count + 1, length + 1), rate_bps)


def _evaluate(shape: str, hops: float, flows: float, rate_bps: float) -> dict[str, Any]:
    domains = CollisionDomains(shaped(shape, hops, flows, rate_bps))
    found = domains.bottlenecks()
    return {
        "domain_links": max(len(domains.members(i)) for i in range(len(domains.links))),
        "transmitters": [bottleneck.transmitters for bottleneck in found],
        "flow_rates_bps": [bottleneck.rate_bps for bottleneck in found],
        "bottlenecks": ", ".join(str(bottleneck.centre) for bottleneck in found),
    }


MODEL = Model(
    name="collision-domain",
    summary="Links of a mesh that share the air, and rates of its flows (two-hop model, MESH 3.1).",
    parameters=(
        Parameter("shape", "the mesh", "chain", Kind.CHOICE, SHAPES),
        Parameter("hops", "hops of the longest flow", 4, Kind.WHOLE),
        Parameter("flows", "flows of a parking lot, arms of a cross", 3, Kind.WHOLE),
        Parameter("rate_bps", "R: data rate of every link", 11e6, Kind.RATE),
    ),
    outputs=(
        Output("domain_links", "links of the largest domain"),
        Output("transmitters", "M: nodes that transmit each flow in its bottleneck"),
        Output("flow_rates_bps", "max-min fair rate of each flow, frame overhead not counted"),
        Output("bottlenecks", "link in the middle of each flow's bottleneck"),
    ),
    evaluate=_evaluate,
    example="shape=parking-lot hops=6",
    valid=(
        "Two-hop interference: real radios interfere farther away than they can communicate. "
        "Frame overhead and acknowledgements are not counted."
    ),
)
