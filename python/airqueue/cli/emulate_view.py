"""Figures of a running emulation on a terminal: tables, and a screen that programs print on too."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final

from airqueue import text
from airqueue.cli.console import Console, colours_alone
from airqueue.cli.live import Live
from airqueue.cli.table import Table
from airqueue.emulate.errors import EmulationError

if TYPE_CHECKING:
    from airqueue.records import LiveDict

_PER_SECOND: Final = 2
_MOST_STATIONS: Final = 10
"""Rows of stations: those with the largest shares of air time, and those that are away."""
_JOIN_S: Final = 1.0


def tables(figures: LiveDict) -> tuple[Table, Table, str]:
    """Return the figures of the last seconds as tables."""
    return _pairs(figures), _stations(figures), _kept_up(figures)


def _pairs(figures: LiveDict) -> Table:
    table = Table("pair")
    for heading in ("rate", "delay\np50", "delay\np95", "dropped", "lost"):
        table.add_column(heading, justify="right")
    for name, pair in figures["pairs"].items():
        if pair["offered_packets"] or pair["delivered_packets"]:
            table.add_row(
                name.replace("->", " → "),
                text.rate(pair["delivered_bps"]),
                _seconds(pair["delay_p50_s"]),
                _seconds(pair["delay_p95_s"]),
                f"{pair['dropped_packets']:,}",
                f"{pair['given_up_packets']:,}",
            )
    return table


def _stations(figures: LiveDict) -> Table:
    table = Table("station")
    for heading in ("air time", "waiting\npackets", "dropped"):
        table.add_column(heading, justify="right")
    stations, queues = figures["stations"], figures["queues"]

    def rank(name: str) -> tuple[bool, float]:
        return stations[name]["away"], stations[name]["airtime_ratio"] or 0.0

    ranked = sorted(stations, key=rank, reverse=True)
    for name in sorted(ranked[:_MOST_STATIONS], key=list(stations).index):
        # A station with access categories has a queue for each: NAME.be and so on.
        own = [of for queue, of in queues.items() if queue.partition(".")[0] == name]
        table.add_row(
            name,
            "away" if stations[name]["away"] else text.percent(stations[name]["airtime_ratio"]),
            f"{sum(of['packets'] for of in own):,}",
            f"{sum(of['dropped_packets'] for of in own):,}",
        )
    for name, of in queues.items():
        if "->" in name and (of["packets"] or of["dropped_packets"]):
            shown = name.replace("->", " → ")
            table.add_row(shown, "", f"{of['packets']:,}", f"{of['dropped_packets']:,}")
    return table


def _kept_up(figures: LiveDict) -> str:
    late_s = figures["late_p99_s"]
    late = "no packet written"
    if late_s is not None:
        late = f"packets written {text.seconds(late_s)} late (p99)"
    # A line of a terminal of 80 columns.
    return (
        f"{text.seconds(figures['elapsed_s'])} of real time; the last "
        f"{text.seconds(figures['duration_s'])}: {late}, "
        f"{text.percent(figures['cpu_ratio'])} of a processor"
    )


def _seconds(value: float | None) -> str:
    return "–" if value is None else text.seconds(value)


def display(console: Console, figures: Callable[[], LiveDict]) -> Live:
    """Return a display of figures, renewed twice a second within its ``with`` statement.

    Where ``figures`` raises EmulationError, the display has its sentence.
    """

    def now() -> Sequence[str | Table]:
        try:
            return tables(figures())
        except EmulationError as error:
            return [str(error)]

    return Live(console, now, per_second=_PER_SECOND)


class Screen:
    """The terminal of stderr, with figures at its end and what programs print above them.

    Programs that would print on a terminal get a pipe, and so are not at a terminal; what goes
    elsewhere goes there. A line appears when it is whole. Use as a context manager.
    """

    def __init__(self, figures: Callable[[], LiveDict]) -> None:
        self._console = Console(stderr=True)
        self._display = display(self._console, figures)
        self._pipe, self._programs = os.pipe()
        self.streams = (self._programs if sys.stdout.isatty() else 1, self._programs)
        """Descriptors for stdout and stderr of programs."""
        self._reader = threading.Thread(target=self._pass_on, name="airqueue-screen", daemon=True)

    def __enter__(self) -> Screen:
        self._display.start()
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._programs)
        # What a program has started and left may have the pipe still.
        self._reader.join(_JOIN_S)
        self._display.stop()
        if not self._reader.is_alive():
            os.close(self._pipe)

    def _pass_on(self) -> None:
        rest = b""
        with suppress(OSError):
            while data := os.read(self._pipe, 65_536):
                *lines, rest = (rest + data).split(b"\n")
                self._print(lines)
                # A line without an end does not grow for ever.
                if len(rest) > 65_536:
                    self._print([rest])
                    rest = b""
        if rest:
            self._print([rest])

    def _print(self, lines: list[bytes]) -> None:
        self._display.print_above([colours_alone(line.decode(errors="replace")) for line in lines])
