"""Expectations of a measurement or a comparison, as exit codes that a build can act upon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

import click

from airqueue import text
from airqueue.cli.errors import UNDECIDED, UNMET
from airqueue.cli.parameters import DURATION, Number
from airqueue.measure.compare import Change, Comparison
from airqueue.measure.document import Document
from airqueue.measure.result import Verdict

Command = TypeVar("Command", bound=Callable[..., Any])

UNDER_LOAD: Final = ("sparse flow under load, median", "delay when full")
"""Changes that `compare --fail-on worse` looks at."""
WORSE_S, WORSE_SHARE = 0.001, 0.05
"""Growth of a delay below either of these fails no build."""
WORSE_CHANCE: Final = 0.01
"""Of an unchanged device failing a build, over all delays together (Bonferroni)."""
MANAGED: Final = ("isolated", "not_flat")
"""Verdicts of devices that manage their queue."""
EXPECTED: Final = (*(v for v in get_args(Verdict) if v != "undecided"), "managed")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the user expects of a result; what is None is not asked for."""

    verdict: str | None = None
    max_delay_s: float | None = None
    min_capacity: float | None = None
    max_capacity: float | None = None

    def enforce(self, result: Document) -> None:
        """End the command with `UNMET` or `UNDECIDED`, and a sentence, if the result is not so."""
        if self == Expectation():
            return
        missed = self.missed(result)
        if missed:
            click.echo(f"Not as expected: {'; '.join(missed)}.", err=True)
            raise click.exceptions.Exit(UNMET)
        unknown = self.unknown(result)
        if unknown:
            click.echo(f"Not decided: {'; '.join(unknown)}.", err=True)
            raise click.exceptions.Exit(UNDECIDED)

    def missed(self, result: Document) -> list[str]:
        """Return a clause for each expectation that the result contradicts."""
        verdict, delay_s = result["verdict"], result["delay_full_s"]
        found = []
        allowed = MANAGED if self.verdict == "managed" else (self.verdict,)
        if self.verdict is not None and verdict not in (*allowed, "undecided"):
            found.append(f"the verdict is {verdict}, not {self.verdict}")
        if self.max_delay_s is not None and delay_s is not None and delay_s > self.max_delay_s:
            found.append(
                f"the full queue adds {text.seconds(delay_s)}, more than "
                f"{text.seconds(self.max_delay_s)}"
            )
        capacity, unit = result["capacity"], result["capacity_unit"] or "packets"
        if capacity is not None:
            low, high = result["ci95"] or (capacity, capacity)
            # A capacity fails where its whole interval lies beyond: not by the error of measuring.
            if self.min_capacity is not None and high < self.min_capacity:
                found.append(f"it holds {text.quantity(capacity, unit)}, fewer than asked for")
            if self.max_capacity is not None and low > self.max_capacity:
                found.append(f"it holds {text.quantity(capacity, unit)}, more than asked for")
        return found

    def unknown(self, result: Document) -> list[str]:
        """Return a clause for each expectation that the result leaves open."""
        found = []
        if self.verdict is not None and result["verdict"] == "undecided":
            found.append("the measurement does not decide the kind of queue")
        if self.max_delay_s is not None and result["delay_full_s"] is None:
            found.append("there is no delay of a full queue")
        bounded = self.min_capacity is not None or self.max_capacity is not None
        if bounded and result["capacity"] is None:
            found.append("there is no capacity")
        return found


def expect_options(command: Command) -> Command:
    """Add the options of an `Expectation`; they arrive as the arguments of `expectation`."""
    for option in (
        click.option(
            "--max-capacity",
            type=Number(min=0),
            metavar="N",
            help="Fail if it holds more.",
        ),
        click.option(
            "--min-capacity",
            type=Number(min=0),
            metavar="N",
            help="Fail if it holds fewer, in its own unit.",
        ),
        click.option(
            "--max-delay", type=DURATION, metavar="TIME", help="Fail if the full queue adds more."
        ),
        click.option(
            "--expect",
            type=click.Choice(EXPECTED),
            help="Fail with another verdict; managed: isolated or not_flat.",
        ),
    ):
        command = option(command)
    return command


def expectation(
    expect: str | None,
    max_delay: float | None,
    min_capacity: float | None,
    max_capacity: float | None,
) -> Expectation:
    """Return what the options say; wrong usage if no capacity can be within both bounds."""
    if min_capacity is not None and max_capacity is not None and min_capacity > max_capacity:
        raise click.UsageError("--min-capacity is more than --max-capacity; exchange them.")
    return Expectation(expect, max_delay, min_capacity, max_capacity)


def enforce_not_worse(comparison: Comparison) -> None:
    """End the command with `UNMET` if a delay under load grew, `UNDECIDED` if none can be told."""
    delays = [c for c in comparison.changes if c.name.startswith(UNDER_LOAD)]
    told = [c for c in delays if c.real is not None]
    worse = [c.name for c in told if _grew(c, WORSE_CHANCE / len(told))]
    if worse:
        click.echo(f"Worse: {text.listed(worse)}.", err=True)
        raise click.exceptions.Exit(UNMET)
    if not told:
        click.echo("Not decided: no delay under load of both can be compared.", err=True)
        raise click.exceptions.Exit(UNDECIDED)


def _grew(delay: Change, most_likely: float) -> bool:
    """Whether a delay grew by what somebody could feel, and hardly by chance."""
    if not delay.real or delay.difference is None or delay.before.value is None:
        return False
    felt_s = max(WORSE_S, WORSE_SHARE * delay.before.value)
    return delay.difference > felt_s and (delay.p is None or delay.p <= most_likely)
