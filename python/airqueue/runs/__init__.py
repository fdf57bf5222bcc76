"""Pieces of work, identified by their inputs, executed once and kept.

>>> from airqueue.runs import Work, execute
>>> work = Work("model", {"model": "tay-chua", "parameters": {"n": 10}})
>>> round(execute([work])[work.key]["collision_probability"], 3)
0.293
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from airqueue.runs.errors import BackendError, RunError, WorkError
from airqueue.runs.execute import WorkProgress, execute
from airqueue.runs.store import Store
from airqueue.runs.work import Work

if TYPE_CHECKING:
    from airqueue.runs.cluster import Cluster
    from airqueue.runs.local import Local

__all__ = [
    "BackendError",
    "Cluster",
    "Local",
    "RunError",
    "Store",
    "Work",
    "WorkError",
    "WorkProgress",
    "execute",
]

_BACKENDS: Final = {"Cluster": "cluster", "Local": "local"}
"""Class -> its module, which loads at the first use: most commands need no other process."""


def __getattr__(name: str) -> Any:
    """Import a backend at its first use."""
    if name not in _BACKENDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_BACKENDS[name]}"), name)
