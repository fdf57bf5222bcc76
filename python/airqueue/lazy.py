"""Modules that load when they are first used: a command that needs none of them answers at once.

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")
"""

from __future__ import annotations

import importlib
from typing import Any


class Module:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Import the module, and return what has this name in it."""
        value = getattr(importlib.import_module(self._name), name)
        setattr(self, name, value)  # the next time Python finds it without asking here
        return value
