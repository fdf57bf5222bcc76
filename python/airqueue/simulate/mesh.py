"""Meshes around a gateway, each in one line: chains, parking lots, crosses, grids, random meshes.

>>> from airqueue.simulate import mesh
>>> lot = mesh.parking_lot((4, 5, 6), server="10 ms", limit="10 packets", duration="1 s")
>>> lot.routes["up4"]
['node4', 'node3', 'node2', 'node1', 'gateway', 'server']

The simulator finds the routes of flows. Other keys of a scenario file go into ``overrides``, as in
``{"stations.node.queue.discipline": "fq_codel"}``. Every function returns an
`airqueue.simulate.Scenario` and raises ScenarioError.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypedDict, Unpack

from airqueue.simulate import overrides as changes
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.simulate.scenario import Scenario

if TYPE_CHECKING:
    from airqueue import description_words as words
    from airqueue.description import (
        Description,
        FlowTable,
        GridTable,
        MediumTable,
        PhyTable,
        RandomTable,
        StationTable,
    )

GATEWAY: Final = "gateway"
NODE: Final = "node"
SERVER: Final = "server"

_TWO_RAY: Final[MediumTable] = {"path_loss": {"two_ray": {}}}
_TCP: Final[FlowTable] = {"source": "tcp"}
_MOST: Final = 10_000
"""The most nodes of a mesh."""
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MOST_SEEDS: Final = 1_000
"""Disconnected random meshes before the search for a connected mesh ends."""


class Options(TypedDict, total=False):
    """Options of all meshes."""

    standard: words.Standard
    """``"802.11b"`` if not given."""
    rate: str | None
    """Rate of data frames; the standard's highest if not given."""
    links: Mapping[tuple[str, str], str]
    """Rates of single links: ``{("node1", "node2"): "2 Mb/s"}``."""
    medium: MediumTable
    """The table ``medium``; ns-2's two-ray ground if not given: frames are decoded up to 250 m and
    sensed up to 550 m."""
    metric: Literal["hops", "airtime"]
    """Metric of routes; hops if not given."""
    direction: Literal["up", "down", "both"]
    """To the gateway, ``up``, if not given. Flows are called ``up`` and ``down``, and where there are
    several what tells their nodes apart comes behind it."""
    flow: FlowTable
    """Traffic of the flows: ``{"source": "cbr", "rate": "100 kb/s"}``; ``{"source": "tcp"}`` if not
    given."""
    calls: bool
    """A call beside every flow, in the same direction: ``call_up``, ``call_down``."""
    server: str | None
    """The flows end at a server behind the gateway, over a wired link with this delay; otherwise at
    the gateway."""
    limit: str
    """Limit of all stations' queues; ``"50 packets"`` if not given."""
    duration: str
    """``"30 s"`` if not given."""
    behaviour: words.BehaviourName
    """``"standard"`` if not given."""
    overrides: Mapping[str, object]
    """Other keys of a scenario file."""


def chain(hops: int = 4, *, spacing_m: float = 200.0, **options: Unpack[Options]) -> Scenario:
    """Return a chain of nodes with a flow from its end: ``gateway``, ``node1``, ``node2``, ...

    Parameters
    ----------
    hops : int
        From the last node to the gateway.
    spacing_m : float
        Distance of neighbours in metres; by default they decode each other up to 250 m.
    **options
        Those of all meshes: `Options`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no mesh has.

    Examples
    --------
    >>> chain(2).routes
    {'up': ['node2', 'node1', 'gateway']}
    """
    check_whole("hops", hops, 1, _MOST)
    line = _line(NODE, hops, (spacing_m, 0.0))
    return _scenario([_station(GATEWAY), line], {"": f"{NODE}{hops}"}, options)


def parking_lot(
    flow_hops: Iterable[int] = (4, 5, 6), *, spacing_m: float = 200.0, **options: Unpack[Options]
) -> Scenario:
    """Return a chain with flows from nodes at several distances (MESH Fig. 9a).

    Parameters
    ----------
    flow_hops : iterable of int
        The distances of the senders from the gateway, in hops.
    spacing_m : float
        Distance of neighbours in metres; by default they decode each other up to 250 m.
    **options
        Those of all meshes: `Options`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no mesh has.

    Examples
    --------
    >>> parking_lot((1, 3)).flows
    ['up1', 'up3']
    """
    counts = sorted(set(flow_hops))
    if not counts:
        raise ScenarioError("flow_hops: there are none; give the hops of at least one flow")
    for hops in counts:
        check_whole("flow_hops", hops, 1, _MOST)
    line = _line(NODE, counts[-1], (spacing_m, 0.0))
    senders = {str(hops): f"{NODE}{hops}" for hops in counts}
    return _scenario([_station(GATEWAY), line], senders, options)


def cross(
    hops: int = 5, arms: int = 4, *, spacing_m: float = 200.0, **options: Unpack[Options]
) -> Scenario:
    """Return arms around the gateway, ``a1``, ``a2``, ..., a flow from each end (MESH Fig. 9b).

    Parameters
    ----------
    hops : int
        Of each arm.
    arms : int
        At most 26.
    spacing_m : float
        Distance of neighbours in metres; by default they decode each other up to 250 m.
    **options
        Those of all meshes: `Options`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no mesh has.

    Examples
    --------
    >>> cross(2, 3).routes["up_c"]
    ['c2', 'c1', 'gateway']
    """
    check_whole("hops", hops, 1, _MOST)
    check_whole("arms", arms, 1, len(_LETTERS))
    stations = [_station(GATEWAY)]
    for at, letter in enumerate(_LETTERS[:arms]):
        angle = math.tau * at / arms
        # Positions on an axis are exact.
        step = [round(spacing_m * along, 9) + 0.0 for along in (math.cos(angle), math.sin(angle))]
        stations.append(_line(letter, hops, (step[0], step[1])))
    senders = {f"_{letter}": f"{letter}{hops}" for letter in _LETTERS[:arms]}
    return _scenario(stations, senders, options)


def grid(
    columns: int = 4,
    rows: int = 4,
    *,
    flows: int = 4,
    gateway: int = 1,
    spacing_m: float = 200.0,
    **options: Unpack[Options],
) -> Scenario:
    """Return rows and columns of nodes, ``node1``, ``node2``, ... row by row.

    Parameters
    ----------
    columns, rows : int
        Numbers of nodes.
    flows : int
        Senders, evenly spread over the numbers of the other nodes; the last node is a sender.
    gateway : int
        The gateway's number.
    spacing_m : float
        Distance of neighbours in metres; by default they decode each other up to 250 m.
    **options
        Those of all meshes: `Options`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no mesh has.

    Examples
    --------
    >>> grid(3, 3, flows=2).routes
    {'up5': ['node5', 'node2', 'node1'], 'up9': ['node9', 'node6', 'node3', 'node2', 'node1']}
    """
    check_whole("columns", columns, 1, _MOST)
    check_whole("rows", rows, 1, _MOST)
    nodes = columns * rows
    check_whole("columns * rows", nodes, 2, _MOST)
    check_whole("gateway", gateway, 1, nodes)
    rectangle: GridTable = {"columns": columns, "spacing": f"{spacing_m!r} m"}
    group: StationTable = {**_station(NODE), "count": nodes, "grid": rectangle}
    others = [number for number in range(1, nodes + 1) if number != gateway]
    return _scenario([group], _spread(flows, others), options, f"{NODE}{gateway}")


def random(
    nodes: int = 30,
    *,
    area_m: tuple[float, float] = (1000.0, 1000.0),
    apart_m: float = 50.0,
    flows: int = 4,
    seed: int = 0,
    **options: Unpack[Options],
) -> Scenario:
    """Return nodes anywhere in a rectangle around the gateway.

    Parameters
    ----------
    nodes : int
        Beside the gateway.
    area_m : pair of float
        Width and height in metres.
    apart_m : float
        Least distance of two nodes in metres.
    flows : int
        Senders, spread over the nodes as in `grid`.
    seed : int
        Positions are those of the first seed, from this one on, that gives a connected network.
    **options
        Those of all meshes: `Options`.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no mesh has, or no seed gives a connected network.

    Examples
    --------
    >>> random(12, area_m=(500, 500), flows=2).flows
    ['up6', 'up12']
    """
    check_whole("nodes", nodes, 1, _MOST)
    check_whole("seed", seed, 0, 2**32 - _MOST_SEEDS)
    width, height = area_m
    corner = _metres(-width / 2, -height / 2)
    group: StationTable = {"name": NODE, "count": nodes, "position": corner}
    senders = _spread(flows, range(1, nodes + 1))
    for places in range(seed, seed + _MOST_SEEDS):
        scattered: RandomTable = {
            "area": _metres(width, height),
            "min_distance": f"{apart_m!r} m",
            "seed": places,
        }
        try:
            return _scenario([_station(GATEWAY), {**group, "random": scattered}], senders, options)
        except ScenarioError as error:
            if not str(error).startswith("routing: "):
                raise
            apart = error
    raise ScenarioError(
        f"random: with {_MOST_SEEDS:,} seeds in a row the network falls apart; give more nodes, less "
        f"room, or a farther reach. With the last one: {apart}"
    )


def _spread(flows: int, numbers: Sequence[int]) -> dict[str, str]:
    """Return so many of the nodes, evenly spread, by what tells their flows apart."""
    check_whole("flows", flows, 1, len(numbers))
    chosen = [numbers[len(numbers) * (at + 1) // flows - 1] for at in range(flows)]
    return {str(number): f"{NODE}{number}" for number in chosen}


def _metres(x: float, y: float) -> list[str]:
    return [f"{x!r} m", f"{y!r} m"]


def _station(name: str) -> StationTable:
    return {"name": name, "position": _metres(0.0, 0.0)}


def _line(name: str, count: int, step: tuple[float, float]) -> StationTable:
    """Return nodes in a line that begins a step away from the gateway."""
    return {"name": name, "count": count, "position": _metres(*step), "step": _metres(*step)}


def _scenario(
    stations: list[StationTable],
    senders: Mapping[str, str],
    options: Options,
    gateway: str = GATEWAY,
) -> Scenario:
    """Return the scenario; the senders by what tells their flows apart."""
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise TypeError(f"{unknown[0]!r} is no option of a mesh")
    server = options.get("server")
    phy: PhyTable = {"standard": options.get("standard", "802.11b")}
    rate = options.get("rate")
    if rate is not None:
        phy["rate"] = rate
    links = options.get("links", {})
    description: Description = {
        "behaviour": options.get("behaviour", "standard"),
        "duration": options.get("duration", "30 s"),
        "phy": phy,
        "medium": options.get("medium", _TWO_RAY),
        "queue": {"limit": options.get("limit", "50 packets")},
        "stations": stations,
        "links": [{"between": list(pair), "rate": rate} for pair, rate in links.items()],
        "routing": {"metric": options.get("metric", "hops")},
        "hosts": [] if server is None else [{"name": SERVER, "link": gateway, "delay": server}],
        "flows": list(_flows(senders, gateway if server is None else SERVER, options)),
    }
    return Scenario(changes.apply(description, options.get("overrides", {})))


def _flows(senders: Mapping[str, str], sink: str, options: Options) -> Iterator[FlowTable]:
    direction = options.get("direction", "up")
    if direction not in ("up", "down", "both"):
        raise ScenarioError(f"direction: {direction!r}; expected up, down or both")
    carried: list[tuple[str, FlowTable]] = [("", options.get("flow", _TCP))]
    if options.get("calls", False):
        carried.append(("call_", {"source": "voice"}))
    for prefix, keys in carried:
        for route in ("up", "down"):
            for number, node in senders.items():
                ends = (node, sink) if route == "up" else (sink, node)
                if direction in (route, "both"):
                    name = f"{prefix}{route}{number}"
                    yield {"name": name, "from": ends[0], "to": ends[1], **keys}
