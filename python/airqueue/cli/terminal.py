"""Output where UTF-8 is not taken: our signs in ASCII, in place of a traceback."""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
from io import TextIOWrapper
from typing import Final

_SIGNS: Final = {
    "–": "-",
    "−": "-",
    "·": "*",
    "×": "x",
    "±": "+-",
    "→": "->",
    "↑": "^",
    "↓": "v",
    "⇅": "^v",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "≠": "!=",
    "∝": "~",
    "√": "sqrt",
    "✓": "yes",
    "✗": "no",
    "μ": "u",
    "µ": "u",
    "τ": "tau",
    "λ": "lambda",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "δ": "delta",
    "Σ": "sum",
    "█": "#",
    "▁": "_",
    "─": "-",
    "━": "-",
    "│": "|",
}


def open_closed() -> None:
    """Have closed streams be the null device, so that no file of ours gets into their place.

    What is written there is lost, as whoever closed them wants. Python's stdin stays None: what is
    to be read there is missing, and `airqueue.files` says so.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null == number:
                os.set_inheritable(number, True)
            else:
                os.close(null)
        if number:
            # Text ends there for good, so nothing is to be closed.
            stream = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def write_anywhere() -> None:
    """Have stdout and stderr take every text, whatever their encoding: see `plain`."""
    codecs.register_error("airqueue.plain", plain)
    for stream in (sys.stdout, sys.stderr):
        # Programs may have put streams of other kinds in place.
        if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="airqueue.plain")


def plain(error: UnicodeError) -> tuple[str, int]:
    """Return what stands in place of characters that an encoding lacks, and where to go on.

    Signs of ours become ASCII, digits above and below the line plain digits; all other characters,
    such as those of users' names, become escapes. An error handler of `codecs`.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    parts = unicodedata.normalize("NFKD", character)
    compatible = "".join(_SIGNS.get(part, part) for part in parts)
    return compatible if compatible.isascii() else ascii(character)[1:-1]
