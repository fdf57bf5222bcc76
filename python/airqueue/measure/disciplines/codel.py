"""CoDel (RFC 8289) and COBALT, CAKE's: drops at intervals that shrink as the control law says.

Test: the instants of the first drops of a step are t_1 + I (1/sqrt(c+1) + ... + 1/sqrt(c+k-1)),
with an interval I and a count c at the beginning. After a rest CoDel has c = 0, and COBALT, which
counts before its first drop, c = 1. Linux's CoDel takes one step of Newton's method for each drop in
place of the square root: its second gap is I/2. The law holds to the packet that leaves next, so that
the instants miss it by a packet time at most, where drops at random miss it by a gap between drops.
Evenly spaced drops, as of a full queue, have no gaps that shrink.

Parameters: I is the slope. The first drop follows an interval after the first packet that had
waited for the target, so that the target is what packets had waited at t_1 - I. Behind less than a
packet (RFC 8289, section 4.4) nothing is dropped, however long packets waited: of a target of some
packet times only an upper end is known. So where packets leave in bursts, which wait once more.

Where others use the air too, departures are far apart and uneven. Then the law is tried to the
departure (`airqueue.measure.disciplines.exact_law`), which also tells how many packets a driver holds
behind the queue.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from airqueue.measure.disciplines import exact_law, law_of_steps, ring
from airqueue.measure.disciplines.likelihood import with_room
from airqueue.measure.disciplines.observed import Floats, Ints, Step
from airqueue.measure.disciplines.steps import FORGETS
from airqueue.measure.remembered import remembered
from airqueue.numeric import minimum_between

DROPS: Final = (60, 40, 28, 20, 14, 10, 8, 6, 5, 4)
"""How many of a step's first drops are compared with the law: the most that follow it. The law ends
when packets have waited for less than the target, and in a full queue."""
MOST_COUNT: Final = 4096.0
"""At the beginning: after a rest counts are small."""
EXACT_PACKETS: Final = 1.0
"""Root mean square of the misses that are rounding to whole packets: a uniform error has 0.3."""
EXACT_FRAMES: Final = 0.5
"""The same for rounding to frames, of the time by which packets of a frame are late: an even error
has a third of that time, 0.29 of a frame."""
CLOSE_GAP: Final = 0.02
"""The same as a share of the median gap, where packets are faster than hosts send them evenly."""
EXACT_GAP: Final = 0.35
"""A share of the gap that is too much; gaps of drops at random vary by half of a gap and more."""
CHANCE: Final = 1e-7
"""Significance level: chance that drops at random miss the law by so little, in one comparison of
the hundred that a device takes."""
CURVED: Final = 3.0
"""Least ratio of the misses of evenly spaced drops to those of the law."""
SQUARE_ROOT: Final = 0.003
"""Error of the kernel's inverse square root in fixed point, as a share of the interval."""
LITTLE_PACKETS: Final = 3.0
"""Packet times waited that may be little more than the packet behind which nothing is dropped."""
NEAR: Final = np.geomspace(0.5, 2.0, 41)
"""Counts over the best one that are tried for the interval of I."""
LIKELY: Final = 1.3
"""Misses of these, over the least ones, that leave a count, or a begin, possible."""
TOLD: Final = 8.0
"""Least logarithm of the odds, 3000 to 1, by which one begin is likelier than others, where errors of
rounding hide from single drops which one was meant."""
COUNTS: Final = range(64)
"""Counts before the first drop that are tried to the departure."""
PASSED: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16)
"""Drops, to the departure, after which the law is taken to begin: where packets are late and in time
by turns, some drops come by themselves."""
Begin = Literal["rfc", "linux", "cobalt", "unrested"]
"""How the law begins: with a count after a rest, exactly or in Linux's arithmetic, or in between."""
RESTED: Final[tuple[Begin, ...]] = ("rfc", "linux", "cobalt")


@dataclass(frozen=True, slots=True)
class Law:
    """The control law fitted to the drops of one step. Times in seconds of `Step`."""

    first_s: float
    interval_s: float
    interval_error_s: float
    begin: Begin
    miss_s: float
    """Root mean square of the misses."""
    drops: int
    gap_s: float
    curved: float
    """Misses of evenly spaced drops as a multiple of those of the law."""
    first: int = 0
    """Place of the first drop, where the law was tried to the departure."""
    behind: tuple[int, int] | None = None
    """Packets that a driver and the air hold behind the queue, at least and at most, there."""
    passed: int = 0
    """Drops of the step before the first one."""

    @property
    def known(self) -> exact_law.Known:
        """What this law, to the departure, tells of the device."""
        assert self.behind is not None
        half = self.interval_error_s
        return exact_law.Known(self.behind, (self.interval_s - half, self.interval_s + half))


@dataclass(frozen=True, slots=True)
class CoDel:
    """CoDel's parameters with the ends of their intervals, in seconds."""

    law: Law
    step: Step
    interval_s: tuple[float, float, float]
    target_s: tuple[float, float, float] | None

    @property
    def begin(self) -> Begin:
        """How the law began, as far as the step tells: unrested CoDel may count as COBALT does."""
        return _begin(self.law, self.step)


def fit(steps: Sequence[Step], full: float | None) -> CoDel | None:
    """Return CoDel's parameters if the drops of a step follow the law, else None."""
    found = [(law, step) for step in steps if (law := _longest(step, full)) is not None]
    best = max(found, key=_telling, default=None)
    if best is None or (best[1].in_bursts and _begin(*best) == "unrested"):
        found = _all_to_departures(steps, full) or found
    if not found:
        return None
    law, step = max(found, key=_telling)
    half = law.interval_error_s + SQUARE_ROOT * law.interval_s
    interval = (law.interval_s, law.interval_s - half, law.interval_s + half)
    if law.behind is None:
        return CoDel(law, step, interval, _target(law, step, half))
    targets = [_before_ring(*pair, interval[1:]) for pair in found]
    return CoDel(law, step, interval, _in_all([target for target in targets if target is not None]))


def _begin(law: Law, step: Step) -> Begin:
    return "unrested" if law.begin == "cobalt" and not _rested(law, step) else law.begin


def _telling(pair: tuple[Law, Step]) -> tuple[bool, bool, int]:
    """What began after a rest tells which CoDel this is; then what rests on more drops."""
    return pair[0].begin != "unrested", _rested(*pair), pair[0].drops


def _before_ring(
    law: Law, step: Step, interval_s: tuple[float, float]
) -> tuple[float, float, float] | None:
    """Return the target by the waits in the queue alone, with every ring that the law allows."""
    assert law.behind is not None
    if law.passed or law.begin == "unrested":
        # Which packet was late first is known of the first drop only. COBALT that goes on from a
        # count drops sooner than an interval after that packet (cobalt_should_drop).
        return None
    ends = [
        exact_law.target(ring.through(step, held), law.first, interval_s) for held in law.behind
    ]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    low, high = min(end[1] for end in known), max(end[2] for end in known)
    return (low + high) / 2, low, high


def _in_all(
    targets: Sequence[tuple[float, float, float]],
) -> tuple[float, float, float] | None:
    """Return the target that all steps allow, None if there is none."""
    low = max((each[1] for each in targets), default=0.0)
    high = min((each[2] for each in targets), default=-1.0)
    return ((low + high) / 2, low, high) if low <= high else None


def _rested(law: Law, step: Step) -> bool:
    """Whether CoDel had forgotten its count before the step."""
    return step.rest_s >= FORGETS * law.interval_s


def _longest(step: Step, full: float | None) -> Law | None:
    """Fit the law to the most of the first drops that follow it."""
    at = step.left_s[_first_drops(step, full)]
    for most in DROPS:
        if len(at) >= most or (most == DROPS[0] and len(at) >= DROPS[-1]):
            law = _law(at[:most], step)
            if _holds(law, step):
                return law
    return None


def _first_drops(step: Step, full: float | None) -> Ints:
    """Return the places of the drops before the first one in a full queue."""
    rows = step.drops
    late = np.flatnonzero(~with_room(step, full)[rows])
    return rows[: late[0] if len(late) else len(rows)]


def _all_to_departures(steps: Sequence[Step], full: float | None) -> list[tuple[Law, Step]]:
    """Fit the law to the departures of each step: one device has one ring and one interval."""
    alone = [law for step in steps if (law := _to_departures(step, full)) is not None]
    if alone:
        known = max(alone, key=lambda law: law.drops).known
    elif (together := _together(steps, full)) is not None:
        known = together
    else:
        return []
    every = ((_to_departures(step, full, known), step) for step in steps)
    return [(law, step) for law, step in every if law is not None]


@remembered
def _together(steps: Sequence[Step], full: float | None) -> exact_law.Known | None:
    """Return what several steps together tell of a law that none tells alone."""
    if len(steps) < 2:
        return None
    found = [(step, *exact_law.traced(step, _first_drops(step, full))) for step in steps]
    drops = [
        law_of_steps.Drops(exact_law.Between.of(step, rows), early)
        for step, rows, early in found
        if len(rows)
    ]
    return law_of_steps.known(drops, _shapes(), PASSED)


@remembered
def _to_departures(
    step: Step, full: float | None, known: exact_law.Known = exact_law.ANY
) -> Law | None:
    """Fit the law to the departure, from the earliest drop from which drops follow the law."""
    rows, early = exact_law.traced(step, _first_drops(step, full))
    if not len(rows):
        return None
    every = exact_law.Between.of(step, rows)
    for passed in PASSED:
        found = exact_law.fit(every.after(passed), _shapes(), known=known, searches=len(PASSED))
        if found:
            return _of_all(found, early + passed)
    return None


@functools.cache
def _shapes() -> Floats:
    """Return the instants of each law that is tried to the departure, as `exact_law.fit` takes them.

    In Linux's arithmetic with a count of none comes first, then exactly by `COUNTS`.
    """
    most = exact_law.DROPS[-1]
    gaps = [_gaps("linux", most), *(1 / np.sqrt(np.arange(1, most) + float(c)) for c in COUNTS)]
    shapes = np.zeros((len(gaps), most))
    np.cumsum(gaps, axis=1, out=shapes[:, 1:])
    return shapes


def _of_all(found: Sequence[exact_law.Fitted], passed: int) -> Law:
    """Put together what all laws say, which the drops of a step follow after so many other drops.

    COBALT's count is that of all drops since the rest, and one. CoDel's is smaller: at most that of
    all drops, and none at all after a time without late packets.
    """
    # The shape in Linux's arithmetic is the first one, with a count of none.
    counts = [max(0, each.shape - 1) for each in found]
    known = [each for each, count in zip(found, counts, strict=True) if count in (0, passed + 1)]
    codels, cobalts = min(counts) <= passed, passed + 1 in counts
    begin: Begin = "unrested"
    if cobalts != codels:
        begin = "cobalt" if cobalts else "linux" if found[0].shape == 0 else "rfc"
    if begin in ("linux", "rfc") and max(counts) > 0:
        begin = "unrested"
    found = known or found
    held = [each.held for each in found]
    least = min(each.interval_s[0] for each in found)
    greatest = max(each.interval_s[1] for each in found)
    best = found[len(found) // 2]
    return Law(
        best.first_s,
        (least + greatest) / 2,
        (greatest - least) / 2,
        begin,
        best.miss_s,
        best.drops,
        best.gap_s,
        best.curved,
        best.first,
        (min(held), max(held)),
        passed,
    )


def _law(at: Floats, step: Step) -> Law:
    """Fit the law to drops at these instants of a step."""
    rounding = EXACT_PACKETS / 2 * step.packet_s + max(step.blur_s, EXACT_FRAMES * _late_s(step))
    # After a rest the count is known: then that one is meant, if no other count fits much better.
    begun = {begin: _fitted(at, _gaps(begin, len(at))) for begin in RESTED}
    begin = min(begun, key=lambda begin: begun[begin].miss_s)
    fitted, error = begun[begin], begun[begin].error_s
    free, free_error = _any_count(at, rounding)
    others = [begun[each].miss_s for each in RESTED if (each == "cobalt") != (begin == "cobalt")]
    told = min(others) > max(rounding, LIKELY * fitted.miss_s) or (
        _odds(len(at), fitted.miss_s, min(others), rounding) > TOLD
    )
    if not told or fitted.miss_s > max(rounding, LIKELY * free.miss_s):
        begin, fitted, error = "unrested", free, free_error
    even = np.arange(len(at), dtype=float)
    straight = at - np.polyval(np.polyfit(even, at, 1), even)
    return Law(
        fitted.first_s,
        fitted.interval_s,
        error,
        begin,
        fitted.miss_s,
        len(at),
        float(np.median(np.diff(at))),
        float(np.sqrt(np.mean(straight**2))) / max(fitted.miss_s, 0.1 * step.packet_s, 1e-9),
    )


def _odds(drops: int, least: float, other: float, rounding: float) -> float:
    """Return the logarithm of the odds by which the law that misses least is the likelier one.

    Of normal errors with a deviation of their own under each law, but of no less than that of even
    errors up to ``rounding``: what is closer than that is chance.
    """
    even = rounding / math.sqrt(3)
    return drops * math.log(max(other, even) / max(least, even))


def _gaps(begin: Begin, drops: int) -> Floats:
    """Gaps between drops as shares of the interval, from a rest; shape (drops - 1,)."""
    if begin == "linux":
        # include/net/codel_impl.h: one step of Newton's method for each drop, from 1.
        gaps = [1.0]
        for count in range(2, drops):
            gaps.append(gaps[-1] * (3 - count * gaps[-1] ** 2) / 2)
        return np.array(gaps[: drops - 1])
    return np.asarray(1 / np.sqrt(np.arange(1, drops) + float(begin == "cobalt")))


@dataclass(frozen=True, slots=True)
class _Fitted:
    """Root mean square of the misses, t_1, I and twice the standard error of I, in seconds."""

    miss_s: float
    first_s: float
    interval_s: float
    error_s: float


def _any_count(at: Floats, rounding: float) -> tuple[_Fitted, float]:
    """Fit the law with any count at the beginning; and the error of I, that of the count included."""
    drops = np.arange(1, len(at))

    def fitted(count: float) -> _Fitted:
        return _fitted(at, 1 / np.sqrt(drops + count))

    log = minimum_between(
        lambda log: fitted(math.expm1(log)).miss_s, 0.0, math.log1p(MOST_COUNT), within=1e-3
    )
    count = math.expm1(log)
    found = fitted(count)
    miss, _, interval, _ = _least_squares(at, 1 / np.sqrt(drops + count * NEAR[:, np.newaxis]))
    likely = interval[miss <= max(LIKELY * found.miss_s, rounding)]
    away = float(np.max(np.abs(likely - found.interval_s), initial=0.0))
    return found, found.error_s + away


def _fitted(at: Floats, gaps: Floats) -> _Fitted:
    """Fit t_1 and I by least squares."""
    return _Fitted(*(float(each[0]) for each in _least_squares(at, gaps[np.newaxis])))


def _least_squares(at: Floats, gaps: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Fit t_1 and I for gaps of several laws, shape (laws, drops - 1): what `_Fitted` has of each."""
    shape = np.zeros((len(gaps), len(at)))
    np.cumsum(gaps, axis=1, out=shape[:, 1:])
    mean = shape.mean(axis=1)
    centred = shape - mean[:, np.newaxis]
    spread = np.sum(centred**2, axis=1)
    interval = centred @ at / spread
    first = at.mean() - interval * mean
    missed = at - first[:, np.newaxis] - interval[:, np.newaxis] * shape
    miss = np.sqrt(np.mean(missed**2, axis=1))
    return miss, first, interval, 2 * miss * np.sqrt(len(at) / (len(at) - 2) / spread)


def _holds(law: Law, step: Step) -> bool:
    rounding = EXACT_PACKETS * step.packet_s + EXACT_FRAMES * _late_s(step)
    exact = max(rounding, CLOSE_GAP * law.gap_s)
    allowed = min(exact, EXACT_GAP * law.gap_s)
    if law.interval_s <= 0 or law.miss_s > allowed or law.curved < CURVED:
        return False
    # Two or three parameters are fitted; each further drop would hit its place by chance.
    free = law.drops - (3 if law.begin == "unrested" else 2)
    return free > 0 and bool((2 * law.miss_s / law.gap_s) ** free <= CHANCE)


def _late_s(step: Step) -> float:
    """Time by which packets of a frame are late: they leave together, and are dropped together."""
    return step.late_packets * step.packet_s


def _target(law: Law, step: Step, error_s: float) -> tuple[float, float, float] | None:
    """What packets had waited an interval before the first drop, and what it was nearby."""
    left, waited = step.left_s[~step.lost], step.sojourn_s[~step.lost]
    at = law.first_s - law.interval_s
    near = step.packet_s + step.blur_s + error_s
    if at - near < left[0]:
        return None
    low, value, high = np.interp([at - near, at, at + near], left, waited)
    # The packet that leaves next may have left the queue already: for its tokens, or into the driver.
    low, value = low - step.packet_s, value - step.packet_s / 2
    little = value <= LITTLE_PACKETS * step.packet_s or step.in_bursts
    least = 0.0 if little else max(0.0, low - step.late_packets * step.packet_s)
    return float(max(0.0, value)), float(least), float(high + step.blur_s)
