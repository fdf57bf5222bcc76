"""Work of the kind ``model``: one point of a model of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airqueue.models import sweep
from airqueue.models.arguments import ArgumentError, element_of, read, written
from airqueue.models.catalogue import Kind, find


def model(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of a model.

    ``model``: the model's name; ``parameters``: by name, numbers in the base unit, text as in
    `airqueue model`, lists of either, or None for a parameter that is not given.
    """
    found = find(inputs["model"])
    kinds = {parameter.name: parameter.kind for parameter in found.parameters}
    given = [
        f"{name}={_text(kinds.get(name, Kind.TEXT), value)}"
        for name, value in inputs["parameters"].items()
    ]
    request = read(found, given)
    if request.sweeps:
        name = request.sweeps[0].parameter.name
        raise ArgumentError(f"{name} has several values; expected one point of the model")
    return sweep.evaluate(request.model, request.fixed)


def _text(kind: Kind, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(_text(element_of(kind), each) for each in value)
    return written(kind, value)
