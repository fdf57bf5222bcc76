"""Modules that load when they are first used: a command that needs none of them answers at once.

Some belong to libraries of an extra, which are not installed with airqueue itself.

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, Final

_EXTRAS: Final = {
    "distributed": "cluster",
    "gymnasium": "gym",
    "matplotlib": "plots",
    "pandas": "tables",
    "pyarrow": "tables",
    "xarray": "xarray",
}
"""Library -> the extra that has it, as in pyproject.toml."""


class MissingExtraError(ImportError):
    """A library of an extra is not installed; the message says how to install it."""


def required(name: str) -> ModuleType:
    """Import and return a module. Raises MissingExtraError if the module's library is of an extra."""
    library = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != library or library not in _EXTRAS:
            raise
        raise MissingExtraError(
            f"{library} is not installed: pip install 'airqueue[{_EXTRAS[library]}]'"
        ) from error


class Module:
    """A module that is imported when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Import the module, and return what has this name in it."""
        value = getattr(required(self._name), name)
        setattr(self, name, value)  # the next time Python finds it without asking here
        return value
