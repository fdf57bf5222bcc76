"""MESH: sized buffers and TCP-AP, and what other claims rest on. Most exchange runs of an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from airqueue.description import Description
from airqueue.simulate import mesh
from airqueue_papers.item import Simulation
from airqueue_papers.mesh.chains import HOPS
from airqueue_papers.mesh.networks import FIFO50, SCHEMES, SIZED, TCPAP, USUAL_FRAMES
from airqueue_papers.mesh.several import SHAPES
from airqueue_papers.sabotage import Runs, Sabotage, scenarios, with_scenario

_DEFAULT: Final = "default"
"""Runs of the test bed with Linux's buffers."""
_CLEAR: Final = "-60 dBm"
_LOSSY: Final = "-90 dBm"
"""Of a thousand frames of 1500 bytes at 11 Mb/s 357 are lost, of ones of 80 bytes 31."""
_RING: Final = 2
"""Frames of the least ring."""


def _instead(runs: Runs, scheme: str, usual: str) -> Runs:
    """Return runs with the usual ones for those of a scheme, of the same variant if there is one."""
    return {
        name: (runs.get(name.replace(scheme, usual)) or runs[usual]) if scheme in name else run
        for name, run in runs.items()
    }


def _not_sized(item: str, runs: Runs) -> Runs:
    if item == "abstract":
        return {name: runs[name.removesuffix(f", {SIZED.name}")] for name in runs}
    if item not in SHAPES:
        of_test_bed = any(name.startswith(_DEFAULT) for name in runs)
        return _instead(runs, SIZED.name, _DEFAULT if of_test_bed else FIFO50.name)
    # Flows keep queues of their own, which alone keep them from waiting for each other.
    alone = _instead(
        {k: v for k, v in runs.items() if k.startswith("alone")}, SIZED.name, FIFO50.name
    )
    limited = {name: with_scenario(run, _usual_limits) for name, run in runs.items()}
    return {**limited, **alone}


def _usual_limits(described: Description) -> None:
    described.pop("buffers", None)


def _not_paced(item: str, runs: Runs) -> Runs:
    if item == "paced":
        return dict.fromkeys(runs, runs["none"])
    return _instead(runs, TCPAP.name, FIFO50.name)


def _paced(_: str, runs: Runs) -> Runs:
    return {**runs, "none": runs["tcp-ap"]}


def _all_sense(item: str, runs: Runs) -> Runs:
    if item == "table4":
        return {**runs, FIFO50.name: runs["close"]}
    return _instead(runs, "far", "close")


def _one_flow(_: str, runs: Runs) -> Runs:
    changed = dict(runs)
    for each in (FIFO50, SIZED):
        several, alone = runs[each.name], runs[f"alone-{each.name}"]
        assert isinstance(several, Simulation)
        assert isinstance(alone, Simulation)
        # As often as the others: losses are taken replication by replication.
        changed[each.name] = replace(alone, replications=several.replications)
    return changed


def _no_calls(_: str, runs: Runs) -> Runs:
    return {**runs, **{each.name: runs[f"files-{each.name}"] for each in SCHEMES}}


def _shallow(described: Description) -> None:
    described["queue"] = {"limit": f"{USUAL_FRAMES - _RING} packets", "ring": f"{_RING} packets"}


def _unpaced_senders(described: Description) -> None:
    described["tcp"].pop("pacing", None)


def _lossy_downwards(described: Description) -> None:
    names = [mesh.GATEWAY, *(f"{mesh.NODE}{place}" for place in range(1, HOPS + 1))]
    described["medium"] = {
        "errors": "snr",
        "links": [
            {"from": a, "to": b, "both": False, "power": _LOSSY if there == here + 1 else _CLEAR}
            for here, a in enumerate(names)
            for there, b in enumerate(names)
            if a != b
        ],
    }
    for station in described["stations"]:
        station.pop("position")
        station.pop("step", None)


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "sized": Sabotage(_not_sized),
    "tcpap": Sabotage(_not_paced),
    "unpaced": Sabotage(_paced),
    "hidden": Sabotage(_all_sense),
    "symmetric": Sabotage(scenarios(_lossy_downwards)),
    "weighted": Sabotage(lambda _, runs: _instead(runs, "weighted", "equal")),
    "equal": Sabotage(lambda _, runs: _instead(runs, "equal", "weighted")),
    "several-flows": Sabotage(_one_flow),
    "calls": Sabotage(_no_calls),
    "deep-buffers": Sabotage(scenarios(_shallow)),
    "paced-senders": Sabotage(scenarios(_unpaced_senders)),
}
