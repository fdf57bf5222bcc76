"""Result files of `airqueue measure`: text out, checked dictionaries in (`schema.json`)."""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, cast

import jsonschema

from airqueue import files
from airqueue.measure.document import Document

_ADVICE: Final = "give a file written by `airqueue measure --json`"
_OTHERS: Final = {
    "airqueue-diagnosis": "it is a diagnosis, and `airqueue diagnose --from AFTER --again BEFORE` "
    "compares two of these",
    "airqueue-stations": "it is of several stations",
    "airqueue-uploads": "it is of uploads of several stations",
    "airqueue-simulation": "it is a simulation, whose figures have intervals to compare by",
}
"""What other files are, by their format."""


class ResultError(Exception):
    """A file is not a usable measurement result; the message is one sentence."""


@functools.cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a measurement result."""
    text = resources.files("airqueue.measure").joinpath("schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def check(result: object) -> None:
    """Raise ResultError that names the first place where ``result`` departs from the schema."""
    validator = jsonschema.Draft202012Validator(schema())
    error = jsonschema.exceptions.best_match(validator.iter_errors(result))
    if error is not None:
        place = error.json_path.removeprefix("$").removeprefix(".") or "the top level"
        raise ResultError(f"{place}: {_shortened(error.message)}")


def to_text(result: Mapping[str, object]) -> str:
    """Return ``result`` as JSON. JSON knows no NaN or infinity; they become null."""
    return json.dumps(_plain(result), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_result(path: str | os.PathLike[str]) -> Document:
    """Read and check a result file, ``-``: standard input.

    Raises OSError or ResultError, both naming the file.
    """
    data, path = files.read_bytes(path), files.named(path)
    try:
        loaded = files.parse_json(data, path, _ADVICE, parse_constant=_no_number)
    except files.NotJsonError as error:
        raise ResultError(f"{error}.") from error
    if not isinstance(loaded, dict) or loaded.get("format") != "airqueue-measurement":
        other = str(loaded.get("format")) if isinstance(loaded, dict) else ""
        raise ResultError(f"{path} is not an airqueue measurement; {_OTHERS.get(other, _ADVICE)}.")
    if loaded.get("version") != 1:
        raise ResultError(
            f"{path} has version {loaded.get('version')!r} of the result format and this airqueue "
            "reads version 1; use the airqueue that wrote it."
        )
    try:
        check(loaded)
    except ResultError as error:
        raise ResultError(f"{path} is damaged or was edited, at {error}.") from error
    return cast("Document", loaded)


def _no_number(name: str) -> None:
    """Refuse the NaN and Infinity that Python's parser takes beyond the JSON standard."""
    raise files.WrongNumberError(f"{name} is not a JSON number")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shortened(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 160 else line[:150] + " ..."
