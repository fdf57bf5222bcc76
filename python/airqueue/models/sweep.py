"""Evaluates a model at one point or at every point of a sweep, and gives the result as JSON."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, TypeAlias

from airqueue.models.arguments import ArgumentError, Request, written
from airqueue.models.catalogue import Figure, Kind, Model, Output, Parameter, near
from airqueue.models.errors import ModelError

Row: TypeAlias = dict[str, Any]
"""The swept parameters and the outputs of one point, in plain Python types."""

_UNITS = {Kind.RATE: "b/s", Kind.DURATION: "s", Kind.SIZE: "bytes"}
_UNITS |= {Kind.RATES: "b/s", Kind.DURATIONS: "s"}


def rows(request: Request) -> Iterator[Row]:
    """Evaluate every point, the last sweep varying fastest.

    Raises ModelError, which names the point.
    """
    names = [sweep.parameter.name for sweep in request.sweeps]
    for values in itertools.product(*(sweep.values for sweep in request.sweeps)):
        point = dict(zip(names, values, strict=True))
        try:
            figures = evaluate(request.model, {**request.fixed, **point})
        except ModelError as error:
            if not point:
                raise
            raise ModelError(f"at {_where(request, point)}: {error}") from error
        yield {**{name: _plain(value) for name, value in point.items()}, **figures}


def evaluate(model: Model, parameters: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the declared outputs in plain Python types; raises ModelError, also for NaN."""
    figures = model.evaluate(**parameters)
    plain = {output.name: _plain(figures[output.name]) for output in model.outputs}
    for name, figure in plain.items():
        for number in figure if isinstance(figure, list) else [figure]:
            if isinstance(number, float) and not math.isfinite(number):
                raise ModelError(f"{name} is {number} for these parameters; use less extreme ones")
    return plain


def chosen(model: Model, names: Sequence[str] | None) -> tuple[Output, ...]:
    """Return the outputs of these names in their order, or all; raises ArgumentError."""
    if names is None:
        return model.outputs
    known = {output.name: output for output in model.outputs}
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"{model.name} has no output {name[:40]!r}; "
                f"{near(name[:40], list(known))}it has {', '.join(known)}"
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def is_number(figure: object) -> bool:
    """Return whether an output in plain Python types is one number."""
    return isinstance(figure, int | float) and not isinstance(figure, bool)


def unit(parameter: Parameter) -> str:
    """Return the unit in which ``evaluate`` gets a parameter; empty for a plain number."""
    return _UNITS.get(parameter.kind, "")


def result(request: Request, outputs: Sequence[Output], evaluated: Sequence[Row]) -> dict[str, Any]:
    """Return the evaluated points in the format of ``sweep.schema.json``."""
    swept = [sweep.parameter for sweep in request.sweeps]
    columns = {p.name: f"{p.help}, in {unit(p)}" if unit(p) else p.help for p in swept}
    columns |= {output.name: output.help for output in outputs}
    return {
        "format": "airqueue-model",
        "version": 1,
        "model": request.model.name,
        "summary": request.model.summary,
        "parameters": {name: _plain(value) for name, value in request.fixed.items()},
        "swept": [parameter.name for parameter in swept],
        "points": request.points,
        "complete": len(evaluated) == request.points,
        "columns": columns,
        "rows": [{name: row[name] for name in columns} for row in evaluated],
    }


def described(model: Model) -> dict[str, Any]:
    """Return the catalogue's entry of a model in the format of ``catalogue.schema.json``."""
    return {
        "name": model.name,
        "summary": model.summary,
        "valid": model.valid,
        "parameters": [
            {
                "name": p.name,
                "help": p.help,
                "kind": p.kind.value,
                "required": p.required,
                "default": None if p.required else _plain(p.default),
                "choices": list(p.choices),
            }
            for p in model.parameters
        ],
        "outputs": [{"name": output.name, "help": output.help} for output in model.outputs],
        "example": model.example,
    }


def catalogue(models: Sequence[Model]) -> dict[str, Any]:
    """Return the list of models in the format of ``catalogue.schema.json``."""
    return {
        "format": "airqueue-models",
        "version": 1,
        "models": [described(model) for model in models],
    }


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) ``sweep`` or ``catalogue``."""
    text = resources.files("airqueue.models").joinpath(f"{name}.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _where(request: Request, point: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{sweep.parameter.name}={written(sweep.parameter.kind, point[sweep.parameter.name])}"
        for sweep in request.sweeps
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return _plain(value.tolist())
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else value
