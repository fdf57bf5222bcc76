"""The JSON Schemas of all that airqueue reads and writes as JSON, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from airqueue import _native
from airqueue.cli import elsewhere

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A schema: what writes or reads such JSON, and how the schema is found."""

    of: str
    load: Callable[[], Schema]


def _file(package: str, name: str = "schema.json") -> Callable[[], Schema]:
    def load() -> Schema:
        loaded: Schema = json.loads(resources.files(package).joinpath(name).read_text("utf-8"))
        return loaded

    return load


def _sweep() -> Schema:
    """Return the schema of a sweep, whose figures are those of simulations."""
    schema = _file("airqueue.sweep", "results.schema.json")()
    figures = _file("airqueue.simulate", "results.schema.json")()
    kinds = {
        name: of
        for name, of in figures["properties"].items()
        if of.get("$ref") in {"#/$defs/named", "#/$defs/figures"}
    }
    point = schema["$defs"]["point"]
    point["properties"] |= kinds
    point["required"] += list(kinds)
    schema["$defs"] |= figures["$defs"]
    return schema


def _diagnosis() -> Schema:
    from airqueue.diagnose import result  # noqa: PLC0415 - loads numpy

    return result.schema()


def _emulation() -> Schema:
    """Return the schema of an emulation; the bindings have the schemas of its native parts."""
    schema = _file("airqueue.emulate")()
    schema["$defs"] = {}
    for found in _native.result_schemas():
        schema["$defs"] |= json.loads(found)["$defs"]
    return schema


_ALL: Final = {
    "scenario": Entry("scenario files", lambda: json.loads(_native.scenario_schema())),
    "simulation": Entry("airqueue simulate", _file("airqueue.simulate", "results.schema.json")),
    "sweep": Entry("airqueue sweep", _sweep),
    "emulation": Entry("airqueue emulate", _emulation),
    "measurement": Entry("airqueue measure, analyze and testbed", _file("airqueue.measure")),
    "stations": Entry("airqueue measure --with", _file("airqueue.measure.stations")),
    "uploads": Entry("airqueue measure --with --uploads", _file("airqueue.uploads")),
    "comparison": Entry("airqueue compare", _file("airqueue.measure", "comparison.schema.json")),
    "diagnosis": Entry("airqueue diagnose", _diagnosis),
    "advice": Entry("airqueue size", _file("airqueue.sizing")),
    "plan": Entry("airqueue size --plan, apply", lambda: json.loads(_native.plan_schema())),
    "models": Entry("airqueue model", _file("airqueue.models", "catalogue.schema.json")),
    "model": Entry("airqueue model NAME", _file("airqueue.models", "sweep.schema.json")),
}


def names() -> dict[str, str]:
    """Return the names of all schemas, each with what reads or writes such JSON."""
    ours = {name: entry.of for name, entry in _ALL.items()}
    return ours | {name: of for name, (of, _) in elsewhere.schemas().items()}


def schema(name: str) -> Schema:
    """Return a schema (JSON Schema 2020-12) by its name. Raises KeyError."""
    return _ALL[name].load() if name in _ALL else elsewhere.schemas()[name][1]()
