"""Errors of sweeps; each message is a sentence that states where and what to change."""

from __future__ import annotations


class SweepError(ValueError):
    """An invalid sweep: the message names the key, the value found and the value expected."""
