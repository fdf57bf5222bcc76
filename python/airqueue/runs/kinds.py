"""The kinds of work: the function that executes each, and the code on which its result depends.

A kind is a function of the inputs, which are plain JSON, that returns plain JSON, or a
`airqueue.runs.result.Result` of what is JSON text already. Equal inputs must give equal results, in
any process and on any machine. A result is kept under a fingerprint of the
packages on which the kind depends, so these packages must include all code that the function uses.

The module of a kind's function registers the kind, so that this module does not name higher layers.
A process that executes work needs no registration: each request names the function.
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
    """``module:name``; the fingerprint includes this module."""
    packages: tuple[str, ...]
    """Packages and modules on which the kind depends, as ``airqueue.models``."""
    further: Callable[[Inputs], tuple[str, ...]] = _nothing
    """Packages and modules on which the kind depends for some inputs only."""

    def parts(self, inputs: Inputs) -> frozenset[str]:
        """Return the full names of all modules and packages that the result depends on."""
        module = self.function.partition(":")[0]
        return frozenset({module, *self.packages, *self.further(inputs)})


_MODELS: Final = ("airqueue.models", "airqueue.qoe", "airqueue.units", "airqueue.stats")
MEASURING: Final = (
    *("airqueue.measure", "airqueue.numeric", "airqueue.qoe", "airqueue.stats", "airqueue.units"),
)
"""What the result of a measurement depends on, besides where the packets go."""

# This package's own kinds. Functions are named, not imported: each function imports its packages.
_KINDS: Final[dict[str, Kind]] = {
    "model": Kind("airqueue.runs.model:model", _MODELS),
    "measurement": Kind("airqueue.runs.measurement:measurement", MEASURING),
}


def register(
    name: str,
    function: Callable[[Inputs], Any],
    packages: tuple[str, ...],
    further: Callable[[Inputs], tuple[str, ...]] = _nothing,
) -> None:
    """Make a function of the inputs a kind of work; the function's module calls this when imported.

    ``packages``: the full names of the packages on which the result depends, besides that module;
    ``further`` returns the packages on which the result depends for some inputs only. Raises
    RunError for a name that another function has, and for a function that other processes could
    not import: a function of a script, or inside another function.
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
    """Return a kind; for an unknown name raises RunError that lists the names."""
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
