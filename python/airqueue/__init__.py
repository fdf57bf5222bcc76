"""airqueue: measure, model, simulate, emulate and manage the queues of Wi-Fi networks.

>>> import airqueue
>>> airqueue.models.bianchi(10).collision_probability.round(3)
np.float64(0.29)

Packages load when they are first used. ``docs/python.md`` says which names are stable.
"""

from airqueue import starting

starting.begin()

# These take a while to load.
from typing import Any  # noqa: E402

from airqueue import _native  # noqa: E402

__version__ = _native.VERSION

_PACKAGES = frozenset(
    {
        "diagnose",
        "emulate",
        "gym",
        "measure",
        "models",
        "runs",
        "simulate",
        "sizing",
        "sweep",
        "testing",
        "uploads",
    }
)


def __getattr__(name: str) -> Any:
    """Import a package at its first use."""
    if name in _PACKAGES:
        import importlib  # noqa: PLC0415 - Python has it loaded already

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'airqueue' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES})
