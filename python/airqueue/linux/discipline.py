"""Queue disciplines of the kernel: their names and parameters in tc."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Unit = Literal["packets", "bytes"]

_LIMITED_IN: Final[dict[str, Unit]] = {
    "cake": "bytes",
    "choke": "packets",
    "codel": "packets",
    "drr": "packets",
    "fq": "packets",
    "fq_codel": "packets",
    "fq_pie": "packets",
    "hhf": "packets",
    "pie": "packets",
    "prio": "packets",
    "red": "bytes",
    "sfb": "packets",
    "sfq": "packets",
    "skbprio": "packets",
}
"""Disciplines that tc builds with one command, and drr, and the unit of their limits."""

NAMES: Final = tuple(sorted(_LIMITED_IN))
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,%+/-]*", re.ASCII)
_WITH_NUMBERS: Final = frozenset(
    {
        *("ce_threshold", "depth", "drop_batch", "flows", "interval", "limit", "max"),
        *("memory_limit", "min", "perturb", "quantum", "rtt", "target", "tupdate"),
    }
)
"""Parameters whose values begin with a digit, whatever the discipline."""
_MOST_WORDS = 40
_LONGEST_WORD = 40


class DisciplineError(ValueError):
    """Words that describe no discipline; the message is a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class Discipline:
    """A discipline other than a FIFO. ``parameters`` are tc's own words, which tc checks.

    Only that numbers are numbers is checked here too.
    """

    kind: str
    parameters: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Discipline:
        """Return the discipline that words like those of tc describe.

        >>> Discipline.parse("codel target 50ms")
        Discipline(kind='codel', parameters=('target', '50ms'))
        """
        kind, *parameters = text.split() or [""]
        return cls(kind, tuple(parameters))

    def __post_init__(self) -> None:
        if self.kind not in _LIMITED_IN:
            raise DisciplineError(
                f"the test bed has no discipline {self.kind!r}; there are {', '.join(NAMES)}, and "
                "FIFOs: pfifo:100 (packets) and bfifo:150kB"
            )
        if len(self.parameters) > _MOST_WORDS:
            raise DisciplineError(f"{self.kind} has more than {_MOST_WORDS} words of parameters")
        for word in self.parameters:
            if len(word) > _LONGEST_WORD or not _PLAIN.fullmatch(word):
                raise DisciplineError(
                    f"{word[:_LONGEST_WORD]!r} is no word of tc's parameters for {self.kind}; "
                    "write for example 'codel target 50ms limit 1000'"
                )

        for name, value in pairwise(self.parameters):
            if name in _WITH_NUMBERS and not value[0].isdigit():
                raise DisciplineError(
                    f"{self.kind} has {name} {value}; expected a number, as in "
                    "'codel target 50ms limit 1000'"
                )

    @property
    def counted_in(self) -> Unit:
        """The unit of the discipline's limit."""
        return _LIMITED_IN[self.kind]

    @property
    def words(self) -> tuple[str, ...]:
        """What tc is given."""
        return (self.kind, *self.parameters)

    def __str__(self) -> str:
        return " ".join(self.words)
