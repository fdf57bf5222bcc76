"""Closed-form models of 802.11 cells, their queues and what runs over them: one file per model.

Conventions of all models:

- Every number may be a scalar or an array; arguments are broadcast against each other as NumPy does.
  Scalars in, scalars out.
- The unit is in the name: ``_s``, ``_bps``, ``_bits``, ``_bytes``, ``_slots``. A name without unit is
  a count, a probability or a ratio.
- A contention window is given as the largest value of a backoff, ``cw_min`` and ``cw_max`` (31, not
  32, and 1023 for 802.11b).
- Bad input raises `airqueue.models.errors.ParameterError`, which names the parameter, the value and
  the valid values. An equation without a solution raises `ConvergenceError`. No NaN is returned.
- `airqueue.models.catalogue` lists the models for `airqueue model`.

A model's module loads when its name is first used, and is called like the function of its name:
``airqueue.models.bianchi(10)`` is ``airqueue.models.bianchi.bianchi(10)``.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from airqueue.callable_module import call_as_function


class _Models(ModuleType):
    """The package, whose modules can be called as soon as they are in it."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType):
            call_as_function(value)
        super().__setattr__(name, value)


def _modules() -> frozenset[str]:
    from airqueue.models.catalogue import MODULES  # noqa: PLC0415 - it is a module of this package

    return frozenset(MODULES.values())


def __getattr__(name: str) -> Any:
    """Import the module of a model at its first use."""
    if not name.startswith("_") and name in _modules():
        return importlib.import_module(f"airqueue.models.{name}")
    raise AttributeError(f"module 'airqueue.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})


sys.modules[__name__].__class__ = _Models
