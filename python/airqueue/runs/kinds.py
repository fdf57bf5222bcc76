"""The kinds of work: what carries each out, and which code its result depends on.

A kind is a function of the inputs, which are plain JSON, that returns plain JSON. The same inputs
must give the same result, in any process and on any machine. A result is kept under a fingerprint of
the packages that the kind stands on, so all that the function computes with belongs to them.

Whoever has a kind registers it, in the module of its function: what lies above this package is not
named here. A process that carries work out needs no registration: each request names the function.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airqueue.runs.errors import RunError

Inputs = Mapping[str, Any]


def _nothing(_inputs: Inputs) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work."""

    function: str
    """``module:name``; its module belongs to the fingerprint."""
    packages: tuple[str, ...]
    """Packages and modules that it stands on, as ``airqueue.models``."""
    further: Callable[[Inputs], tuple[str, ...]] = _nothing
    """Those that it stands on for some inputs alone."""

    def parts(self, inputs: Inputs) -> frozenset[str]:
        """Return the full names of all modules and packages that the result depends on."""
        module = self.function.partition(":")[0]
        return frozenset({module, *self.packages, *self.further(inputs)})


_MODELS: Final = ("airqueue.models", "airqueue.qoe", "airqueue.units", "airqueue.stats")
_MEASURE: Final = ("airqueue.measure", "airqueue.qoe", "airqueue.stats", "airqueue.units")

# This package's own kinds. Their functions are named, not imported: each loads what it computes with.
_KINDS: Final[dict[str, Kind]] = {
    "model": Kind("airqueue.runs.model:model", _MODELS),
    "measurement": Kind("airqueue.runs.measurement:measurement", _MEASURE),
}


def register(
    name: str,
    function: Callable[[Inputs], Any],
    packages: tuple[str, ...],
    further: Callable[[Inputs], tuple[str, ...]] = _nothing,
) -> None:
    """Make a function of the inputs a kind of work; its module does so, when it is imported.

    ``packages``: the full names of those that the result depends on, besides that module;
    ``further`` returns those that it depends on for some inputs alone. Raises RunError for a name
    that another function has, and for a function that other processes could not import: one of a
    script, or inside another function.
    """
    kind = Kind(f"{function.__module__}:{function.__qualname__}", packages, further)
    if function.__module__ == "__main__" or not function.__qualname__.isidentifier():
        raise RunError(
            f"the kind of work {name!r} is {kind.function}, which other processes cannot import; "
            "move the function to the top level of a module"
        )
    other = _KINDS.get(name, kind)
    if other.function != kind.function:
        raise RunError(f"the kind of work {name!r} is {other.function}; choose another name")
    _KINDS[name] = kind


def find(name: str) -> Kind:
    """Return a kind; raises RunError that lists the names if there is none."""
    if name not in _KINDS:
        raise RunError(
            f"there is no kind of work {name!r}; there are {', '.join(_KINDS)}, and those of modules "
            "that have not been imported"
        )
    return _KINDS[name]


def names() -> list[str]:
    """Return the names of the kinds that are registered in this process."""
    return list(_KINDS)


def function_of(reference: str) -> Callable[[Inputs], Any]:
    """Import and return what ``module:name`` refers to."""
    module, _, name = reference.partition(":")
    function: Callable[[Inputs], Any] = getattr(importlib.import_module(module), name)
    return function
