"""Small charts as inline SVG: no script, no network, colours from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal

from airqueue.text import round_step

_RIGHT, _TOP, _BOTTOM = 14, 12, 44

Range = tuple[float, float]
DotKind = Literal["dots", "middling", "big"]


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of ten apart) within [low, high]."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    step = round_step(span / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def tick_label(value: float, step: float) -> str:
    """Return a number with as many decimals as the step between ticks needs."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    return f"{value:,.{min(decimals, 9)}f}".replace("-", "−")


def padded(values: Iterable[float], *, zero: bool = True, room: float = 0.06) -> Range:
    """Return a range that holds the finite values and a share of room, from zero if asked."""
    finite = [float(v) for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    extra = (high - low) * room or max(abs(high) * 0.1, 1.0)
    return (low - (0.0 if zero and low >= 0 else extra), high + extra)


class Chart:
    """One set of axes, marks clipped to it; ``series`` picks the colour (1 to 4, 0 grey)."""

    def __init__(
        self,
        title: str,
        x: Range,
        y: Range,
        *,
        x_label: str,
        y_label: str,
        width: int = 560,
        height: int = 240,
        left: int = 64,
    ) -> None:
        """Make empty axes; ``title`` is read by screen readers, ``left`` is the margin there.

        Without a ``y_label`` there are no y ticks either: use `row_label`.
        """
        self._left, self._width = left, width
        self._title, self._x, self._y, self._height = title, x, y, height
        self._marks: list[str] = []
        self._frame = [*self._x_axis(x_label), *self._y_axis(y_label)]

    def line(
        self, xs: Sequence[float], ys: Sequence[float], series: int, *, dash: bool = False
    ) -> None:
        """Connect the points."""
        path = "L".join(f"{self._px(x):.1f} {self._py(y):.1f}" for x, y in zip(xs, ys, strict=True))
        if path:
            kind = f"line s{series}" + (" dash" if dash else "")
            self._marks.append(f'<path class="{kind}" d="M{path}"/>')

    def steps(
        self, xs: Sequence[float], ys: Sequence[float], series: int, *, dash: bool = False
    ) -> None:
        """Hold each y from its x to the next."""
        stepped_x: list[float] = []
        stepped_y: list[float] = []
        for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
            stepped_x += [x, xs[index + 1] if index + 1 < len(xs) else x]
            stepped_y += [y, y]
        self.line(stepped_x, stepped_y, series, dash=dash)

    def dots(
        self, xs: Sequence[float], ys: Sequence[float], series: int, *, kind: DotKind = "dots"
    ) -> None:
        """Mark points; as one path, so that thousands stay light."""
        path = "".join(
            f"M{self._px(x):.1f} {self._py(y):.1f}h0" for x, y in zip(xs, ys, strict=True)
        )
        if path:
            self._marks.append(f'<path class="{kind} s{series}" d="{path}"/>')

    def spread(
        self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], series: int
    ) -> None:
        """Shade what lies between low and high at each x; pale, so that marks above it show."""
        path = "".join(
            f"M{self._px(x):.1f} {self._py(low):.1f}V{self._py(high):.1f}"
            for x, low, high in zip(xs, lows, highs, strict=True)
        )
        if path:
            self._marks.append(f'<path class="spread s{series}" d="{path}"/>')

    def whisker(self, low: float, high: float, y: float, series: int) -> None:
        """Draw an interval along x with end caps."""
        left, right, at = self._px(low), self._px(high), self._py(y)
        self._marks.append(
            f'<path class="line s{series}" d="M{left:.1f} {at:.1f}H{right:.1f}'
            f'M{left:.1f} {at - 5:.1f}v10M{right:.1f} {at - 5:.1f}v10"/>'
        )

    def bar(self, x: float, y: float, series: int, *, begin: float = 0.0) -> None:
        """Draw a bar from ``begin`` to ``x`` along the row at ``y``."""
        at = self._py(y)
        self._marks.append(
            f'<path class="bar s{series}" d="M{self._px(begin):.1f} {at:.1f}H{self._px(x):.1f}"/>'
        )

    def band(self, low: float, high: float, label: str) -> None:
        """Shade an interval of x and name it at the top."""
        left, right = self._px(low), self._px(high)
        self._marks.insert(
            0,
            f'<rect class="band" x="{left:.1f}" y="{_TOP}" width="{max(right - left, 1):.1f}" '
            f'height="{self._bottom - _TOP}"/>'
            f'<text class="note" x="{(left + right) / 2:.1f}" y="{_TOP + 13}" '
            f'text-anchor="middle">{escape(label)}</text>',
        )

    def level(self, y: float, label: str) -> None:
        """Draw a horizontal reference line with its name above."""
        at = self._py(y)
        self._marks.append(
            f'<path class="rule" d="M{self._left} {at:.1f}H{self._width - _RIGHT}"/>'
            f'<text class="note" x="{self._width - _RIGHT - 4}" y="{at - 5:.1f}" text-anchor="end">'
            f"{escape(label)}</text>"
        )

    def mark_x(self, x: float, label: str) -> None:
        """Draw a vertical reference line with its name at the top."""
        at = self._px(x)
        anchor = "end" if at > self._width * 0.7 else "start"
        self._marks.append(
            f'<path class="rule" d="M{at:.1f} {_TOP}V{self._bottom}"/>'
            f'<text class="note" x="{at + (-5 if anchor == "end" else 5):.1f}" y="{_TOP + 13}" '
            f'text-anchor="{anchor}">{escape(label)}</text>'
        )

    def row_label(self, y: float, label: str) -> None:
        """Name the row at ``y`` in the left margin."""
        self._frame.append(
            f'<text class="row" x="{self._left - 10}" y="{self._py(y) + 4:.1f}" '
            f'text-anchor="end">{escape(label)}</text>'
        )

    def render(self) -> str:
        """Return the SVG element."""
        x, y = self._left - 4, _TOP - 4
        width, height = self._width - self._left - _RIGHT + 8, self._bottom - _TOP + 8
        # A nested svg clips without an id, which two charts of one page might share.
        return (
            f'<svg viewBox="0 0 {self._width} {self._height}" role="img" '
            f'aria-label="{escape(self._title)}">{"".join(self._frame)}'
            f'<svg x="{x}" y="{y}" width="{width}" height="{height}" '
            f'viewBox="{x} {y} {width} {height}">{"".join(self._marks)}</svg></svg>'
        )

    @property
    def _bottom(self) -> int:
        return self._height - _BOTTOM

    def _px(self, x: float) -> float:
        low, high = self._x
        return self._left + (x - low) / ((high - low) or 1.0) * (self._width - self._left - _RIGHT)

    def _py(self, y: float) -> float:
        low, high = self._y
        return self._bottom - (y - low) / ((high - low) or 1.0) * (self._bottom - _TOP)

    def _x_axis(self, label: str) -> list[str]:
        ticks = nice_ticks(*self._x, about=8)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        parts = [f'<path class="axis" d="M{self._left} {self._bottom}H{self._width - _RIGHT}"/>']
        for tick in ticks:
            at = self._px(tick)
            parts.append(
                f'<path class="axis" d="M{at:.1f} {self._bottom}v4"/>'
                f'<text class="tick" x="{at:.1f}" y="{self._bottom + 17}" text-anchor="middle">'
                f"{tick_label(tick, step)}</text>"
            )
        middle = (self._left + self._width - _RIGHT) / 2
        parts.append(
            f'<text class="label" x="{middle}" y="{self._height - 8}" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
        return parts

    def _y_axis(self, label: str) -> list[str]:
        if not label:
            return []
        ticks = nice_ticks(*self._y, about=4)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        parts = []
        for tick in ticks:
            at = self._py(tick)
            parts.append(
                f'<path class="grid" d="M{self._left} {at:.1f}H{self._width - _RIGHT}"/>'
                f'<text class="tick" x="{self._left - 7}" y="{at + 4:.1f}" text-anchor="end">'
                f"{tick_label(tick, step)}</text>"
            )
        middle = (_TOP + self._bottom) / 2
        parts.append(
            f'<text class="label" transform="translate(15 {middle}) rotate(-90)" '
            f'text-anchor="middle">{escape(label)}</text>'
        )
        return parts
