"""Changes of a mesh since its buffers were computed, in words."""

from __future__ import annotations

from collections.abc import Iterator

from airqueue.models.mesh_topology import Flow, Link, Topology
from airqueue.text import plural, rate, seconds

MOST_REPORTED = 5
"""Changes that are reported one by one; the others are counted."""


def changes(before: Topology | None, now: Topology) -> tuple[str, ...]:
    """Return a sentence for each change that matters to the flows' buffers; none if there is none.

    before: None if nothing was sized.

    >>> from airqueue.models.mesh_topology import chain
    >>> changes(chain(2), chain(2, 5.5e6))
    ('n0 -> n1 has 5.50 Mb/s, no longer 11.00 Mb/s', 'n1 -> n2 has 5.50 Mb/s, no longer 11.00 Mb/s')
    """
    if before is now:
        return ()
    old = {} if before is None else {flow.name: flow for flow in before.flows}
    reported = [*_flows(old, now)]
    if before is not None:
        reported += [*_links(_used(before), _used(now))]
        if not reported and _heard(before) != _heard(now):
            reported = ["other nodes hear each other, or time frames otherwise"]
    if len(reported) > MOST_REPORTED:
        rest = len(reported) - MOST_REPORTED
        reported = [*reported[:MOST_REPORTED], f"{plural(rest, 'other change')}"]
    return tuple(reported)


def _flows(old: dict[str, Flow], now: Topology) -> Iterator[str]:
    new = {flow.name: flow for flow in now.flows}
    for name, flow in new.items():
        past = old.get(name)
        if past is None:
            yield f"{name} has begun"
        elif past.route != flow.route:
            yield f"{name} goes by {', '.join(flow.route)}, no longer {', '.join(past.route)}"
        elif past.other_delay_s != flow.other_delay_s:
            yield (
                f"{name} takes {seconds(flow.other_delay_s)} outside the mesh, no longer "
                f"{seconds(past.other_delay_s)}"
            )
        elif past.demand_bps != flow.demand_bps:
            yield f"{name} wants {_demand(flow)}, no longer {_demand(past)}"
    for name in old:
        if name not in new:
            yield f"{name} sends no more"


def _demand(flow: Flow) -> str:
    return "all it can get" if flow.demand_bps is None else rate(flow.demand_bps)


def _links(old: dict[tuple[str, str], Link], new: dict[tuple[str, str], Link]) -> Iterator[str]:
    for ends, link in new.items():
        past = old.get(ends, link)
        if past.rate_bps != link.rate_bps:
            yield f"{link} has {rate(link.rate_bps)}, no longer {rate(past.rate_bps)}"
        elif past.channel != link.channel:
            yield f"{link} is on channel {link.channel}, no longer {past.channel}"
        elif past.radio != link.radio:
            yield f"{link} has another radio"


def _used(mesh: Topology) -> dict[tuple[str, str], Link]:
    used = {hop for flow in mesh.flows for hop in flow.hops}
    return {
        (link.sender, link.receiver): link
        for link in mesh.links
        if (link.sender, link.receiver) in used
    }


def _heard(mesh: Topology) -> object:
    """Return what decides who hears whom, and how their frames are timed."""
    if mesh.range_m is None:
        pairs = frozenset(frozenset((link.sender, link.receiver)) for link in mesh.links)
        return pairs, mesh.radio, mesh.rts
    return dict(mesh.positions_m), mesh.range_m, mesh.radio, mesh.rts
