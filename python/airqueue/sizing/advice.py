"""The result of any sizing: figures with their reasons, tables, settings to print.

An `Advice` is finished when it is built: text and JSON show the same content, and neither computes
anything. Machine names carry their unit (``_s``, ``_bps``, ``_packets``, ``_bytes``,
``_fraction``), from which `said` takes how a value is written for people.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any, TypeAlias

import airqueue
from airqueue import text

Value: TypeAlias = float | int | str | None
"""A figure: a number in the unit of its name, a word, or nothing."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the result, and the reason for it."""

    name: str
    """Machine name with the unit."""
    label: str
    value: Value
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a `Table`; values are keyed by ``name`` in JSON."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the same kind: rules side by side, nodes of a mesh, classes of traffic."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"a row of {self.name} has not {len(self.columns)} values")


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative configuration, and when it is better."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Lines for one program on one machine, and what `airqueue apply` sets in their place."""

    target: str
    """hostapd, openwrt, tc, scenario (for `airqueue simulate`), or airqueued (for its loops)."""
    place: str
    """The machine, and the file or the shell that the lines are for."""
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What the lines govern, what they do not, and which hardware ignores them."""
    sets: tuple[Mapping[str, Any], ...] = ()
    """The same as the settings of a plan (`airqueue.sizing.plans`); empty if a plan cannot say it."""
    machine: str = ""
    """The machine of ``sets``, where an advice is for several."""


@dataclass(frozen=True, slots=True)
class Advice:
    """The result of `airqueue size`."""

    what: str
    """ap, mesh, edca, rdqm or web."""
    inputs: Mapping[str, Any]
    headline: str
    """The recommendation in one sentence."""
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    cautions: tuple[str, ...] = ()
    """What is unknown, not modelled, or impossible with real hardware."""
    settings: tuple[Settings, ...] = field(default=())

    def figure(self, name: str) -> Value:
        """Return the value of a figure; raises KeyError if there is none of this name."""
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Return the advice as JSON Schema ``schema.json`` describes it."""
        return {
            "format": "airqueue-advice",
            "version": 1,
            "airqueue": airqueue.__version__,
            "what": self.what,
            "inputs": dict(self.inputs),
            "headline": self.headline,
            "figures": [asdict(figure) for figure in self.figures],
            "tables": [_table(table) for table in self.tables],
            "alternatives": [asdict(alternative) for alternative in self.alternatives],
            "cautions": list(self.cautions),
            "settings": [
                asdict(entry)
                | {name: list(getattr(entry, name)) for name in ("lines", "notes", "sets")}
                for entry in self.settings
            ],
        }


@functools.cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an advice."""
    content = resources.files("airqueue.sizing").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(content)
    return loaded


def said(name: str, value: Value) -> str:
    """Return a value as people read it, by the unit at the end of its name.

    >>> said("delay_full_s", 0.0213), said("goodput_bps", 24.1e6), said("share_fraction", 0.125)
    ('21 ms', '24.10 Mb/s', '12.5 %')
    >>> said("queue_packets", 38), said("queue_bytes", 57532), said("rule", "flow")
    ('38', '57,532', 'flow')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if name.endswith("_s"):
        return text.seconds(value)
    if name.endswith("_bps"):
        return text.rate(value)
    if name.endswith("_fraction"):
        return text.percent(value)
    if name.endswith("_us"):
        return text.number(value)
    return f"{value:,}" if isinstance(value, int) else text.number(value, _unit(name))


def with_unit(name: str, value: Value) -> str:
    """Return a value with the word of its unit, where the unit is not part of the number.

    >>> with_unit("queue_packets", 38), with_unit("txop_packets", 1), with_unit("txop_us", 7572.0)
    ('38 packets', '1 packet', '7,572.0 µs')
    """
    unit = _unit(name)
    if unit is None or value is None:
        return said(name, value)
    return f"{said(name, value)} {unit.removesuffix('s') if value == 1 else unit}"


def _unit(name: str) -> str | None:
    units = {"_packets": "packets", "_bytes": "bytes", "_us": "µs"}
    return next((word for end, word in units.items() if name.endswith(end)), None)


def _table(table: Table) -> dict[str, Any]:
    names = [column.name for column in table.columns]
    return {
        "name": table.name,
        "title": table.title,
        "columns": [asdict(column) for column in table.columns],
        "rows": [dict(zip(names, row, strict=True)) for row in table.rows],
    }


def wanted(settings: Sequence[Settings], targets: Sequence[str]) -> tuple[Settings, ...]:
    """Return the settings for some targets; ``all`` stands for every one."""
    return tuple(s for s in settings if s.target in targets or "all" in targets)


def not_simulated(reason: str | None) -> tuple[str, ...]:
    """Return the caution of an advice that was not simulated, or none if there is no reason to tell.

    >>> not_simulated("it takes minutes"), not_simulated(None)
    (('Not simulated: it takes minutes.',), ())
    """
    return () if reason is None else (f"Not simulated: {reason}.",)
