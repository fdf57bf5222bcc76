"""Lines at the end of a terminal that are drawn anew, and go away at the end."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from airqueue.cli.console import Console
from airqueue.cli.table import Line, Table, cells_wide

_HIDE, _SHOW, _CLEAR_BELOW = "\x1b[?25l", "\x1b[?25h", "\x1b[J"
_JOIN_S: Final = 5.0


class Live:
    """What ``content`` returns, drawn ``per_second`` times a second. A context manager."""

    def __init__(
        self,
        console: Console,
        content: Callable[[], Sequence[str | Table]],
        *,
        per_second: float = 4,
    ) -> None:
        self._console = console
        self._content = content
        self._pause_s = 1 / per_second
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._drawn = 0
        self._thread = threading.Thread(target=self._follow, name="airqueue-live", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Draw, and go on drawing."""
        self._console.file.write(_HIDE)
        self._draw()
        self._thread.start()

    def stop(self) -> None:
        """Erase what is drawn."""
        self._ended.set()
        self._thread.join(_JOIN_S)
        with self._lock:
            self._console.file.write(self._erasing() + _SHOW)
            self._console.file.flush()

    def print_above(self, lines: Sequence[str]) -> None:
        """Write lines that stay, above what is drawn anew."""
        self._draw(lines)

    def _follow(self) -> None:
        while not self._ended.wait(self._pause_s):
            self._draw()

    def _draw(self, above: Sequence[str] = ()) -> None:
        """Draw in one write, so that nothing flickers."""
        shown = self._lines()
        with self._lock:
            text = self._erasing() + "".join(f"{line}\n" for line in (*above, *shown))
            self._console.file.write(text)
            self._console.file.flush()
            self._drawn = len(shown)

    def _erasing(self) -> str:
        drawn, self._drawn = self._drawn, 0
        return f"\x1b[{drawn}A\r{_CLEAR_BELOW}" if drawn else ""

    def _lines(self) -> list[str]:
        """Return what is shown, cut where the terminal ends: the lines must be those counted."""
        width, height = self._console.width, shutil.get_terminal_size().lines
        lines: list[Line] = []
        for each in self._content():
            if isinstance(each, Table):
                lines += each.lines(width)
            else:
                lines += [Line(((text, ""),)) for text in each.split("\n")]
        return [self._console.styled(_cut(line, width)) for line in lines[: max(height - 1, 1)]]


def _cut(line: Line, width: int) -> Line:
    if cells_wide(line.text) <= width:
        return line
    text = line.text
    while cells_wide(text) > width:
        text = text[:-1]
    return Line(((text, ""),))
