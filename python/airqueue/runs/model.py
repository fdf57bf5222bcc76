"""Work of the kind ``model``: one point of a model of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airqueue.models import sweep
from airqueue.models.arguments import ArgumentError, read
from airqueue.models.catalogue import find


def model(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of a model.

    ``model``: its name; ``parameters``: by name, numbers in the base unit, text as `airqueue model`
    reads it, lists of them, or None for one that is not given.
    """
    given = [f"{name}={_text(value)}" for name, value in inputs["parameters"].items()]
    request = read(find(inputs["model"]), given)
    if request.sweeps:
        name = request.sweeps[0].parameter.name
        raise ArgumentError(f"{name} has several values; expected one point of the model")
    return sweep.evaluate(request.model, request.fixed)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return value if isinstance(value, str) else repr(value)
