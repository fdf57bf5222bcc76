"""Command line values that need more than click's own types."""

from __future__ import annotations

import codecs
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import click
from click.core import ParameterSource

from airqueue import files
from airqueue.units import UnitError, parse_duration, parse_rate, parse_size

SIZE_RANGE = (64, 9000)
"""IP packet sizes that a measurement accepts, in bytes: up to a jumbo frame's payload."""
MAX_KEY_BYTES = 1024


def given_options(context: click.Context) -> Iterator[click.Parameter]:
    """Yield the parameters of a command that its command line names, in the order of its help."""
    for parameter in context.command.get_params(context):
        source = context.get_parameter_source(parameter.name or "")
        if source is ParameterSource.COMMANDLINE:
            yield parameter


class Named(click.ParamType[tuple[str, str]]):
    """A name, ``=`` and what belongs to it; ``example`` is one."""

    def __init__(self, name: str, form: str, example: str) -> None:
        self.name = name
        self._form = form
        self._example = example

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Split the text; a pair passes."""
        if isinstance(value, tuple):
            return value
        name, _, rest = str(value).partition("=")
        if not name or not rest.strip():
            self.fail(f"{value!r} is not {self._form}, as in {self._example}", param, ctx)
        return name, rest


class Share(click.ParamType[float]):
    """A share as a number from 0 to 1, or in percent: ``0.01``, ``1%``."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Parse the text; a number passes."""
        text = str(value).strip()
        percent = text.endswith("%")
        try:
            found = float(text.removesuffix("%"))
        except ValueError:
            found = -1.0
        found = found / 100 if percent else found
        if not 0 <= found <= 1:
            self.fail(f"{value!r} is no share; write for example 0.01 or 1%", param, ctx)
        return found


class Whole(click.IntRange):
    """A whole number within a range, of whose bounds one may be missing."""

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Parse the text; a number passes."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            expected = f"a whole number {_within(self.min, self.max)}"
            self.fail(f"found {value!r}, expected {expected}", param, ctx)


class Number(click.FloatRange):
    """A finite number within a range, of whose bounds one may be missing."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Parse the text; a number passes."""
        try:
            found = super().convert(value, param, ctx)
        except click.BadParameter:
            found = math.nan
        if not math.isfinite(found):
            expected = f"a number {_within(self.min, self.max)}"
            self.fail(f"found {value!r}, expected {expected}", param, ctx)
        return found


def _within(low: float | None, high: float | None) -> str:
    """Return a range in words, its bounds as one types them."""
    if high is None:
        return f"of {low} or more"
    return f"of {high} or less" if low is None else f"from {low} to {high}"


class Sizes(click.ParamType[tuple[int, ...]]):
    """One or two IP packet sizes in bytes, as in ``1500,750``."""

    name = "sizes"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        """Parse the list; a value that is a tuple already is returned as it is."""
        if isinstance(value, tuple):
            return value
        low, high = SIZE_RANGE
        try:
            sizes = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(
                f"{value!r} is no list of packet sizes; write for example 1500,750", param, ctx
            )
        if len(set(sizes)) != len(sizes):
            self.fail(f"{value!r} names a size twice; write for example 1500,750", param, ctx)
        for size in sizes:
            if not low <= size <= high:
                self.fail(f"a packet of {size} bytes; sizes go from {low} to {high}", param, ctx)
        return sizes


class _Unit(click.ParamType[float]):
    """A quantity with a unit, parsed by `airqueue.units`."""

    def __init__(
        self, name: str, parse: Callable[[str], float], *, from_zero: bool = False
    ) -> None:
        self.name = name
        self._parse = parse
        self._from_zero = from_zero

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Parse text; numbers pass."""
        if isinstance(value, int | float):
            return float(value)
        try:
            parsed = float(self._parse(value))
        except UnitError as error:
            self.fail(str(error), param, ctx)
        if parsed < 0 or (parsed == 0 and not self._from_zero):
            self.fail(f"{value!r} is not above zero", param, ctx)
        return parsed


SIZES = Sizes()
RATE = _Unit("rate", parse_rate)
DURATION = _Unit("duration", parse_duration)
WAIT = _Unit("duration", parse_duration, from_zero=True)
SIZE = _Unit("size", parse_size)

key_option = click.option(
    "--key-file", metavar="FILE", help="Shared key of the server (or AIRQUEUE_KEY)."
)
max_wait_option = click.option(
    "--max-wait",
    type=WAIT,
    metavar="TIME",
    default="10min",
    show_default=True,
    help="Longest wait for a server that measures with others; 0s: none.",
)


def read_key(path: str | None) -> bytes | None:
    """Return the shared key from a file, or from AIRQUEUE_KEY, or None.

    White space at both ends does not belong to the key: editors add a newline. Raises OSError, or
    ClickException for an empty or overlong key.
    """
    if path is None:
        key = os.environ.get("AIRQUEUE_KEY", "").strip().encode()
        return key or None
    key = files.read_bytes(path, MAX_KEY_BYTES + 1).removeprefix(codecs.BOM_UTF8).strip()
    if not key:
        raise click.ClickException(
            f"{path} has no key, which is a line of text; write one into it."
        )
    if len(key) > MAX_KEY_BYTES:
        raise click.ClickException(f"The key in {path} is longer than {MAX_KEY_BYTES} bytes.")
    return key
