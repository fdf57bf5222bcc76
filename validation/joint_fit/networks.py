"""The networks of the tables with a setting, and their cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from airqueue.description import Description
from airqueue.simulate import Results
from airqueue_papers.item import Simulation
from airqueue_papers.mesh import figures, networks
from airqueue_papers.mesh.chains import HOPS
from airqueue_papers.mesh.several import SHAPES, call_ms
from validation.joint_fit.parameters import Cell, Length, Plan, Setting

_WEIGHT: Final = {"table3": 1.0, "table4": 1.0, "table6": 2.0, "table8": 8.0, "table9": 8.0}
"""Relative duration of a table's runs."""
_FIGURES: Final[Mapping[str, Callable[[Results], Any]]] = {
    "goodput": figures.goodput_kbps,
    "rtt": figures.rtt_ms,
    "delay": call_ms,
}


def described(plan: Plan, setting: Setting, table: str, scheme: str, seconds: int) -> Description:
    """Return the scenario of a scheme in a table."""
    values = plan.values(setting)
    changes: dict[str, object] = {}
    for value in values:
        changes |= value.changes
    spacing_m = next(value.spacing_m for value in values if value.spacing_m is not None)
    of = next(each for each in networks.SCHEMES if each.name == scheme)
    paced = next((value.pacing for value in values if value.pacing), "")
    if paced and of.name == networks.TCPAP.name:
        changes["tcp.pacing"] = paced
    of = replace(of, changes={**of.changes, **changes})
    apart = any(value.separate for value in values) and of.name == networks.SIZED.name
    variant = networks.SEPARATE if apart else ""
    if table in SHAPES:
        shape, calls = SHAPES[table]
        return networks.several(partial(shape, spacing_m=spacing_m), calls, seconds, of, variant)
    distance_m = networks.CLOSE_M[HOPS] if table == "table3" else spacing_m
    return networks.scheme_chain(HOPS, distance_m, seconds, of, variant)


def runs(plan: Plan, setting: Setting, length: Length) -> dict[tuple[str, str], Simulation]:
    """Return the simulations of a setting by table and scheme."""
    return {
        (cell.table, cell.scheme): Simulation(
            described(plan, setting, cell.table, cell.scheme, length.seconds),
            length.replications,
            weight=_WEIGHT[cell.table],
        )
        for cell in plan.cells
    }


def numbers(
    plan: Plan, setting: Setting, outcomes: Mapping[tuple[str, str], Results]
) -> dict[str, float]:
    """Return our number for each claim, in the printed unit."""
    kilo = next(value.kilo for value in plan.values(setting) if value.kilo is not None)
    return {
        cell.claim: _number(cell, outcomes[cell.table, cell.scheme], kilo) for cell in plan.cells
    }


def _number(cell: Cell, results: Results, kilo: int) -> float:
    mean = float(_FIGURES[cell.figure](results).mean)
    return mean * 1000 / kilo if cell.figure == "goodput" else mean
