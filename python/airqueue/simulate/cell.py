"""The most common network: stations around one access point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from airqueue.simulate import overrides as changes
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.scenario import Scenario

if TYPE_CHECKING:
    from airqueue.description import Description, FlowTable
    from airqueue.description_words import BehaviourName, SourceName, Standard

AP = "ap"
STATION = "sta"


def cell(
    standard: Standard = "802.11b",
    stations: int = 10,
    *,
    direction: Literal["up", "down", "both"] = "up",
    source: SourceName = "saturated",
    size: str = "1500 B",
    duration: str = "30 s",
    behaviour: BehaviourName = "standard",
    overrides: Mapping[str, object] | None = None,
) -> Scenario:
    """Return a cell in which all stations hear each other: an access point ``ap``, ``sta1``, ...

    Parameters
    ----------
    standard : str
        The physical layer: ``"802.11b"`` and so on.
    stations : int
        Stations beside the access point.
    direction : {"up", "down", "both"}
        Each station has a flow to the access point, ``flows.up``, from it, ``flows.down``, or both.
    source : str
        The source of packets of each flow, such as ``"saturated"`` or ``"tcp"``.
    size : str
        Of IP packets, with its unit.
    duration : str
        Of counting, with its unit.
    behaviour : {"standard", "ns3", "ns2"}
        Whom stations follow where the standard leaves a choice.
    overrides : dict, optional
        Other keys of a scenario file: ``{"mac.rts_threshold": "0 B", "phy.rate": "5.5 Mb/s"}``.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        A value that no cell has.
    """
    if direction not in ("up", "down", "both"):
        raise ScenarioError(f"direction: {direction!r}; expected up, down or both")
    flow: FlowTable = {"source": source, "size": size}
    ends = {"up": (STATION, AP), "down": (AP, STATION)}
    flows: list[FlowTable] = [
        {"name": name, "from": sender, "to": receiver, **flow}
        for name, (sender, receiver) in ends.items()
        if direction in (name, "both")
    ]
    description: Description = {
        "behaviour": behaviour,
        "duration": duration,
        "phy": {"standard": standard},
        "stations": [{"name": AP}, {"name": STATION, "count": stations}],
        "flows": flows,
    }
    return Scenario(changes.apply(description, overrides or {}))
