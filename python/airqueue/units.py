"""Rates, sizes and times as people type them, with errors that say what would have been right.

The units and their spellings are those of `airqueue_core::quantity` in Rust, the one grammar of
scenario files, command lines and Python:

=====================  ======================================================================
rate                   ``b/s kb/s Mb/s Gb/s``, also ``bit/s kbit/s ...``, ``bit kbit mbit
                       gbit`` and ``b kb mb gb``
length of time         ``ns us ms s min h``, also ``µs``
size                   ``B kB MB GB`` (1000 each) and ``KiB MiB GiB`` (1024 each)
number of packets      ``packets``, also ``packet`` and ``p``
=====================  ======================================================================

A quantity is a number (``5``, ``5.5``, ``5.4e7``), spaces or none, and a unit in letters of either
case; only the ``b`` of a rate is small, for ``MB/s`` would be bytes per second. A number alone is
refused. Functions of Python take floats, in bit/s, s, and bytes.
"""

from __future__ import annotations

import re
from typing import Final

from airqueue import _native
from airqueue.text import words_and_unit

_NUMBER: Final = re.compile(r"-?(\d+\.?\d*|\.\d+)(e-?\d+)?")


class UnitError(ValueError):
    """Text that is no quantity of the wanted kind; the message is one sentence."""


def parse(text: str, kind: str) -> float:
    """Return what a text says in the base unit of a kind: ``rate``, ``duration``, ``size``, ...

    Raises UnitError.

    >>> parse("54mbit", "rate"), parse("100 ms", "duration"), parse("64KiB", "size")
    (54000000.0, 0.1, 65536)
    """
    try:
        return _native.parse_quantity(text, kind)
    except ValueError as error:
        raise UnitError(str(error)) from error


def of_figure(name: str, written: str) -> float:
    """Return a value in the unit at the end of a figure's name; a plain number where there is none.

    Raises UnitError.

    >>> of_figure("delay_p95_s", "50 ms"), of_figure("loss_ratio", "0.01")
    (0.05, 0.01)
    """
    if unit := words_and_unit(name)[1]:
        quantity = _native.measure(written)
        if quantity is None or quantity[1] != name.rpartition("_")[2]:
            raise UnitError(f"{written!r}; expected a number and a unit, as {unit}")
        return float(quantity[0])
    if _NUMBER.fullmatch(written) is None:
        raise UnitError(f"{written!r}; expected a number alone")
    return float(written)


def parse_rate(text: str) -> int:
    """Return bits per second, at least one, from ``7mbit``, ``500 kb/s`` or ``1.5e6 bit/s``."""
    rate = parse(text, "rate")
    if rate < 1:
        raise UnitError(f"the rate {text!r} is less than one bit per second")
    return round(rate)


def parse_size(text: str) -> int:
    """Return bytes from ``1540B``, ``64kB`` (1000 bytes each) or ``64KiB`` (1024 bytes each)."""
    return int(parse(text, "size"))


def parse_burst(text: str, frame_bytes: int) -> int:
    """Return bytes from a size, or from ``64p``: that many frames of ``frame_bytes`` each."""
    try:
        count, counted = _native.parse_limit(text)
    except ValueError as error:
        raise UnitError(
            f"{text!r} is not a burst; write bytes (1540B, 64kB) or packets (64p)"
        ) from error
    if counted == "bytes":
        return count
    if count < 1:
        raise UnitError("a burst is at least one packet (1p)")
    return count * frame_bytes


def parse_duration(text: str) -> float:
    """Return seconds from ``2s``, ``500ms``, ``80 us`` or ``1.5min``."""
    return parse(text, "duration")


def parse_pair(text: str, what: str, example: str) -> tuple[str, str]:
    """Split ``FIRST:SECOND``, as in ``10s:2s``; both parts must be there."""
    first, colon, second = text.partition(":")
    if not (first and colon and second) or ":" in second:
        raise UnitError(f"{text!r} is not {what}; write for example {example}")
    return first, second
