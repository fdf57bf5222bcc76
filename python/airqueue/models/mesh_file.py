"""Reading a mesh from a TOML file: the input of `airqueue size mesh FILE`, beside scenarios.

A file names its nodes, the links between them and the flows::

    title = "Two hops to the gateway"
    radio = "b-ack-11"               # timing of its frames; see airqueue.models.mesh_exchange
    rate = "11mbit"                  # default of the links; if not given, the radio's highest
    nodes = ["roof", "tower", "gateway"]

    [[link]]
    between = ["roof", "tower"]      # both directions

    [[link]]
    from = "tower"                   # one direction
    to = "gateway"
    rate = "5.5mbit"

    [[flow]]
    name = "upload"
    route = ["roof", "tower", "gateway"]

Instead of a list, ``nodes`` may be a table of positions in metres, ``roof = [0, 0]``. Together with
``range_m``, the distance up to which two nodes hear each other, this table replaces the links;
a ``[[link]]`` then gives only values that differ from ``radio``, ``rate`` and ``channel``.

More keys: ``rts = true`` (RTS and CTS before every frame) and ``channel`` (of all links) at the top;
``radio`` and ``channel`` in a link; ``rate`` (the flow's demand) and ``delay`` (round trip
outside the mesh) in a flow.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from airqueue import toml_text
from airqueue.files import named
from airqueue.models.catalogue import near
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_exchange import mesh_exchange, preset
from airqueue.models.mesh_topology import (
    MAX_FLOWS,
    MAX_HOPS,
    MAX_LINKS,
    MAX_NODES,
    Flow,
    Link,
    Topology,
    TopologyError,
    check_count,
)
from airqueue.toml_text import TomlError, found, short
from airqueue.units import UnitError, parse_duration, parse_rate

_MAX_NAME: Final = 64
_TOP_KEYS: Final = (
    "title", "radio", "rate", "channel", "rts", "range_m", "nodes", "link", "flow",
)  # fmt: skip
_LINK_KEYS: Final = ("between", "from", "to", "radio", "rate", "channel")
_FLOW_KEYS: Final = ("name", "route", "rate", "delay")
_T = TypeVar("_T")


def read_topology(path: str | os.PathLike[str]) -> Topology:
    """Read and check a mesh file.

    Raises OSError, or TopologyError whose message names the file, the place in it, what was found
    and what was expected.
    """
    with naming(path):
        with _as_topology_error():
            text = toml_text.read(path)
        return parse_topology(text)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in each `TopologyError`, before the place in the file."""
    try:
        yield
    except TopologyError as error:
        place = f"{named(path)}: {error.place}".removesuffix(": ")
        raise TopologyError(place, error.found, error.expected) from error


def parse_topology(text: str) -> Topology:
    """Return the mesh that a TOML text describes; raises TopologyError."""
    with _as_topology_error():
        table = toml_text.parse(text)
    return topology_of(table)


def topology_of(table: Mapping[str, Any]) -> Topology:
    """Return the mesh that a file's table describes; raises TopologyError.

    >>> ends = ["roof", "gateway"]
    >>> table = {"nodes": ends, "link": [{"between": ends}], "flow": [{"route": ends}]}
    >>> [str(link) for link in topology_of({"radio": "b-ack-11", **table}).links]
    ['roof -> gateway', 'gateway -> roof']
    """
    _only(table, _TOP_KEYS, "")
    nodes, positions = _nodes(table)
    range_m = _key(table, "range_m", "", _metres)
    if range_m is not None and not positions:
        raise TopologyError(
            "range_m", "nodes without positions", "a table of them, as in [nodes] roof = [0, 0]"
        )
    flows = tuple(_flows(table))
    defaults = _Defaults(
        radio=_key(table, "radio", "", _text),
        rate_bps=_key(table, "rate", "", _rate),
        channel=_key(table, "channel", "", _channel) or "1",
    )
    links = _links(table, defaults)
    if range_m is not None:
        links = _with_links_of_routes(links, flows, defaults)
    return Topology(
        nodes=nodes,
        links=tuple(links.values()),
        flows=flows,
        positions_m=positions,
        range_m=range_m,
        title=_key(table, "title", "", _text) or "",
        radio=defaults.radio,
        rts=bool(_key(table, "rts", "", _boolean)),
    )


@contextmanager
def _as_topology_error() -> Iterator[None]:
    """Turn a `TomlError` into a `TopologyError`."""
    try:
        yield
    except TomlError as error:
        raise TopologyError(error.place, error.found, error.expected) from error


def _nodes(table: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, tuple[float, float]]]:
    nodes = table.get("nodes")
    if nodes is None:
        raise TopologyError(
            "",
            "missing key nodes",
            'the names of the nodes, as in nodes = ["roof", "gateway"], or a table',
        )
    if not isinstance(nodes, list | dict):
        raise TopologyError(
            "nodes", found(nodes), 'their names, as in nodes = ["roof", "gateway"], or a table'
        )
    check_count("nodes", len(nodes), 2, MAX_NODES)
    names = tuple(_name(name, "nodes") for name in nodes)
    if isinstance(nodes, list):
        return names, {}
    return names, {name: _position(nodes[name], f"nodes.{name}") for name in names}


@dataclass(frozen=True, slots=True)
class _Defaults:
    """Defaults of a link."""

    radio: str | None
    rate_bps: float | None
    channel: str

    def link(self, sender: str, receiver: str, entry: Mapping[str, Any], place: str) -> Link:
        """Return a link from its entry, which may be empty, its radio and rate checked."""
        radio = _key(entry, "radio", place, _text) or self.radio
        if radio is None:
            raise TopologyError(
                f"{place}: radio",
                "nothing",
                'how its frames are timed, here or at the top, as in radio = "mesh-ac"',
            )
        rate = _key(entry, "rate", place, _rate) or self.rate_bps
        channel = _key(entry, "channel", place, _channel) or self.channel
        return Link(sender, receiver, _possible_rate(radio, rate, place), channel, radio)


@functools.lru_cache(maxsize=4096)
def _possible_rate(radio: str, rate_bps: float | None, place: str) -> float:
    """Return the rate, the radio's highest for None; TopologyError for a rate the radio lacks."""
    try:
        chosen = preset(radio)
        mesh_exchange(chosen, rate_bps)
    except ParameterError as error:
        raise TopologyError(place, f"{error}", "a radio, and a rate that it has") from error
    return chosen.rate_bps if rate_bps is None else rate_bps


def _links(table: Mapping[str, Any], defaults: _Defaults) -> dict[tuple[str, str], Link]:
    links: dict[tuple[str, str], Link] = {}
    for place, entry in _entries(table, "link", MAX_LINKS):
        _only(entry, _LINK_KEYS, place)
        for sender, receiver in _directions(entry, place):
            link = defaults.link(sender, receiver, entry, place)
            if (sender, receiver) in links:
                raise TopologyError(place, f"the link {str(link)!r} again", "each direction once")
            links[sender, receiver] = link
    return links


def _directions(entry: Mapping[str, Any], place: str) -> list[tuple[str, str]]:
    if "between" in entry:
        ends = entry["between"]
        if "from" in entry or "to" in entry:
            raise TopologyError(place, "both between and from or to", "one of the two")
        if not isinstance(ends, list) or len(ends) != 2:
            raise TopologyError(f"{place}: between", found(ends), 'two nodes, as in ["a", "b"]')
        first, second = (_name(end, f"{place}: between") for end in ends)
        return [(first, second), (second, first)]
    if "from" not in entry or "to" not in entry:
        raise TopologyError(
            place, "no ends", 'between = ["a", "b"] for both directions, or from = "a" and to = "b"'
        )
    return [(_name(entry["from"], f"{place}: from"), _name(entry["to"], f"{place}: to"))]


def _with_links_of_routes(
    links: Mapping[tuple[str, str], Link], flows: tuple[Flow, ...], defaults: _Defaults
) -> dict[tuple[str, str], Link]:
    """Return the links, with a default link for every hop without a link."""
    hops = {hop for flow in flows for hop in flow.hops} - links.keys()
    return {**links, **{hop: defaults.link(*hop, {}, "the links") for hop in sorted(hops)}}


def _flows(table: Mapping[str, Any]) -> Iterator[Flow]:
    for number, (place, entry) in enumerate(_entries(table, "flow", MAX_FLOWS), start=1):
        _only(entry, _FLOW_KEYS, place)
        route = entry.get("route")
        if not isinstance(route, list):
            raise TopologyError(
                f"{place}: route", found(route), 'nodes from source to end, as in ["a", "b"]'
            )
        check_count(f"{place}: route: nodes", len(route), 2, MAX_HOPS + 1)
        name = entry.get("name", f"flow {number}")
        yield Flow(
            name=_name(name, f"{place}: name"),
            route=tuple(_name(node, f"{place}: route") for node in route),
            demand_bps=_key(entry, "rate", place, _rate),
            other_delay_s=_key(entry, "delay", place, _duration) or 0.0,
        )


def _entries(
    table: Mapping[str, Any], key: str, most: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = table.get(key, [])
    if not isinstance(entries, list):
        raise TopologyError(key, found(entries), f"entries that begin with [[{key}]]")
    check_count(key, len(entries), 0, most)
    for number, entry in enumerate(entries, start=1):
        place = f"{key} {number}"
        if not isinstance(entry, dict):
            raise TopologyError(place, found(entry), f"an entry that begins with [[{key}]]")
        yield place, entry


def _only(entry: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in entry:
        if key not in known:
            hint = near(key[:_MAX_NAME], known)
            raise TopologyError(
                place or "the top level",
                f"the key {short(repr(key))}",
                f"one of {', '.join(known)}{f' ({hint.strip()})' if hint else ''}",
            )


def _key(
    entry: Mapping[str, Any], key: str, place: str, read: Callable[[object, str], _T]
) -> _T | None:
    if key not in entry:
        return None
    return read(entry[key], f"{place}: {key}" if place else key)


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise TopologyError(place, found(value), 'a name, as in "gateway"')
    if len(value) > _MAX_NAME:
        raise TopologyError(
            place, f"a name of {len(value):,} characters", f"one of at most {_MAX_NAME}"
        )
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 200:
        raise TopologyError(place, found(value), "one line of text, at most 200 characters")
    return value


def _boolean(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise TopologyError(place, found(value), "true or false")
    return value


def _channel(value: object, place: str) -> str:
    # Channels are usually numbers, but any name is accepted.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000:
        return str(value)
    if not isinstance(value, str):
        raise TopologyError(place, found(value), 'a channel, as in 36 or "5 GHz"')
    return _name(value, place)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return float(value)


def _metres(value: object, place: str) -> float:
    number = _number(value)
    if number is None:
        raise TopologyError(place, found(value), "a distance in m, as in 250")
    return number


def _position(value: object, place: str) -> tuple[float, float]:
    coordinates = [_number(each) for each in value] if isinstance(value, list) else []
    match coordinates:
        case [float(x), float(y)]:
            return x, y
    raise TopologyError(place, found(value), "a position in m, as in [120, 80]")


def _rate(value: object, place: str) -> float:
    return _quantity(value, place, parse_rate, 'a rate with its unit, as in "11mbit"')


def _duration(value: object, place: str) -> float:
    return _quantity(value, place, parse_duration, 'a time with its unit, as in "20ms"')


def _quantity(value: object, place: str, parse: Callable[[str], float], expected: str) -> float:
    if not isinstance(value, str):
        raise TopologyError(place, found(value), expected)
    try:
        return float(parse(value))
    except (UnitError, OverflowError) as error:
        raise TopologyError(place, found(value), expected) from error
