"""A mesh file from what `iw` prints on the routers of a mesh: `airqueue size mesh-file`.

On each router, after some traffic, so that rates and paths are those of use::

    (iw dev mesh0 info; iw dev mesh0 station dump; iw dev mesh0 mpath dump) > roof.iw

The order does not matter. The name of a router is the name of its file without the ending.

- Links are the neighbours of `station dump`, with the rate of the last data frame (``tx bitrate``).
- Routes are the next hops of `mpath dump` (802.11s, IEEE 802.11-2016 14.10), or are given.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airqueue.models.errors import ParameterError
from airqueue.models.mesh_topology import MAX_HOPS
from airqueue.models.phy_names import phy
from airqueue.models.phys_ht import BANDS

_ADDRESS: Final = r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}"
_OWN: Final = re.compile(rf"\s+addr ({_ADDRESS})")
_CHANNEL: Final = re.compile(r"\s+channel (\d+) \((\d+) MHz\)")
_STATION: Final = re.compile(rf"Station ({_ADDRESS}) \(on \S+\)")
_BITRATE: Final = re.compile(r"\s+tx bitrate:\s*(.*\S)")
_PEERING: Final = re.compile(r"\s+mesh plink:\s*(\S+)")
_PATH: Final = re.compile(rf"({_ADDRESS}) ({_ADDRESS}) \S+\s.*\s0x([0-9a-f]+)(?:\s+\d+){{0,2}}\s*")
_ACTIVE: Final = 1
"""``MESH_PATH_ACTIVE`` of Linux's mac80211: the path may be used."""
_RATE: Final = re.compile(
    r"(?P<mbps>\d+(?:\.\d+)?) MBit/s(?: MCS (?P<ht>\d+))?(?: (?P<width>\d+)MHz)?(?P<sgi> short GI)?"
)
_LATER: Final = re.compile(
    r"(?P<mbps>\d+(?:\.\d+)?) MBit/s(?: (?P<width>\d+)MHz)? (?P<kind>HE|EHT)-MCS \d+"
    r" (?:HE|EHT)-NSS (?P<streams>\d) (?:HE|EHT)-GI (?P<guard>[012])(?: HE-DCM 0)?"
)
_VHT: Final = re.compile(
    r"(?P<mbps>\d+(?:\.\d+)?) MBit/s VHT-MCS \d+(?: (?P<width>\d+)MHz)?(?P<sgi> short GI)?"
    r" VHT-NSS (?P<streams>\d)"
)
_STANDARDS: Final = {"HE": "ax", "EHT": "be"}
_GUARDS: Final = {"0": "gi0.8", "1": "gi1.6", "2": "gi3.2"}
_DSSS_MBPS: Final = (1.0, 2.0, 5.5, 11.0)
_ROUNDED_MBPS: Final = 0.11
"""cfg80211 counts in steps of 0.1 Mb/s."""


class DumpError(ValueError):
    """What `iw` printed describes no mesh: a sentence that names file and line or link."""


@dataclass(slots=True)
class Router:
    """What one router's `iw` printed."""

    name: str
    address: str = ""
    channel: str = ""
    frequency_mhz: int = 0
    neighbours: dict[str, str] = field(default_factory=dict)
    """Address of each neighbour with a peering -> its ``tx bitrate``."""
    next_hops: dict[str, str] = field(default_factory=dict)
    """Address of a destination -> address of the next hop."""


def read_router(name: str, text: str) -> Router:
    """Return what `iw dev DEVICE info`, `station dump` and `mpath dump` say of one router.

    Raises DumpError for a text without the device's own address or channel.
    """
    router = Router(name)
    station, refused = "", set()
    for line in text.splitlines():
        low = line.lower()
        if found := _STATION.match(line):
            station = found[1].lower()
            router.neighbours[station] = ""
        elif found := _PATH.fullmatch(low):
            if int(found[3], 16) & _ACTIVE:
                router.next_hops[found[1]] = found[2]
        elif station and (found := _BITRATE.match(line)):
            router.neighbours[station] = found[1]
        elif station and (found := _PEERING.match(line)):
            if found[1] != "ESTAB":
                refused.add(station)
        elif not router.address and (found := _OWN.match(low)):
            router.address = found[1]
        elif not router.frequency_mhz and (found := _CHANNEL.match(line)):
            router.channel, router.frequency_mhz = found[1], int(found[2])
    for address in refused:
        del router.neighbours[address]
    if not router.address or not router.frequency_mhz:
        absent = "addr" if not router.address else "channel"
        raise DumpError(
            f"{name}: there is no line with '{absent}'; the file needs what 'iw dev DEVICE info' "
            "prints on a router whose mesh is up"
        )
    return router


def layer_of(bitrate: str, frequency_mhz: int) -> tuple[str, float]:
    """Return physical layer and rate in bit/s of a ``tx bitrate``.

    Legacy rates below 3 GHz are those of 802.11b with a long preamble, or of 802.11g.

    Raises DumpError for a rate that no layer has.

    >>> layer_of("866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2", 5180)
    ('ac-80mhz-2ss-sgi', 866666666.6666666)
    >>> layer_of("5.5 MBit/s", 2412)
    ('b-long', 5500000.0)
    """
    for form in (_LATER, _VHT, _RATE):
        if found := form.fullmatch(bitrate):
            break
    else:
        raise DumpError(f"tx bitrate is {bitrate!r}, whose kind is not known")
    mbps = float(found["mbps"])
    name = _layer_name(found.groupdict(), mbps, frequency_mhz)
    try:
        rates = phy(name).rates_bps
    except ParameterError as error:
        raise DumpError(f"tx bitrate is {bitrate!r}: {error}") from error
    nearest = min(rates, key=lambda rate: abs(rate - mbps * 1e6))
    if abs(nearest - mbps * 1e6) > _ROUNDED_MBPS * 1e6:
        raise DumpError(f"tx bitrate is {bitrate!r}, a rate that {name} lacks")
    return name, float(nearest)


def _layer_name(found: Mapping[str, str | None], mbps: float, frequency_mhz: int) -> str:
    low = frequency_mhz < 3000
    width = f"-{found.get('width') or 20}mhz"
    if found.get("kind"):
        standard = _STANDARDS[str(found["kind"])]
        options = f"{width}-{found['streams']}ss-{_GUARDS[str(found['guard'])]}"
    elif "streams" in found:
        standard, options = "ac", f"{width}-{found['streams']}ss" + ("-sgi" if found["sgi"] else "")
    elif found["ht"] is not None:
        streams = int(found["ht"]) // 8 + 1
        standard, options = "n", f"{width}-{streams}ss" + ("-sgi" if found["sgi"] else "")
    elif low:
        return "b-long" if mbps in _DSSS_MBPS else "g"
    else:
        return "a"
    band = "-2.4" if low and "2.4" in BANDS[f"802.11{standard}"] else ""
    return f"{standard}{band}{options}"


@dataclass(frozen=True, slots=True)
class MeshOfDumps:
    """A mesh file's table, and what the dumps left open."""

    table: dict[str, Any]
    cautions: tuple[str, ...]


def mesh_of(routers: Sequence[Router], flows: Sequence[Sequence[str]]) -> MeshOfDumps:
    """Return the mesh of these routers.

    Each flow is a source and a destination, whose route the paths tell, or a whole route.

    Raises DumpError when two files are of one router, a flow names an unknown router, or no path
    leads on.
    """
    names: dict[str, str] = {}
    for router in routers:
        if router.address in names:
            raise DumpError(
                f"{names[router.address]} and {router.name} have one address, {router.address}; "
                "give each router's file once"
            )
        names[router.address] = router.name
    by_name = {router.name: router for router in routers}
    links, cautions = [], []
    for router in routers:
        entries, unknown = _links(router, names)
        links += entries
        if unknown:
            cautions.append(
                f"{router.name} has neighbours of which there is no file: {', '.join(unknown)}; they "
                "share the air and are left out"
            )
    routes = [_route(flow, by_name, names) for flow in flows]
    ends = {(link["from"], link["to"]) for link in links}
    for route in routes:
        for hop in itertools.pairwise(route):
            if hop not in ends:
                raise DumpError(
                    f"the route {' -> '.join(route)} has the hop {' -> '.join(hop)}, but "
                    f"{hop[0]} has no peering with {hop[1]}"
                )
    table = {
        "title": f"From iw on {', '.join(by_name)}",
        "nodes": list(by_name),
        "link": links,
        "flow": [{"name": f"{route[0]} to {route[-1]}", "route": route} for route in routes],
    }
    return MeshOfDumps(table, tuple(cautions))


def _links(router: Router, names: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the links to routers whose files there are, and the addresses of other neighbours."""
    links, unknown = [], []
    for address, bitrate in router.neighbours.items():
        if address not in names:
            unknown.append(address)
            continue
        ends = {"from": router.name, "to": names[address]}
        try:
            layer, rate_bps = layer_of(bitrate, router.frequency_mhz)
        except DumpError as error:
            raise DumpError(f"{router.name} -> {names[address]}: {error}") from error
        rate = f"{rate_bps:.0f}bit"
        links.append({**ends, "radio": layer, "rate": rate, "channel": router.channel})
    return links, unknown


def _route(
    flow: Sequence[str], routers: Mapping[str, Router], names: Mapping[str, str]
) -> list[str]:
    for name in flow:
        if name not in routers:
            raise DumpError(f"a flow names {name!r}; the files are of {', '.join(routers)}")
    if len(flow) != 2:
        return list(flow)
    source, destination = flow
    if source == destination:
        raise DumpError(f"a flow leads from {source} to itself; give two routers")
    route = [source]
    target = routers[destination].address
    while route[-1] != destination:
        here = routers[route[-1]]
        to = here.next_hops.get(target) or (target if target in here.neighbours else None)
        if to is None:
            raise DumpError(
                f"{here.name} knows no active path to {destination}; send packets there before "
                "'iw dev DEVICE mpath dump', or give the whole route"
            )
        if to not in names:
            raise DumpError(
                f"the next hop of {here.name} to {destination} is {to}, of which there is no file"
            )
        if names[to] in route or len(route) > MAX_HOPS:
            raise DumpError(
                f"the paths from {source} to {destination} return to {names[to]}; the files are from "
                "different moments: take them again"
            )
        route.append(names[to])
    return route
