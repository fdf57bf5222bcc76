"""Rates, sizes and times as people type them, with errors that say what would have been right."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_RATE_UNITS = {
    "bit": 1,
    "kbit": 10**3,
    "mbit": 10**6,
    "gbit": 10**9,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}
_SIZE_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "kib": 2**10, "mib": 2**20}
_TIME_UNITS = {
    "": Decimal(1),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "min": Decimal(60),
}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)


class UnitError(ValueError):
    """Text that is no quantity of the wanted kind; the message is one sentence."""


def _split(text: str, what: str, example: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None or not text.isascii() or len(text) > 40:
        raise UnitError(f"{text[:40]!r} is not a {what}; write for example {example}")
    try:
        return Decimal(match[1]), match[2].lower()
    except InvalidOperation as error:  # pragma: no cover - the pattern admits numbers only
        raise UnitError(f"{text!r} is not a {what}; write for example {example}") from error


def parse_rate(text: str) -> int:
    """Return bits per second from ``7mbit``, ``500kbit/s`` or ``1.5Mb/s``; the unit is required.

    Multiples are decimal. tc reads ``bps`` as bytes per second where most people mean bits, so it
    is refused rather than guessed at.
    """
    body, slash, per = text.strip().partition("/")
    if slash and per.lower() != "s":
        raise UnitError(f"{text!r} is not a rate; write for example 7mbit")
    value, unit = _split(body, "rate", "7mbit, 500kbit or 1gbit")
    if unit not in _RATE_UNITS:
        hint = "it needs a unit" if not unit else f"the unit {unit!r} is not known"
        raise UnitError(f"{text!r} is not a rate: {hint}; use bit, kbit, mbit or gbit")
    rate = value * _RATE_UNITS[unit]
    if rate < 1:
        raise UnitError(f"the rate {text!r} is less than one bit per second")
    return round(rate)


def parse_size(text: str) -> int:
    """Return bytes from ``1540``, ``64kB`` (1000 bytes each) or ``64KiB`` (1024 bytes each)."""
    value, unit = _split(text, "size", "1540, 64kB or 64KiB")
    if unit not in _SIZE_UNITS:
        raise UnitError(f"{text!r} is not a size: use bytes, kB (1000) or KiB (1024)")
    size = value * _SIZE_UNITS[unit]
    if size != int(size):
        raise UnitError(f"{text!r} is not a whole number of bytes")
    return int(size)


def parse_burst(text: str, frame_bytes: int) -> int:
    """Return bytes from a size, or from ``64p``: that many frames of ``frame_bytes`` each."""
    body = text.strip()
    if body[-1:].lower() == "p" and body[:-1].isascii() and body[:-1].isdigit():
        count = int(body[:-1][:12])
        if count < 1:
            raise UnitError("a burst is at least one packet (1p)")
        return count * frame_bytes
    try:
        return parse_size(body)
    except UnitError as error:
        raise UnitError(
            f"{text!r} is not a burst; write bytes (1540, 64kB) or packets (64p)"
        ) from error


def parse_duration(text: str) -> float:
    """Return seconds from ``2``, ``2s``, ``500ms``, ``80us`` or ``1.5min``."""
    value, unit = _split(text, "length of time", "2s or 500ms")
    if unit not in _TIME_UNITS:
        raise UnitError(f"{text!r} is not a length of time: use us, ms, s or min")
    return float(value * _TIME_UNITS[unit])


def parse_pair(text: str, what: str, example: str) -> tuple[str, str]:
    """Split ``FIRST:SECOND``, as in ``10s:2s``; both parts must be there."""
    first, colon, second = text.partition(":")
    if not (first and colon and second) or ":" in second:
        raise UnitError(f"{text!r} is not {what}; write for example {example}")
    return first, second
