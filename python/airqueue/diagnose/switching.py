"""The user's commands that switch a setting on and off, and diagnoses in turn between them.

However the diagnoses end (to the end, by an error, Ctrl-C, SIGTERM, or a terminal that closes), the
setting is put into the state that the user chose to leave.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Final, Self

from airqueue.diagnose.alternate import Half, State, order
from airqueue.diagnose.records import Records

SETTLE_S: Final = 2.0
"""After a switch: stations of an access point that begins anew need longer."""
LONGEST_S: Final = 60.0
"""Of a command."""
_STDERR: Final = 2
"""What commands print goes there: stdout may be the result."""
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)

Say = Callable[[str], None]
Measure = Callable[[str], tuple[Records, bool]]
"""Makes one diagnosis, whose progress is shown after these words; returns the records, and whether
Ctrl-C ended the diagnosis early."""


class SwitchError(Exception):
    """A command did not switch the setting; the message is one sentence."""


class Switch:
    """A setting while diagnoses alternate: a context manager of the main thread.

    ``say`` gets sentences about how the setting was left. ``put_back``: False if that failed.
    """

    def __init__(self, commands: Mapping[State, str], left: State, say: Say) -> None:
        self._commands = commands
        self._left = left
        self._say = say
        self._now: State | None = None
        self._before: dict[int, Any] = {}
        self._ending = False
        self.put_back = True

    def __enter__(self) -> Self:
        """Take over the signals that end this process; nothing is switched yet."""
        for number in (signal.SIGINT, *_ENDING):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def to(self, state: State) -> bool:
        """Switch, unless that is the state; return whether a command ran. Raises SwitchError."""
        if self._now == state:
            return False
        self._now = None  # unknown, should the command be interrupted
        self._run(state)
        self._now = state
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the setting into the state to leave, whatever signals come meanwhile."""
        try:
            self._leave()
        except (KeyboardInterrupt, SystemExit):
            # The first signal came just now; all later ones are ignored.
            self._leave()
            raise
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _leave(self) -> None:
        # Ignored by the command as well: Ctrl-C goes to all processes of the terminal.
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)
        try:
            self.to(self._left)
        except SwitchError as failed:
            self.put_back = False
            self._say(
                f"The setting could NOT be left in the state {self._left!r}. {failed} Run this "
                f"command by hand: {self._commands[self._left]}"
            )
        else:
            self._say(f"The setting is left in the state {self._left!r}, as you chose.")

    def _run(self, state: State) -> None:
        command = self._commands[state]
        try:
            done = subprocess.run(
                command,
                shell=True,  # the user's own command line
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SwitchError(
                f"The command for the state {state!r} took longer than {LONGEST_S:g} s: {command}"
            ) from error
        if done.returncode != 0:
            raise SwitchError(
                f"The command for the state {state!r} failed with exit code {done.returncode}: "
                f"{command}"
            )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._ending:
            return
        self._ending = True
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


@dataclass(frozen=True, slots=True)
class Turns:
    """Diagnoses in turn: those that were made to the end, and what ended them early, if anything."""

    halves: tuple[Half, ...]
    interrupted: bool = False
    """Whether Ctrl-C did."""
    error: Exception | None = None


def alternate(
    switch: Switch, pairs: int, measure: Measure, say: Say, settle_s: float = SETTLE_S
) -> Turns:
    """Make diagnoses without and with the setting in turn.

    What was made is kept when Ctrl-C or an error ends them. Before the first diagnosis was made
    KeyboardInterrupt is raised, SwitchError, and what ``measure`` raises.
    """
    halves: list[Half] = []
    try:
        for index, state in enumerate(order(pairs)):
            words = f"pair {index // 2 + 1} of {pairs}, {state} the setting"
            say(f"{words}: switching")
            if switch.to(state):
                time.sleep(settle_s)
            records, interrupted = measure(words)
            if interrupted:
                raise KeyboardInterrupt
            halves.append(Half(state, records))
    except KeyboardInterrupt:
        if not halves:
            raise
        return Turns(tuple(halves), interrupted=True)
    except Exception as error:
        if not halves:
            raise
        return Turns(tuple(halves), error=error)
    return Turns(tuple(halves))
