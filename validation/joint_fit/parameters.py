"""What is tried, and which cells of the paper are fitted and which held out: ``parameters.toml``."""

from __future__ import annotations

import itertools
import math
import random
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from airqueue_papers.claim import load

FILE: Final = Path(__file__).with_name("parameters.toml")
SCHEMES: Final = ("fifo50", "tcpap", "sized")
_FIGURES: Final = {"table9": ("ftp_goodput", "ftp_rtt", "voip_delay")}
"""Figures of a table with calls; without them goodput and round-trip time."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a parameter. What it does not change stays as in `airqueue reproduce`."""

    name: str
    words: str
    changes: Mapping[str, object]
    """Keys of scenarios."""
    spacing_m: float | None = None
    """Distance of neighbours where not all nodes sense each other."""
    separate: bool = False
    """Whether sized buffers begin behind the source."""
    pacing: str = ""
    """TCP-AP's word in scenarios."""
    kilo: int | None = None
    """Bits of a printed Kb."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its values, the usual one first."""

    name: str
    words: str
    because: str
    values: tuple[Value, ...]


Setting = tuple[str, ...]
"""The name of the value of each parameter, in their order."""


@dataclass(frozen=True, slots=True)
class Length:
    """How long something is simulated."""

    seconds: int
    replications: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A printed number."""

    claim: str
    table: str
    scheme: str
    figure: str
    """``goodput``, ``rtt`` or ``delay`` (of calls)."""
    printed: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The content of the file."""

    tables: tuple[str, ...]
    held_out_seed: int
    settings: int
    settings_seed: int
    climbs: int
    search: Length
    final: Length
    finalists: int
    explained: float
    parameters: tuple[Parameter, ...]
    not_tried: Mapping[str, str]

    @property
    def usual(self) -> Setting:
        """The setting of `airqueue reproduce`."""
        return tuple(each.values[0].name for each in self.parameters)

    @property
    def combinations(self) -> int:
        """How many settings there are."""
        return math.prod(len(each.values) for each in self.parameters)

    def values(self, setting: Setting) -> list[Value]:
        """Return the values of a setting. Raises KeyError for a name that is none."""
        named = [{value.name: value for value in of.values} for of in self.parameters]
        return [names[name] for names, name in zip(named, setting, strict=True)]

    def drawn(self) -> list[Setting]:
        """Return the usual setting and those that the seed draws, each once."""
        choose = random.Random(self.settings_seed)
        every = itertools.product(*([v.name for v in of.values] for of in self.parameters))
        others = [setting for setting in every if setting != self.usual]
        return [self.usual, *choose.sample(others, self.settings)]

    def neighbours(self, setting: Setting) -> Iterator[Setting]:
        """Yield the settings that differ in one parameter."""
        for at, of in enumerate(self.parameters):
            for value in of.values:
                if value.name != setting[at]:
                    yield (*setting[:at], value.name, *setting[at + 1 :])

    @property
    def cells(self) -> list[Cell]:
        """All cells, table by table."""
        return [
            _cell(table, scheme, figure)
            for table in self.tables
            for scheme in SCHEMES
            for figure in _FIGURES.get(table, ("goodput", "rtt"))
        ]

    @property
    def held_out(self) -> frozenset[str]:
        """The claims of the cells that the search does not see: half of each table, rounded down."""
        choose = random.Random(self.held_out_seed)
        found: list[str] = []
        for table in self.tables:
            own = [cell.claim for cell in self.cells if cell.table == table]
            found += choose.sample(own, len(own) // 2)
        return frozenset(found)


def _cell(table: str, scheme: str, figure: str) -> Cell:
    claim = load("mesh").claims[f"mesh.{table}.{scheme}.{figure}"]
    numbers = claim.numbers
    assert numbers is not None  # the claim file is checked when it is read
    return Cell(claim.id, table, scheme, figure.rpartition("_")[2], float(numbers[0]))


def error(plan: Plan, cells: Mapping[str, float], claims: Collection[str]) -> float:
    """Return the mean over claims of |ln(ours/printed)|, which is near the relative deviation.

    Too much and too little count alike, and no table or figure counts more for its unit. What nearly
    vanishes, as flows that starve, counts as a thousandth of the print.
    """
    printed = {cell.claim: cell.printed for cell in plan.cells}
    ratios = [max(cells[each] / printed[each], 1e-3) for each in claims]
    return sum(abs(math.log(ratio)) for ratio in ratios) / len(claims)


@cache
def read() -> Plan:
    """Return what the file says. Raises TypeError for a key that is none."""
    with FILE.open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)
    parameters = tuple(
        Parameter(
            of["name"],
            of["words"],
            of["because"],
            tuple(Value(**{"changes": {}, **value}) for value in of["values"]),
        )
        for of in table.pop("parameters")
    )
    search, final = (Length(**table.pop(name)) for name in ("search", "final"))
    tables = tuple(table.pop("tables"))
    return Plan(tables=tables, parameters=parameters, search=search, final=final, **table)
