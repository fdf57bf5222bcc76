"""Text and tables on a stream: styles and wrapping on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Final, TextIO

from airqueue.cli.table import Line, Table, wrap

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_CONTROL: Final = re.compile(
    r"\x1b\[[0-9;:]*m|"  # colours, which stay
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?|[\x00-\x08\x0b-\x1f\x7f]"
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]*m\Z")
_IN_ASCII: Final = str.maketrans("┏┓┳┡╇┩├┼┤└┴┘━┃─│", "++++++++++++-|-|")


class Console:
    """Texts and tables on stdout or stderr, or in ``file``, at ``width`` or the terminal's width."""

    def __init__(
        self,
        *,
        stderr: bool = False,
        file: TextIO | None = None,
        width: int | None = None,
        quiet: bool = False,
    ) -> None:
        self._stderr = stderr
        self._file = file
        self._width = width
        self.quiet = quiet

    @property
    def file(self) -> TextIO:
        """Where the texts go."""
        return self._file or (sys.stderr if self._stderr else sys.stdout)

    @file.setter
    def file(self, file: TextIO) -> None:
        self._file = file

    @property
    def is_terminal(self) -> bool:
        """Whether people read what is written, as on a terminal; FORCE_COLOR says so too."""
        return bool(os.environ.get("FORCE_COLOR")) or self.file.isatty()

    @property
    def has_styles(self) -> bool:
        """Whether styles show: see https://no-color.org."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
        return self.is_terminal and not plain

    @property
    def width(self) -> int:
        """Places in a line."""
        return self._width or shutil.get_terminal_size().columns

    def print(self, *objects: str | Table, style: str = "", soft_wrap: bool = False) -> None:
        """Print texts and tables; a text wraps between words unless ``soft_wrap``."""
        for each in objects or ("",):
            if isinstance(each, Table):
                self.write([self.styled(line) for line in each.lines(self.width)])
            else:
                lines = each.split("\n") if soft_wrap else wrap(each, self.width)
                self.write([self.styled(Line(((line, style),))) for line in lines])

    def write(self, lines: list[str]) -> None:
        """Write whole lines."""
        if not self.quiet:
            self.file.write("".join(f"{line}\n" for line in lines))
            self.file.flush()

    def styled(self, line: Line) -> str:
        """Return a line as this console shows it."""
        if not (getattr(self.file, "encoding", None) or "utf-8").lower().startswith("utf"):
            line = Line(tuple((text.translate(_IN_ASCII), style) for text, style in line.pieces))
        if not self.has_styles:
            return line.text
        return "".join(_coded(text, style) for text, style in line.pieces).rstrip()


def _coded(text: str, style: str) -> str:
    codes = ";".join(_CODES[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text.strip() else text


def colours_alone(text: str) -> str:
    r"""Return a line of a program with its colours and without what moves the cursor.

    >>> colours_alone("10 %\r\x1b[2K\x1b[31mred")
    '\x1b[31mred\x1b[0m'
    """
    last = text.rstrip("\r").rpartition("\r")[2]
    kept = _CONTROL.sub(lambda found: found[0] if _COLOUR.match(found[0]) else "", last)
    return f"{kept}\x1b[0m" if "\x1b" in kept else kept
