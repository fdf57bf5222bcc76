"""The kinds of work: what carries each out, and which code its result depends on.

A kind is a line in `KINDS`: a function of the inputs, which are plain JSON, that returns plain JSON.
The same inputs must give the same result, in any process and on any machine. A result is kept under
a fingerprint of the packages that the kind stands on, so all that it computes with belongs to them.
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
    """Packages and modules below ``airqueue`` that it stands on."""
    further: Callable[[Inputs], tuple[str, ...]] = _nothing
    """Those that it stands on for some inputs alone."""

    def parts(self, inputs: Inputs) -> frozenset[str]:
        """Return the full names of all modules and packages that the result depends on."""
        named = (f"airqueue.{name}" for name in (*self.packages, *self.further(inputs)))
        return frozenset({self.function.partition(":")[0], *named})


def _steering(inputs: Inputs) -> tuple[str, ...]:
    """What decides on limits of queues while a scenario with the table ``buffers`` runs."""
    scenario = inputs.get("scenario")
    steered = isinstance(scenario, Mapping) and "buffers" in scenario
    return ("sizing", "models", "felt", "units", "stats") if steered else ()


KINDS: Final[dict[str, Kind]] = {
    "simulation": Kind("airqueue.runs.simulation:simulation", ("simulate",), _steering),
    "model": Kind("airqueue.runs.model:model", ("models", "felt", "units", "stats")),
    "measurement": Kind(
        "airqueue.runs.measurement:measurement", ("measure", "felt", "stats", "units")
    ),
    "apq-session": Kind("airqueue.papers.apq.path:session", ("measure", "stats", "units")),
    "host-ap": Kind("airqueue.papers.apq.host_ap:host_ap", ("measure", "linux", "stats", "units")),
    "figure": Kind("airqueue.plots.figure_work:figure", ("plots", "papers.picture", "text")),
    "series": Kind("airqueue.runs.series:series", ("simulate",), _steering),
}
"""Name -> kind. A new one needs nothing else: processes that carry it out are told the function."""


def find(name: str) -> Kind:
    """Return a kind; raises RunError that lists the names if there is none."""
    if name not in KINDS:
        raise RunError(f"there is no kind of work {name!r}; there are {', '.join(KINDS)}")
    return KINDS[name]


def function_of(reference: str) -> Callable[[Inputs], Any]:
    """Import and return what ``module:name`` refers to."""
    module, _, name = reference.partition(":")
    function: Callable[[Inputs], Any] = getattr(importlib.import_module(module), name)
    return function
