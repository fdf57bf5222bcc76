"""A network as a picture: positions of stations, links, routes of flows, and the queues where
packets wait and are dropped.

Drawn like `airqueue.plots.sweep`: without pyplot, the same bytes for the same data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Wedge
from matplotlib.patheffects import withStroke

from airqueue.plots.parts import plain, saved
from airqueue.plots.style import COLOURS, STYLE

_WIDTH_INCHES: Final = 7.2
_HEIGHTS_INCHES: Final = (1.1, 9.0)
"""The least and the greatest for the network itself."""
_MOST_NAMED: Final = 60
"""Stations up to which each has its name and figures beside it."""
_MOST_FLOWS: Final = 12
"""Flows up to which each has a colour and a line in the legend."""
_NODE: Final = 0.13
"""Radius of a station that nobody is close to, of the distance between neighbours."""
_GREY: Final = "0.80"
_USED: Final = "0.45"
_SHADE: Final = "#fdf0d5"
_LOST: Final = "#b00020"
_DASHED: Final = (0, (4, 2))
"""Dashes of routes that flows take later."""
_HALO: Final = (withStroke(linewidth=1.6, foreground="white"),)
"""Outline of text, which may cover lines."""

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Node:
    """A station; figures are means."""

    name: str
    place_m: Place
    waiting: float | None = None
    """Packets in the queue; None for a station without packets to send."""
    limit: float | None = None
    """Limit of the queue; None if unknown."""
    lost: float = 0.0
    """The station's share of all packets dropped by queues."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two stations, by their index in the list, that decode each other's frames."""

    ends: tuple[int, int]
    label: str = ""
    """Label of a link that flows use, such as its rate."""


@dataclass(frozen=True, slots=True)
class Route:
    """A flow."""

    label: str
    nodes: tuple[int, ...]
    """Stations from the first to the last."""
    later: tuple[tuple[int, ...], ...] = ()
    """Routes that the flow takes later: these are dashed."""


@dataclass(frozen=True, slots=True)
class NetworkDrawing:
    """The network to draw."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    routes: tuple[Route, ...]
    domain: frozenset[tuple[int, int]] = frozenset()
    """Links of the collision domain that limits a flow: their background is shaded."""
    domain_label: str = ""


def draw(
    network: NetworkDrawing, file_format: str, *, title: str = "", description: str = ""
) -> bytes:
    """Return the network as a file of one of `airqueue.plots.parts.FORMATS`.

    Title and description go into the file's metadata; the description is the last line, too.
    """
    with mpl.rc_context(STYLE):
        places = np.array([node.place_m for node in network.nodes], dtype=float)
        unit = _neighbour_m(network, places)
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        _frame(figure, axes, places, unit)
        _ground(axes, network, places)
        _links(axes, network, places)
        _routes(axes, network, places, unit)
        _nodes(axes, network, places, unit)
        _legend(figure, network, description)
        return saved(figure, file_format, title, description)


def _neighbour_m(network: NetworkDrawing, places: np.ndarray) -> float:
    """Return the distance between close neighbours: the scale of the picture."""
    used = [np.hypot(*(places[a] - places[b])) for link in network.links for a, b in [link.ends]]
    apart = [float(length) for length in used if length > 0]
    return float(np.quantile(apart, 0.1)) if apart else 1.0


def _frame(figure: Figure, axes: Axes, places: np.ndarray, unit: float) -> None:
    low, high = places.min(axis=0) - 0.5 * unit, places.max(axis=0) + 0.5 * unit
    width, height = high - low
    least, most = _HEIGHTS_INCHES
    inches = min(max(_WIDTH_INCHES * height / width, least), most)
    figure.set_size_inches(_WIDTH_INCHES, inches + 0.9)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_aspect("equal")
    axes.set_axis_off()


def _ground(axes: Axes, network: NetworkDrawing, places: np.ndarray) -> None:
    for a, b in sorted(network.domain):
        x, y = zip(places[a], places[b], strict=True)
        axes.plot(x, y, color=_SHADE, linewidth=34, solid_capstyle="round", zorder=0)


def _links(axes: Axes, network: NetworkDrawing, places: np.ndarray) -> None:
    hops = Counter(frozenset(hop) for route in network.routes for hop in pairwise(route.nodes))
    many = len(network.routes) > _MOST_FLOWS
    for link in network.links:
        a, b = (places[end] for end in link.ends)
        flows = hops[frozenset(link.ends)]
        # With many flows the picture shows their number, with few flows which they are.
        width = 0.9 + (3.0 * math.sqrt(flows / max(hops.values())) if many and flows else 0.0)
        axes.plot(
            *zip(a, b, strict=True),
            color=_USED if flows else _GREY,
            linewidth=width if flows else 0.4,
            solid_capstyle="round",
            zorder=1,
        )
    labels = {link.label for link in network.links if link.label}
    if len(labels) < 2 or len(hops) > _MOST_NAMED:
        return
    for link in network.links:
        if link.label:
            a, b = (places[end] for end in link.ends)
            axes.annotate(
                link.label,
                (a + b) / 2,
                xytext=_beside(b - a, -7.0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=5.5,
                color=_USED,
                rotation=_upright(b - a),
                path_effects=_HALO,
                zorder=4,
            )


def _beside(direction: np.ndarray, points: float) -> tuple[float, float]:
    """Return an offset at a right angle: to the right of who walks to the right."""
    x, y = direction if direction[0] >= 0 else -direction
    length = math.hypot(x, y) or 1.0
    return (-y / length * points, x / length * points)


def _upright(direction: np.ndarray) -> float:
    angle = math.degrees(math.atan2(direction[1], direction[0]))
    return (angle + 90.0) % 180.0 - 90.0


def _routes(axes: Axes, network: NetworkDrawing, places: np.ndarray, unit: float) -> None:
    """Draw each flow beside the links, those on one link next to each other."""
    if len(network.routes) > _MOST_FLOWS:
        return
    lanes: Counter[frozenset[int]] = Counter()
    for number, route in enumerate(network.routes):
        colour = COLOURS[number % len(COLOURS)]
        for nodes in (route.nodes, *route.later):
            hops = list(pairwise(nodes))
            lane = max((lanes[frozenset(hop)] for hop in hops), default=0)
            for a, b in hops:
                lanes[frozenset((a, b))] = lane + 1
                shift = np.array(_beside(places[b] - places[a], (0.06 + 0.05 * lane) * unit))
                axes.add_patch(
                    FancyArrowPatch(
                        tuple(places[a] + shift),
                        tuple(places[b] + shift),
                        arrowstyle="-|>" if (a, b) == hops[-1] else "-",
                        mutation_scale=6,
                        shrinkA=0,
                        shrinkB=0,
                        color=colour,
                        linestyle="-" if nodes is route.nodes else _DASHED,
                        linewidth=1.1,
                        capstyle="round",
                        zorder=2,
                    )
                )


def _nodes(axes: Axes, network: NetworkDrawing, places: np.ndarray, unit: float) -> None:
    """Draw stations as clocks that show how full their queues are."""
    most = max((node.limit or node.waiting or 0.0 for node in network.nodes), default=0.0)
    radius = _NODE * unit
    for node, place in zip(network.nodes, places, strict=True):
        centre = (float(place[0]), float(place[1]))
        edge = _LOST if node.lost >= 0.01 else "0.2"
        axes.add_patch(Circle(centre, radius, facecolor="white", edgecolor="none", zorder=3))
        whole = node.limit or most
        if node.waiting and whole:
            full = min(1.0, node.waiting / whole)
            wedge = Wedge(centre, radius, 90.0 - 360.0 * full, 90.0, color=COLOURS[4], zorder=3)
            axes.add_patch(wedge)
        outline = Circle(
            centre, radius, fill=False, edgecolor=edge, linewidth=0.8 + 2.2 * node.lost, zorder=3
        )
        axes.add_patch(outline)
        if len(network.nodes) <= _MOST_NAMED:
            _told(axes, node, centre, radius)


def _told(axes: Axes, node: Node, centre: Place, radius: float) -> None:
    x, y = centre
    axes.annotate(
        plain(node.name, 18),
        (x, y - radius),
        xytext=(0, -2),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=6.5,
        path_effects=_HALO,
        zorder=5,
    )
    lines = []
    if node.waiting is not None and node.waiting >= 0.05:
        of = "" if node.limit is None else f" of {node.limit:g}"
        lines.append(f"{node.waiting:.1f}{of}")
    if node.lost >= 0.01:
        lines.append(f"{node.lost:.0%} of drops")
    for number, line in enumerate(reversed(lines)):
        axes.annotate(
            line,
            (x, y + radius),
            xytext=(0, 2 + 7 * number),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=5.5,
            color=_LOST if "drops" in line else "0.2",
            path_effects=_HALO,
            zorder=5,
        )


def _legend(figure: Figure, network: NetworkDrawing, description: str) -> None:
    handles = [
        Line2D([], [], marker="o", color="none", markerfacecolor=COLOURS[4], markeredgecolor="0.2")
    ]
    labels = ["mean length of the queue, of its limit where there is one (packets)"]
    if any(node.lost >= 0.01 for node in network.nodes):
        handles.append(
            Line2D([], [], marker="o", color="none", markerfacecolor="w", markeredgecolor=_LOST)
        )
        labels.append("drops packets")
    rates = {link.label for link in network.links if link.label}
    if rates:
        handles.append(Line2D([], [], color=_USED, linewidth=0.9))
        what = f"all at {next(iter(rates))}" if len(rates) == 1 else "with their rates"
        wide = "; the wider, the more flows" if len(network.routes) > _MOST_FLOWS else ""
        labels.append(f"links that flows use, {what}{wide}")
    if network.domain:
        handles.append(Line2D([], [], color=_SHADE, linewidth=6))
        labels.append(plain(network.domain_label, 60))
    if len(network.routes) <= _MOST_FLOWS:
        for number, route in enumerate(network.routes):
            handles.append(Line2D([], [], color=COLOURS[number % len(COLOURS)]))
            labels.append(plain(route.label, 60))
        if any(route.later for route in network.routes):
            handles.append(Line2D([], [], color="0.2", linestyle=_DASHED, linewidth=1.1))
            labels.append("a route of a flow, later")
    columns = 2 if len(handles) > 3 else 1
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    legend.set_title(plain(description, 100))


def circle(count: int) -> Sequence[Place]:
    """Return positions on a circle for stations without positions of their own.

    >>> [tuple(round(x, 3) + 0.0 for x in place) for place in circle(2)]
    [(0.0, 1.0), (0.0, -1.0)]
    """
    turns = [math.tau * (0.25 - number / max(count, 1)) for number in range(count)]
    return [(math.cos(turn), math.sin(turn)) for turn in turns]
