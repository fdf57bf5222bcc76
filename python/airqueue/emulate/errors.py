"""The error of emulations."""

from __future__ import annotations


class EmulationError(Exception):
    """An emulation cannot run; the message is one sentence that says what to do."""
