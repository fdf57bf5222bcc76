"""Share of the link rate that a collision domain of a mesh carries: λ from measured flow rates.

MESH sizes for λ = the rate of the slowest link, which no flow reaches: frames have overhead, hops and
flows share the air. Its outlook is to measure flow rates instead. What is measured here is

    η = Σ r(m, n)/R(m, n)      over the links of a domain, r measured: what all flows carry in it

and a flow's λ is ``η · its share of the air in use · R`` of its slowest link in the domain. η hardly
depends on who sends and at which rates, unlike the rate of a single flow.

A smaller buffer can lower what is carried, which would lower the buffer. Against that spiral:

1. η begins at 1, the paper's bound, so it is first measured with ample buffers. A higher measurement
   counts as it is, a lower one with the time constant ``memory_s``.
2. η falls only while the medium is as busy as it has been (`AS_BUSY`). A domain that is less busy is
   not loaded as it could be, for lack of packets, and its load does not show its capacity.
   If η had fallen before, that went too far: it goes back to where the domain was loaded, and does
   not fall below that again.
3. η stays above `FLOOR` of the most that was carried, should busy times be of no help, as where
   others keep the medium busy.
4. A flow's share is at least 1/n of n flows, so that a starved flow gets no buffer of a starved one.

A domain whose links or rates change is a new one, about which nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from airqueue.models.checks import FloatArray
from airqueue.models.collision_domain import Bottleneck, CollisionDomains
from airqueue.models.mesh_topology import Link

AS_BUSY: Final = 0.9
"""A domain is loaded as it can be if it is busy for this fraction of the most that it has been."""
FLOOR: Final = 0.5
"""η is at least this fraction of the most that was carried."""


@dataclass(slots=True)
class _Domain:
    """The state of a domain while its links do not change."""

    members: tuple[Link, ...]
    carried: float = 1.0
    """η."""
    loaded: float = 1.0
    """What it was when the domain was last loaded as it can be: the least that is known to do."""
    least: float = 0.0
    """η does not fall below this value."""
    busiest: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    """Of the air in use, by flow."""


class CarriedAir:
    """η of all domains and the flows' shares of it, kept from one measurement to the next."""

    def __init__(self, memory_s: float) -> None:
        """Begin without measurements; η and shares fall with the time constant ``memory_s``."""
        self._memory_s = memory_s
        self._domains: CollisionDomains | None = None
        self._known: dict[tuple[str, str], _Domain] = {}
        """By the link in the middle, in the order of the domains."""

    def measured(
        self,
        domains: CollisionDomains,
        rates_bps: Sequence[float] | FloatArray,
        busy: Sequence[float] | FloatArray,
        elapsed_s: float,
    ) -> None:
        """Take in the mean rates of all flows and how busy each domain was.

        elapsed_s: since the last time, with limits made from what `carried` and `share` then said.
        """
        self.move_to(domains)
        fading = math.exp(-elapsed_s / self._memory_s)
        flows = domains.topology.flows
        for index, (domain, carried) in enumerate(
            zip(self._known.values(), domains.utilisation(rates_bps), strict=True)
        ):
            _follow(domain, float(carried), float(busy[index]), fading)
            if carried > 0:
                used = domains.air_in_use(index, rates_bps)
                shares = {flows[flow].name: air / float(carried) for flow, air in used.items()}
                domain.shares = {
                    flow: _fallen(domain.shares.get(flow, share), share, fading)
                    for flow, share in shares.items()
                }

    def move_to(self, domains: CollisionDomains) -> None:
        """Continue with the present domains; keep the state of unchanged domains."""
        if domains is self._domains:
            return
        known = {}
        for index, link in enumerate(domains.links):
            key, members = (link.sender, link.receiver), domains.members(index)
            before = self._known.get(key)
            same = before is not None and before.members == members
            known[key] = before if before is not None and same else _Domain(members)
        self._known, self._domains = known, domains

    def carried(self, bottleneck: Bottleneck) -> float:
        """Return η of a flow's bottleneck: 1 until it has been measured."""
        domain = self._domain(bottleneck)
        return 1.0 if domain is None else domain.carried

    def share(self, bottleneck: Bottleneck, flows: int) -> float:
        """Return a flow's share of the air in use in its bottleneck, which so many flows cross."""
        domain = self._domain(bottleneck)
        measured = {} if domain is None else domain.shares
        return max(1.0 / flows, measured.get(bottleneck.flow, 0.0))

    def _domain(self, bottleneck: Bottleneck) -> _Domain | None:
        return self._known.get((bottleneck.centre.sender, bottleneck.centre.receiver))


def _follow(domain: _Domain, carried: float, busy: float, fading: float) -> None:
    domain.busiest = max(domain.busiest, busy)
    domain.least = max(domain.least, FLOOR * carried)
    if carried >= domain.carried:
        domain.carried = domain.loaded = carried
    elif 0 < busy < AS_BUSY * domain.busiest:
        if domain.carried < domain.loaded:
            domain.least = domain.loaded
        domain.carried = domain.loaded
    elif busy > 0:
        domain.loaded = domain.carried
        domain.carried = max(_fallen(domain.carried, carried, fading), domain.least)


def _fallen(kept: float, measured: float, fading: float) -> float:
    """Return the maximum of what was kept and measured, where what was kept fades."""
    return measured + max(0.0, kept - measured) * fading
