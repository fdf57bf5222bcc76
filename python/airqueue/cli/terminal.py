"""Output where UTF-8 is not taken: our signs in ASCII, in place of a traceback."""

from __future__ import annotations

import codecs
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
