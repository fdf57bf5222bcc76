"""`airqueue diagnose --switch`: diagnoses without and with a setting, in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from airqueue.cli.diagnose_view import View
from airqueue.cli.parameters import DURATION, Whole
from airqueue.cli.talk import note
from airqueue.diagnose.alternate import (
    FEWEST_PAIRS,
    MOST_PAIRS,
    PAIRS,
    WITH,
    WITHOUT,
    State,
)
from airqueue.diagnose.order import Order
from airqueue.diagnose.order import diagnose as carry_out
from airqueue.diagnose.switching import SETTLE_S, Switch, Turns, alternate
from airqueue.diagnose.timeline import BrokenOffError, Glimpse

Command = TypeVar("Command", bound=Callable[..., Any])
_ONLY_WITH_SWITCH: Final = {"pairs": "--pairs", "leave": "--leave", "settle": "--settle"}


def switch_options(command: Command) -> Command:
    """Add the options of diagnoses in turn."""
    for option in reversed(
        (
            click.option(
                "--switch",
                nargs=2,
                metavar="WITHOUT WITH",
                help="Two commands of the shell, which take a setting away and set it: diagnose "
                "without and with the setting in turn, and compare in pairs.",
            ),
            click.option(
                "--pairs",
                type=Whole(FEWEST_PAIRS, MOST_PAIRS),
                help=f"Of --switch; a pair is two diagnoses.  [default: {PAIRS}]",
            ),
            click.option(
                "--leave",
                type=click.Choice([WITHOUT, WITH]),
                help="State of the setting after --switch, also after Ctrl-C and errors.  "
                f"[default: {WITHOUT}]",
            ),
            click.option(
                "--settle",
                type=DURATION,
                metavar="TIME",
                help=f"Wait after each switch.  [default: {SETTLE_S:g}s]",
            ),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Switching:
    """The options as the user gave them; None: not given."""

    commands: tuple[str, str] | None
    pairs: int | None
    leave: State | None
    settle: float | None

    def check(self, **others: bool) -> None:
        """Raise click.UsageError. ``others``: options that were given and do not go together."""
        if self.commands is None:
            for name, flag in _ONLY_WITH_SWITCH.items():
                if getattr(self, name) is not None:
                    raise click.UsageError(f"{flag} is for diagnoses in turn: give --switch.")
            return
        if not all(command.strip() for command in self.commands):
            raise click.UsageError(
                "--switch has an empty command; write `true` where nothing needs to be run."
            )
        for name, given in others.items():
            if given:
                raise click.UsageError(
                    f"--switch makes plain diagnoses in both states: leave --{name} out."
                )


def measure_in_turn(order: Order, wanted: Switching, view: View) -> tuple[Turns, State, bool]:
    """Diagnose in turn; return all of it, the state to leave, and whether the setting was left so."""
    assert wanted.commands is not None
    left: State = wanted.leave or WITHOUT

    def tell(words: str) -> None:
        note(words)

    def say(words: str) -> None:
        view.on_glimpse(Glimpse(words, None, {}))

    def measure(words: str) -> Any:
        def on_glimpse(seen: Glimpse) -> None:
            view.on_glimpse(Glimpse(f"{words}: {seen.says}", seen.left_s, seen.trips_s))

        try:
            return carry_out(order, on_glimpse)
        except BrokenOffError as broke:
            # Half a diagnosis is compared with nothing.
            raise broke.error from None

    commands: dict[State, str] = {WITHOUT: wanted.commands[0], WITH: wanted.commands[1]}
    settle_s = SETTLE_S if wanted.settle is None else wanted.settle
    with Switch(commands, left, tell) as switch:
        turns = alternate(switch, wanted.pairs or PAIRS, measure, say, settle_s)
    return turns, left, switch.put_back
