"""Plans: what `airqueue apply` sets, as JSON (docs/apply.md).

A setting is a mapping with one key, the kind of the setting. The functions here write these
mappings; `plan` writes the file. The bindings check every plan before it is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import airqueue
from airqueue.sizing.advice import Settings
from airqueue.sizing.edca_values import TXOP_UNIT_S, EdcaValues

VERSION: Final = 1
UCI: Final = "uci"
PLACES: Final = ("queue", "txq", UCI)
"""Where a queue can be set: a queue discipline, mac80211's own queues, OpenWrt's configuration."""
ACCESS: Final = ("edca", UCI)
"""Where channel access can be set: at hostapd and the kernel, or in OpenWrt's configuration."""
WIRELESS: Final = "wireless"
"""The configuration of OpenWrt's radios."""
LONGEST_WHY: Final = 1000
LONGEST_TARGET_S, LONGEST_INTERVAL_S = 10.0, 60.0
"""Of CoDel in a plan."""

Set = Mapping[str, Any]


class PlanError(Exception):
    """There is nothing to write a plan of; the message is one sentence that says why."""


class WhichMachineError(PlanError):
    """An advice is for several machines, and which one is not said, or is none of them."""


def queue(interface: str, discipline: Mapping[str, Any]) -> Set:
    """Return the setting of an interface's queue discipline.

    >>> queue("wlan0", fifo(packets=38))
    {'queue': {'interface': 'wlan0', 'queue': {'fifo': {'limit_packets': 38}}}}
    """
    return {"queue": {"interface": interface, "queue": discipline}}


def fifo(*, packets: int) -> Mapping[str, Any]:
    """Return a FIFO that counts packets."""
    return {"fifo": {"limit_packets": packets}}


def shaped_fifo(rate_bps: int, *, packets: int) -> Mapping[str, Any]:
    """Return a FIFO that counts packets, below a shaper."""
    return {"shaped": {"rate_bps": rate_bps, "below": fifo(packets=packets)}}


def cake(rate_bps: int) -> Mapping[str, Any]:
    """Return CAKE that shapes to a rate."""
    return {"cake": {"rate_bps": rate_bps}}


def fq_codel(
    *, limit: int, target_s: float, interval_s: float, quantum_bytes: int
) -> Mapping[str, Any]:
    """Return FQ-CoDel (RFC 8290)."""
    return {
        "fq_codel": {
            "limit_packets": limit,
            "target_us": round(target_s * 1e6),
            "interval_us": round(interval_s * 1e6),
            "quantum_bytes": quantum_bytes,
        }
    }


def txq(phy: str, packets: int, memory_bytes: int | None = None) -> Set:
    """Return the setting of mac80211's queues."""
    memory = {} if memory_bytes is None else {"memory_limit_bytes": memory_bytes}
    return {"txq": {"phy": phy, "limit_packets": packets, **memory}}


def uci(
    config: str,
    section: str,
    options: Mapping[str, str | Sequence[str]],
    *,
    kind: str | None = None,
) -> Set:
    """Return the setting of a section of OpenWrt's configuration.

    kind: the type with which it is made if there is none; None: there must be one.

    >>> uci("sqm", "airqueue", {"upload": "9500"}, kind="queue")["uci"]["options"]
    {'upload': '9500'}
    """
    values = {
        name: value if isinstance(value, str) else list(value) for name, value in options.items()
    }
    typed = {} if kind is None else {"type": kind}
    return {UCI: {"config": config, "section": section, **typed, "options": values}}


def edca(interface: str, category: str, values: EdcaValues, *, own: bool = False) -> Set:
    """Return the setting of an access category: of the stations, or of the access point itself."""
    return {
        "own_edca" if own else "edca": {
            "interface": interface,
            "access_category": category,
            "aifsn": values.aifsn,
            "cw_min": values.cw_min,
            "cw_max": values.cw_max,
            "txop_us": round(values.txop_units * TXOP_UNIT_S * 1e6),
        }
    }


def chosen(
    settings: Iterable[Settings], kind: str | None = None, machine: str | None = None
) -> Settings:
    """Return the settings that a plan is written of: the first that can be set. Raises PlanError.

    kind: of `PLACES`; OpenWrt's configuration only if it is named: other machines have none.
    machine: which of several; WhichMachineError where that does not say.
    """
    able = [each for each in settings if each.sets and (kind == UCI or not _is_uci(each))]
    if not able and any(_is_uci(each) for each in settings):
        raise PlanError(
            "Of this advice a plan can set OpenWrt's configuration alone: --plan-sets uci plans "
            "this configuration; commands for other systems are typed by hand."
        )
    if not able:
        raise PlanError(
            "This advice has no setting that a plan can say: its commands, if there are any, are "
            "typed by hand."
        )
    machines = list(dict.fromkeys(each.machine for each in able))
    if machine is None and len(machines) > 1:
        raise WhichMachineError(
            f"A plan is for one machine: name it with --node, one of {_names(machines)}."
        )
    if machine is not None and machine not in machines:
        raise WhichMachineError(
            f'There is no node "{machine}" with settings for a plan; the nodes are '
            f"{_names(machines)}."
        )
    able = [each for each in able if machine is None or each.machine == machine]
    kinds = list(dict.fromkeys(key for each in able for setting in each.sets for key in setting))
    for each in able:
        if kind is None or any(kind in setting for setting in each.sets):
            return each
    raise PlanError(f"This advice sets no {kind}: it sets {_names(kinds)}.")


def plan(settings: Settings, why: str, *, drops_stations: bool = False) -> dict[str, Any]:
    """Return the plan as JSON has it.

    why: the recommendation with its reason, which each setting has. drops_stations: whether stations
    may lose their connection. Raises PlanError if they might, and may not.
    """
    reason = why if len(why.encode()) <= LONGEST_WHY else f"{why[: LONGEST_WHY // 4]}..."
    return {
        "plan": VERSION,
        "made_by": f"airqueue {airqueue.__version__}",
        "settings": [
            {"why": reason, "set": _consented(each, drops_stations)} for each in settings.sets
        ],
    }


def _consented(setting: Set, drops_stations: bool) -> dict[str, Any]:
    """Return the setting, with the consent that radios of OpenWrt need. Raises PlanError."""
    section = setting.get(UCI)
    if section is None or section["config"] != WIRELESS:
        return dict(setting)
    if not drops_stations:
        raise PlanError(
            "OpenWrt's radios are set by `wifi reload`, at which stations may lose their connection: "
            "add --drops-stations if they may."
        )
    return {UCI: {**section, "drops_stations": True}}


def text(document: Mapping[str, Any]) -> str:
    """Return the file's content."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _is_uci(settings: Settings) -> bool:
    return any(UCI in setting for setting in settings.sets)


def _names(names: Sequence[str]) -> str:
    return ", ".join(name for name in names if name)
