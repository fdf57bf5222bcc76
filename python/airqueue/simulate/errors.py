"""Errors of simulations; each message says in a sentence where and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral


@dataclass(frozen=True, slots=True)
class Problem:
    """An error of a scenario."""

    key: str
    """With the places of elements, as in ``flows[0].rate``; empty for the whole scenario."""
    problem: str
    """What was found there, and what was expected."""
    line: int | None = None
    """Of the file, from 1; None where the key is in no file."""

    def sentence(self, file: str = "") -> str:
        """Return the problem with its place, as compilers do: ``cell.toml:4: phy.rate: ...``."""
        where = [f"{file}:{self.line}" if file and self.line is not None else file, self.key]
        return ": ".join([*filter(None, where), self.problem])


class ScenarioError(ValueError):
    """A scenario that cannot be simulated: the message names place, what was found and expected.

    ``problems`` has all errors of the scenario, each with its key; the message has a line for each.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def of(cls, problems: Sequence[Problem], file: str = "") -> ScenarioError:
        """Return the error of these problems, at least one, in a file or a description."""
        # As one reads a file; sorted() leaves the order of those without a line.
        problems = sorted(problems, key=lambda each: (each.line is None, each.line or 0))
        lines = [each.sentence(file) for each in problems]
        if len(lines) == 1:
            return cls(lines[0], problems)
        head = f"{len(lines)} errors in {file or 'the scenario'}:"
        ended = (line if line.endswith((".", "?")) else f"{line}." for line in lines)
        return cls("\n".join([head, *ended]), problems)


class RenamedKeyWarning(FutureWarning):
    """A key by an old name: the message has the new one, and says how long the old one is read."""


class ResultsError(ValueError):
    """A directory of results that is another's, or not whole: the message says what to do."""


class OtherResultsError(ResultsError):
    """A directory with other results, which may be discarded.

    ``found`` says what it has, ``another_way`` what else could be done.
    """

    def __init__(self, found: str, another_way: str = "") -> None:
        self._found = f"{found}; {another_way}"
        super().__init__(_instead(self._found, "force=True"))

    @property
    def on_command_line(self) -> str:
        """The message where one types options: what Python calls ``force`` is ``--force`` there."""
        return _instead(self._found, "--force")


def _instead(found: str, force: str) -> str:
    return f"{found}choose another directory, or discard them with {force}"


def check_whole(name: str, value: object, least: int, most: int) -> int:
    """Return a whole number, numpy's too. Raises ScenarioError unless it is between these."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or not least <= whole <= most:
        raise ScenarioError(f"{name}: {value!r}; expected a whole number from {least} to {most}")
    return whole
