"""A scenario as a mesh that `airqueue.sizing.mesh` sizes: links, their timing, flows of TCP."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from airqueue.models.mesh_exchange import MeshExchange
from airqueue.models.mesh_file import naming, topology_of
from airqueue.models.mesh_topology import Link, Topology
from airqueue.models.packets import SEGMENT_BYTES
from airqueue.simulate.controlled import ObservedNetwork, is_answered
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.reported import is_of
from airqueue.simulate.scenario import Scenario, errors_in, read_file
from airqueue.text import listed

_MOST_NAMED: Final = 5
"""Flows that a caution names; the others are counted."""


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh to size, from a mesh file or from a scenario."""

    topology: Topology
    exchanges: Mapping[Link, MeshExchange] = field(default_factory=dict)
    """Timing of the links that flows use; empty for mesh files, which name radios instead."""
    segment_bytes: float = SEGMENT_BYTES
    """Payload of the largest packets."""
    cautions: tuple[str, ...] = ()
    """Parts of a scenario that the sizes leave out, in sentences."""
    scenario: Scenario | None = None
    """None for mesh files."""


def read_mesh(path: str | os.PathLike[str]) -> Mesh:
    """Read a mesh file (`airqueue.models.mesh_file`), or a scenario file, which has ``stations``.

    Raises OSError, or TopologyError or ScenarioError whose message names the file, the place in it,
    what was found and what was expected.
    """
    with naming(path), errors_in(path) as source:
        table = read_file(path, source)
        return mesh_of(Scenario(table)) if "stations" in table else Mesh(topology_of(table))


def mesh_of(scenario: Scenario) -> Mesh:
    """Return a scenario's mesh as the simulation begins with it.

    Links have the rates and the timing of the simulated frames; which stations are neighbours is what
    the medium says. Raises ScenarioError where no flow of TCP goes over the air, and TopologyError
    beyond the limits of `airqueue.models.mesh_topology`.

    >>> from airqueue.simulate import mesh
    >>> [flow.route for flow in mesh_of(mesh.chain(2)).topology.flows]
    [('node2', 'node1', 'gateway')]
    """
    layout, seen = scenario.layout()
    flows = list(zip(layout["flows"], seen["flows"], strict=True))
    pings = tuple(_pings(scenario))
    answered = [
        (flow, of) for flow, of in flows if is_answered(of) and not _named(flow["name"], pings)
    ]
    sized = {flow["name"] for flow, _ in answered}
    if not answered:
        raise ScenarioError(
            'flows: none of TCP goes over the air; a buffer is sized for flows with source = "tcp"'
        )
    network = ObservedNetwork({**layout, "flows": [flow for flow, _ in answered]})
    topology, exchanges = network.mesh({**seen, "flows": [of for _, of in answered]})
    return Mesh(
        topology,
        exchanges,
        network.segment_bytes,
        tuple(
            _cautions(scenario, [flow["name"] for flow, _ in flows if flow["name"] not in sized])
        ),
        scenario,
    )


def _pings(scenario: Scenario) -> Iterator[str]:
    """Yield the names of flows of requests, which are answered, too, and not held back by losses."""
    for table in scenario.description.get("flows", []):
        if table.get("source") == "ping":
            yield table.get("name", f"{table['from']}->{table['to']}")


def _named(name: str, groups: tuple[str, ...]) -> bool:
    """Return whether a flow has one of these names, or is a member of such a group."""
    return any(is_of(name, group) for group in groups)


def _cautions(scenario: Scenario, left_out: list[str]) -> Iterator[str]:
    description = scenario.description
    if left_out:
        named, rest = left_out[:_MOST_NAMED], len(left_out[_MOST_NAMED:])
        names = listed([*named, f"{rest} more"] if rest else named)
        yield (
            "Only flows of TCP are sized, whose windows need a buffer. Neither the buffers nor the "
            f"forecasts count the air of {names}."
        )
    if description.get("changes"):
        yield "The scenario changes its network while it runs: these sizes are for its beginning."
