"""Keys of scenarios that have another name by now: the old one is read, with a warning.

The engine knows which they are (``renamed.rs`` of ``crates/airqueue-scenario``). Descriptions get the
new names before values in them are changed, and before they are kept or simulated.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from airqueue import _native
from airqueue.simulate.errors import RenamedKeyWarning, ScenarioError
from airqueue.simulate.plain import DEEPEST

_PACKAGE: Final = __name__.partition(".")[0]


def current(description: Mapping[str, object]) -> dict[str, Any]:
    """Return the description with the new names of keys, the given one left as it is.

    Warns with `RenamedKeyWarning` of each old name, at the line outside airqueue that made the call.
    Raises ScenarioError where both names of a key are given.

    >>> current({"tcp": {"stack": "linux"}})
    {'tcp': {'stack': 'linux'}}
    """
    try:
        found = _native.renamed_keys(json.dumps(_shape(description)))
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    named: dict[str, Any] = dict(description)
    for path, new, sentence in found:
        named = _with_name(named, path, new)
        warn([sentence])
    return named


def warn(sentences: Iterable[str]) -> None:
    """Warn of keys by old names, at the line outside airqueue that made the call."""
    for sentence in sentences:
        warnings.warn(sentence, RenamedKeyWarning, stacklevel=_frames_to_caller())


def change(path: Sequence[str | int], value: object) -> tuple[str | int, Any]:
    """Return the last step of a path as it is called now, and the value likewise; warns as `current`.

    The path has the keys of tables and the places in lists.
    """
    tree: Any = value
    for step in reversed(path):
        tree = [*[{}] * step, tree] if isinstance(step, int) else {step: tree}
    tree = current(tree)
    for step in path[:-1]:
        tree = tree[step]
    last = path[-1] if isinstance(path[-1], int) else next(iter(tree))
    return last, tree[last]


def _frames_to_caller() -> int:
    """Return the ``stacklevel`` with which the calling function warns at the user's line.

    The user's line is in the innermost frame outside airqueue. `warnings.warn` has
    ``skip_file_prefixes`` for this purpose from Python 3.12 on.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE


def _shape(value: object, depth: int = 0) -> object:
    """Return tables and lists as they are and 0 for all else, which need not be JSON."""
    if depth < DEEPEST and isinstance(value, Mapping):
        keys = (key for key in value if isinstance(key, str))
        return {key: _shape(value[key], depth + 1) for key in keys}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_shape(each, depth + 1) for each in value]
    return 0


def _with_name(value: Any, path: Sequence[str], new: str) -> Any:
    """Return a copy in which the key at the path has another name and its old place."""
    step, *rest = path
    if isinstance(value, Mapping):
        if not rest:
            return {new if key == step else key: each for key, each in value.items()}
        return {**value, step: _with_name(value[step], rest, new)}
    at = int(step)
    return [*value[:at], _with_name(value[at], rest, new), *value[at + 1 :]]
