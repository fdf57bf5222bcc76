"""Errors of simulations; each message says in a sentence where and what to change."""

from __future__ import annotations


class ScenarioError(ValueError):
    """A scenario that cannot be simulated: the message names place, what was found and expected."""


class RenamedKeyWarning(FutureWarning):
    """A key by an old name: the message has the new one, and says how long the old one is read."""


class ResultsError(ValueError):
    """A directory of results that is another's, or not whole: the message says what to do."""


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """Raise ScenarioError unless ``value`` is a whole number between these."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScenarioError(f"{name}: {value!r}; expected a whole number from {least} to {most}")
