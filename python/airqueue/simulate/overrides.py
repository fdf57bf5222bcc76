"""Changing single values of a scenario: ``mac.rts_threshold``, ``flows.upload.rate``, ``flows.0.to``.

A path is keys joined by dots. An element of a list is addressed by its ``name``, or by its index from
0, as in ``flows.0.rate`` or, as in messages, ``flows[0].rate``. A missing table is created; the check
of the whole scenario, which knows every key, then accepts or refuses the table.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from airqueue import _native, text, toml_text
from airqueue.simulate import renamed
from airqueue.simulate.errors import ScenarioError
from airqueue.simulate.reported import described
from airqueue.toml_text import TomlError, found

if TYPE_CHECKING:
    from airqueue.description import Description

_INDEX: Final = re.compile(r"\[(\d+)\]")
_MOST_VALUES: Final = 10_000
_MOST_NAMES: Final = 8
"""Names that a message lists."""


def read(assignment: str, example: str = "phy.rate=5.5 Mb/s") -> tuple[str, Any]:
    """Return path and value of ``PATH=VALUE``; a value that is not TOML is read as text.

    >>> read("mac.rts_threshold=500 B"), read("stations.0.count=20"), read('mac={access="edca"}')
    (('mac.rts_threshold', '500 B'), ('stations.0.count', 20), ('mac', {'access': 'edca'}))
    """
    path, equals, written = assignment.partition("=")
    path, written = path.strip(), written.strip()
    if not equals or not path or not written:
        raise ScenarioError(f"{assignment!r} changes nothing; write for example {example}")
    try:
        parsed = toml_text.parse(f"value = {written}")
    except TomlError:
        _check_one(assignment, written)
        return path, written
    # A line break in the value would begin another key.
    return path, parsed["value"] if len(parsed) == 1 else written


def _check_one(assignment: str, written: str) -> None:
    """Refuse a range: each of its values makes another scenario."""
    if ".." not in written:
        return
    try:
        _native.parse_values(written, "any", most=_MOST_VALUES)
    except ValueError:
        return
    raise ScenarioError(
        f"{assignment!r} is a range, which makes several scenarios; give one value, or write a "
        "file for airqueue sweep"
    )


def apply(description: Mapping[str, object], overrides: Mapping[str, object]) -> Description:
    """Return the description with values changed, the given one left as it is.

    A value for the old name of a key applies to the key. Raises ScenarioError, which names the path,
    if the description has no place for a value.
    """
    if not isinstance(overrides, Mapping) or not all(isinstance(key, str) for key in overrides):
        raise ScenarioError(f"{overrides!r}; expected a dictionary of values by their keys")
    changed = copy.deepcopy(renamed.current(description))
    for path, value in overrides.items():
        _put(changed, path, value)
    return described(changed)


def _put(description: dict[str, Any], path: str, value: object) -> None:
    *parents, last = keys = _INDEX.sub(r".\1", path).split(".")
    if not all(keys):
        raise ScenarioError(f"{path}: an empty key; expected keys joined by dots")
    holder: Any = description
    steps: list[str | int] = []
    for depth, key in enumerate(parents):
        step = _step(holder, key, path, ".".join(parents[:depth]))
        holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        steps.append(step)
    # By the key's new name, which the description has: an old one beside that would contradict it.
    step, named = renamed.change([*steps, _step(holder, last, path, ".".join(parents))], value)
    holder[step] = named


def _step(holder: Any, key: str, path: str, above: str) -> str | int:
    """Return the key of a table, or the place in a list."""
    if isinstance(holder, list):
        return _place(holder, key, path)
    if isinstance(holder, dict):
        return key
    raise ScenarioError(f"{path}: {above} is {found(holder)}; expected a table or a list there")


def _place(elements: list[Any], key: str, path: str) -> int:
    """Return the place of the element that ``key`` names."""
    names = [each.get("name") if isinstance(each, dict) else None for each in elements]
    if key in names:
        return names.index(key)
    if key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(elements):
        return int(key)
    known = [str(name) for name in names if name is not None][:_MOST_NAMES]
    of_names = f", or a name such as {text.listed(known, 'or')}" if known else ""
    raise ScenarioError(
        f"{path}: there is no {key!r} in a list of {len(elements):,}; expected a place from 0 to "
        f"{len(elements) - 1}{of_names}"
        if elements
        else f"{path}: there is no {key!r} in an empty list; expected it to have an element first"
    )
