"""What is done meanwhile, for whoever listens: `airqueue -v` prints it on stderr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

listeners: Final[list[Callable[[str], object]]] = []
"""Called with each sentence, which has no full stop."""


def tell(sentence: str) -> None:
    """Tell all listeners what is done now."""
    for listener in listeners:
        listener(sentence)
