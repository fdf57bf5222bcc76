"""Packages and modules that are called like the function of their name.

``airqueue.simulate(...)``, ``airqueue.emulate(...)`` and ``airqueue.models.bianchi(10)`` are what
one types first; these names are modules, too. Python lets a module have a class of its own for such
purposes (the data model, "Customizing module attribute access"). Type checkers see the modules
alone: code that is checked calls ``airqueue.simulate.simulate`` and
``airqueue.models.bianchi.bianchi``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that is called like the function of its name in it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function. Raises TypeError that names the module's functions without one."""
        name = self.__name__.rpartition(".")[2]
        function: Any = self.__dict__.get(name)
        if not _is_own(function, self):
            there = [each for each, of in self.__dict__.items() if _is_own(of, self)]
            names = ", ".join(each for each in there if not each.startswith("_")) or "none"
            raise TypeError(f"{self.__name__} has no function {name}(); it has {names}")
        return function(*args, **options)


def call_as_function(module: ModuleType) -> None:
    """Let a module be called."""
    module.__class__ = CallableModule


def _is_own(value: object, module: ModuleType) -> bool:
    """Whether a value is a function of the module or of its package."""
    home = getattr(value, "__module__", "") or ""
    is_function = callable(value) and not isinstance(value, type)
    return is_function and home.startswith(module.__name__)
