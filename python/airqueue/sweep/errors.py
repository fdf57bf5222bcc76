"""What sweeps raise; each message is a sentence that says where and what to change."""

from __future__ import annotations


class SweepError(ValueError):
    """A sweep that cannot be carried out: the message names key, what was found and expected."""
