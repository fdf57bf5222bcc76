"""Quantities as people read them; the one place that rounds for the screen and the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

_SCALES: Final = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "b/s": ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
}

_RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

_UNITS: Final = {
    "s": "s",
    "bps": "b/s",
    "pps": "packets/s",
    "bits": "bits",
    "bytes": "bytes",
    "slots": "slots",
    "db": "dB",
    "packets": "packets",
}
"""Last word of a figure's name -> its unit."""


def seconds(value: float | None) -> str:
    """Return a time with a unit that suits it: ``1 us``, ``0.35 ms``, ``213 ms``, ``2.40 s``."""
    if value is None:
        return "unknown"
    size = abs(value)
    if 0 < size < 9.95e-6:
        return f"{value * 1e6:.2g} us"
    if size < 0.9995e-3:
        return f"{value * 1e3:.2f} ms"
    if size < 9.95e-3:
        return f"{value * 1e3:.1f} ms"
    if size < 0.9995:
        return f"{value * 1e3:.0f} ms"
    return f"{value:.2f} s" if size < 99.995 else f"{value:,.0f} s"


def rate(bits_per_second: float | None) -> str:
    """Return a data rate: ``640 kb/s``, ``7.02 Mb/s``."""
    if bits_per_second is None:
        return "unknown"
    if bits_per_second < 999.5e3:
        return f"{bits_per_second / 1e3:.0f} kb/s"
    if bits_per_second < 99.95e6:
        return f"{bits_per_second / 1e6:.2f} Mb/s"
    return f"{bits_per_second / 1e6:,.0f} Mb/s"


def number(value: float | None, unit: str | None = None) -> str:
    """Return a count: bytes whole, anything else with one decimal below 10 000."""
    if value is None:
        return "–"
    if unit == "bytes" or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def significant(values: Sequence[float]) -> list[str]:
    """Return numbers with five significant digits, with the same decimals where they are alike.

    >>> significant([0.25, 31.4159]), significant([1e-9, 12345678.9])
    (['0.25000', '31.41590'], ['1.0000e-09', '12,345,679'])
    """
    if all(value == math.floor(value) and abs(value) < 1e15 for value in values):
        return [f"{value:,.0f}" for value in values]
    sizes = [abs(value) for value in values if value]
    if max(sizes) / min(sizes) > 1e3:
        return [_alone(value) for value in values]
    decimals = 4 - math.floor(math.log10(min(sizes)))
    if not 0 <= decimals <= 9:
        return [_alone(value) for value in values]
    return [f"{value:,.{decimals}f}" for value in values]


def rounded(value: float, digits: int = 3) -> str:
    """Return a number with that many significant digits, whole from a thousand on.

    >>> rounded(0.95), rounded(12345.6), rounded(-2.4239, 4), rounded(1.5e-05)
    ('0.950', '12,346', '−2.424', '1.50 × 10⁻⁵')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        factor, _, power = f"{value:.{digits - 1}e}".partition("e")
        shown = f"{factor} × {power_of_ten(int(power))}"
    elif size >= 999.5:
        shown = f"{value:,.0f}"
    else:
        shown = f"{value:#.{digits}g}".rstrip(".")
    return shown.replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """Return ``10⁻⁵``."""
    return f"10{str(exponent).translate(_RAISED)}"


def _alone(value: float) -> str:
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:.4e}"
    return f"{value:,.0f}" if size >= 1e5 else f"{value:.5g}"


def words_and_unit(name: str) -> tuple[str, str]:
    """Return what the name of a figure says and its unit, which may be "".

    >>> words_and_unit("mean_delay_s"), words_and_unit("packets"), words_and_unit("loss")
    (('mean delay', 's'), ('packets', ''), ('loss', ''))
    """
    words, _, last = name.rpartition("_")
    unit = _UNITS.get(last, "") if words else ""
    return (words if unit else name).replace("_", " "), unit


def scale(unit: str, values: Sequence[object]) -> tuple[float, str]:
    """Return the factor and the name of the unit that suits the largest value."""
    largest = max((abs(v) for v in values if isinstance(v, int | float)), default=0)
    scales = _SCALES.get(unit, ((1.0, unit),))
    return next(
        (scale for scale in scales if largest >= scale[0]), scales[0 if not largest else -1]
    )


def quantity(value: float | None, unit: str | None) -> str:
    """Return a count with its unit: ``99.6 packets``."""
    return number(value, unit) + (f" {unit}" if value is not None and unit else "")


def interval(bounds: Sequence[float] | None, unit: str | None = None) -> str:
    """Return ``99.2 to 100.0``, without the unit; a dash where there is none."""
    if bounds is None:
        return "–"
    return f"{number(bounds[0], unit)} to {number(bounds[1], unit)}"


def percent(fraction: float | None) -> str:
    """Return a fraction as a percentage."""
    return "–" if fraction is None else f"{fraction * 100:.1f} %"


def round_step(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten: the smallest such number that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((m * power for m in (1, 2, 5) if m * power >= least), 10 * power)


def plural(count: int, noun: str) -> str:
    """Return ``1 session``, ``3 sessions``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Return ``a, b and c``."""
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else list(items))
