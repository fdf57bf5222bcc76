"""EDCA: access parameters, one by one and together, TCP's buffers, and TCP itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from airqueue.description import Description
from airqueue_papers.edca.scenarios import AP, MSS, TABLE2, TCP_BUFFERS, Access, prioritise
from airqueue_papers.item import Simulation
from airqueue_papers.sabotage import Runs, Sabotage, scenarios

_FIRST: Final = TABLE2["ap_upload_acks"][2].window
"""Slots from which the access point draws where its chances are not equal: those of Table 2."""


def _categories(described: Description) -> list[Any]:
    """Return the tables of access parameters, of all stations and of single ones."""
    macs = [described["mac"], *(each.get("mac", {}) for each in described["stations"])]
    return [keys for mac in macs for keys in mac.get("edca", {}).values()]


def _default_parameters(described: Description) -> None:
    for keys in _categories(described):
        keys.clear()
        keys.update(Access().keys())


def _of_each(name: str, value: Any) -> Callable[[Description], None]:
    """Return a change of one access parameter of all queues."""

    def change(described: Description) -> None:
        for keys in _categories(described):
            keys[name] = value

    return change


def _of_table2(described: Description) -> None:
    if described.get("mac", {}).get("access") == "dcf" and "tcp" in described:
        prioritise(described)


def _unequal_chances(described: Description) -> None:
    if "tcp" in described or any(flow.get("source") == "tcp" for flow in described["flows"]):
        return
    described["mac"] = {"access": "edca", "edca": {"be": Access().keys()}}
    for station in described["stations"]:
        if station["name"] == AP:
            station["mac"] = {"edca": {"be": Access(window=_FIRST).keys()}}


def _small_buffers(described: Description) -> None:
    described["tcp"]["window"] = f"{TCP_BUFFERS['default'] // MSS} packets"


def _by_udp(_: str, runs: Runs) -> Runs:
    changed = dict(runs)
    for ending in ("", "-loss"):
        tcp, udp = runs[f"tcp{ending}"], runs[f"udp{ending}"]
        assert isinstance(tcp, Simulation)
        assert isinstance(udp, Simulation)
        changed[f"tcp{ending}"] = replace(tcp, scenario=udp.scenario)
    return changed


SABOTAGES: Final[Mapping[str, Sabotage]] = {
    "table2": Sabotage(scenarios(_default_parameters)),
    "default-access": Sabotage(scenarios(_of_table2)),
    "equal-chances": Sabotage(scenarios(_unequal_chances)),
    "buffers": Sabotage(scenarios(_small_buffers)),
    "tcp": Sabotage(_by_udp),
    "txop": Sabotage(scenarios(_of_each("txop", Access().txop))),
    "aifs": Sabotage(scenarios(_of_each("aifsn", Access().keys()["aifsn"]))),
    "parameters": Sabotage(scenarios(_default_parameters)),
    "cwmin": Sabotage(scenarios(_of_each("cw_min", Access().keys()["cw_min"]))),
}
