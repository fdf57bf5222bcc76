"""What simulations say of a mesh's limits: figures for `airqueue.sizing.mesh_advice`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airqueue.sizing.advice import Column, Table
from airqueue.sizing.ap import MUCH
from airqueue.sizing.mesh import MeshForecast
from airqueue.text import percent, plural, rate, seconds


@dataclass(frozen=True, slots=True)
class TriedFlow:
    """What a flow gets, simulated; half widths are of 95 % intervals."""

    goodput_bps: float
    goodput_half_width_bps: float
    delay_s: float | None
    """Mean, from the first node to the last; None if nothing arrived."""


@dataclass(frozen=True, slots=True)
class MeshTrial:
    """A scenario with the queues that it has, and with the limits; by the name of a flow."""

    as_it_is: Mapping[str, TriedFlow]
    limited: Mapping[str, TriedFlow]
    replications: int

    def table(self, forecast: MeshForecast) -> Table:
        """Return what was said of each flow, beside what it gets."""
        rows = []
        for flow in forecast.flows:
            name = flow.buffers.flow.name
            before, after = self.as_it_is[name], self.limited[name]
            rows.append(
                (
                    name,
                    flow.goodput_bps,
                    *(after.goodput_bps, after.goodput_half_width_bps, after.delay_s),
                    *(before.goodput_bps, before.goodput_half_width_bps, before.delay_s),
                )
            )
        return Table(
            "simulated",
            f"Simulated, {plural(self.replications, 'time')}: with these limits, and with the file's "
            "own queues",
            (
                Column("flow", "flow"),
                Column("forecast_bps", "forecast"),
                Column("limited_goodput_bps", "with limits"),
                Column("limited_goodput_half_width_bps", "±"),
                Column("limited_delay_s", "delay with limits"),
                Column("goodput_bps", "file's queues"),
                Column("goodput_half_width_bps", "±"),
                Column("delay_s", "delay in file"),
            ),
            tuple(rows),
        )

    def found(self) -> str:
        """Say what all flows get, and how long their packets take."""
        before, after = (_together(flows) for flows in (self.as_it_is, self.limited))
        said = (
            f"Simulated, the flows get {_words(self.limited)} with these limits, and "
            f"{_words(self.as_it_is)} with the queues of the file."
        )
        if after >= (1.0 - MUCH) * before:
            return said
        return f"{said} The limits cost {percent(1.0 - after / before)} of the goodput."


def _together(flows: Mapping[str, TriedFlow]) -> float:
    return sum(flow.goodput_bps for flow in flows.values())


def _words(flows: Mapping[str, TriedFlow]) -> str:
    delays = [flow.delay_s for flow in flows.values() if flow.delay_s is not None]
    slowest = f" at mean delays of up to {seconds(max(delays))}" if delays else ""
    return f"{rate(_together(flows))}{slowest}"
