"""What a scenario raises; each message is a sentence that says where and what to change."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario that cannot be simulated: the message names place, what was found and expected."""
