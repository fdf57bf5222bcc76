"""A simulated network as a picture. Loads matplotlib, so imported only when needed."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from airqueue import monitored, text
from airqueue.models.collision_domain import CollisionDomains
from airqueue.models.errors import ModelError
from airqueue.models.mesh_topology import Link as MeshLink
from airqueue.plots.network import Link, NetworkDrawing, Node, Route, circle, draw
from airqueue.plots.simulation_picture import about, file_format
from airqueue.simulate import Results, Scenario
from airqueue.simulate.controlled import ObservedNetwork as Layout
from airqueue.simulate.reported import station_of
from airqueue.simulate.tables import LIMITS

_MOST_UNUSED: Final = 5_000
"""Most links without flows that are drawn: more would hide the network."""


class NetworkPlot:
    """A picture in the format of its file's suffix; raises ScenarioError where that is none."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._format = file_format(path, "map")

    def draw(self, name: str, scenario: Scenario, results: Results) -> bytes:
        """Return the file: stations, links and flows, with means over the replications."""
        title, said = f"airqueue simulate {name}", f"{name}: {about(results)}"
        return draw(_network(scenario, results), self._format, title=title, description=said)


def _network(scenario: Scenario, results: Results) -> NetworkDrawing:
    layout, look = scenario.layout()
    names = layout["stations"]
    numbers = {station: number for number, station in enumerate(names)}
    rates: dict[tuple[int, int], set[float]] = {}
    for seen in look["flows"]:
        for (a, b), hop in zip(pairwise(seen["route"]), seen["hops"], strict=True):
            rates.setdefault(_pair(numbers[a], numbers[b]), set()).add(hop["rate_bps"])
    heard = [_pair(a, b) for a, b in layout["neighbours"]]
    unused = [pair for pair in heard if pair not in rates][:_MOST_UNUSED]
    links = {pair: " / ".join(map(text.rate, sorted(of))) for pair, of in rates.items()}
    routes = tuple(
        Route(
            _flow_label(flow["name"], results),
            tuple(numbers[name] for name in seen["route"]),
            tuple(tuple(numbers[name] for name in route) for route in flow["later"]),
        )
        for flow, seen in zip(layout["flows"], look["flows"], strict=True)
    )
    limited, members = _domain(layout, look)
    return NetworkDrawing(
        _nodes(layout, results),
        tuple(Link(pair, links.get(pair, "")) for pair in sorted([*unused, *links])),
        routes,
        frozenset(_pair(numbers[link.sender], numbers[link.receiver]) for link in members),
        f"collision domain that limits {limited}",
    )


def _pair(a: int, b: int) -> tuple[int, int]:
    return (min(a, b), max(a, b))


def _nodes(layout: monitored.Map, results: Results) -> tuple[Node, ...]:
    names = layout["stations"]
    places = layout["positions_m"] or circle(len(names))
    waiting: dict[str, float] = {}
    dropped: dict[str, float] = {}
    known = frozenset(names)
    for queue, figures in results.summary["queues"].items():
        station = station_of(queue, known)
        if station is not None:
            length = figures["length_mean_packets"]["mean"]
            waiting[station] = waiting.get(station, 0.0) + (length or 0.0)
            lost = figures["dropped_packets"]["mean"] or 0.0
            dropped[station] = dropped.get(station, 0.0) + lost
    limits = dict(zip(names, layout["limit_packets"], strict=True)) | _set_last(results)
    total = sum(dropped.values())
    return tuple(
        Node(
            name,
            (float(place[0]), float(place[1])),
            waiting.get(name),
            limits[name],
            dropped.get(name, 0.0) / total if total else 0.0,
        )
        for name, place in zip(names, places, strict=True)
    )


def _set_last(results: Results) -> dict[str, float]:
    """Return the last limits of the first replication, if limits were set while it ran."""
    run = next(iter(results.runs.values()), None)
    last: dict[str, float] = {}
    for row in [] if run is None else run.get(LIMITS, []):
        if row["flow"] is not None:
            continue
        if row["limit_packets"] is None:
            last.pop(row["station"], None)
        else:
            last[row["station"]] = row["limit_packets"]
    return last


def _flow_label(name: str, results: Results) -> str:
    connection = results.summary["connections"].get(name)
    if connection is not None and connection["goodput_bps"]["mean"] is not None:
        words = [name, text.rate(connection["goodput_bps"]["mean"])]
        rtt_s = connection["rtt_mean_s"]["mean"]
        return ", ".join([*words, f"RTT {text.seconds(rtt_s)}"] if rtt_s else words)
    flow = results.summary["flows"][name]
    words = [name, text.rate(flow["throughput_bps"]["mean"] or 0.0)]
    delay_s = flow["delay_mean_s"]["mean"]
    return ", ".join([*words, text.seconds(delay_s)] if delay_s else words)


def _domain(layout: monitored.Map, look: monitored.Snapshot) -> tuple[str, tuple[MeshLink, ...]]:
    """Return the slowest flow of several hops, and the links of the domain that limits the flow."""
    try:
        topology, _ = Layout(layout).mesh(look)
        domains = CollisionDomains(topology)
        found = domains.bottlenecks()
    except ModelError:
        # One station, or a mesh too large for the model: draw the rest without the domain.
        return "", ()
    far = [of for flow, of in zip(topology.flows, found, strict=True) if len(flow.hops) > 1]
    if not far:
        return "", ()
    least = min(far, key=lambda of: of.rate_bps)
    return least.flow, tuple(domains.members(domains.links.index(least.centre)))
