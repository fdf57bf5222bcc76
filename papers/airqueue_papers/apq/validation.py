"""Section III: the method over a Host AP whose queue's setting is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from airqueue_papers.apq.path import DRIVER_FRAMES, access_point, line, measured, one_session, seen
from airqueue_papers.finding import Finding, Value
from airqueue_papers.item import Budget, Item, Outcomes, Run, calculated
from airqueue_papers.measured import apart, furthest, percent
from airqueue_papers.picture import Panel, PaperFigure, Series

SETTINGS: Final = (30, 50, 100, 250, 500, 1000, 1500, 2000)
_SETTINGS: Final = tuple(map(float, SETTINGS))
_NEAR: Final = 0.05
"""A twentieth: our reading of "accurately" and "tight", by the claims' notes."""
_FLOOD_PPS: Final = 800.0
"""Rate of the flood, of which a cell of 802.11b loses at least a fifth."""


def estimate(outcomes: Outcomes, name: str, size_bytes: int = 1500) -> Value:
    """Return the results of the paper's estimator, rate times delay, in packets, by session."""
    whole = calculated(outcomes, name)
    found = whole["estimators"]["published"]["by_size"][str(size_bytes)]
    low, high = found["ci95_packets"] or (None, None)
    return Value(found["packets"], low, high)


def _settings(budget: Budget) -> Mapping[str, Run]:
    return {
        str(setting): measured(access_point(setting, ring=DRIVER_FRAMES), budget, 1500, seed=1)
        for setting in (1, *SETTINGS)
    }


def _compare_settings(outcomes: Outcomes) -> Iterable[Finding]:
    found = {setting: estimate(outcomes, str(setting)) for setting in (1, *SETTINGS)}
    yield Finding(
        "apq.val.driver_queue",
        f"With a setting of 1 packet the method finds {found[1].mean:.1f}.",
        (found[1],),
    )
    small = [setting for setting in SETTINGS if setting <= 250]
    large = [setting for setting in SETTINGS if setting > 1000]
    yield Finding(
        "apq.val.over",
        f"{_apart(found, small)}.",
        holds=all(found[setting].mean > setting for setting in small),
    )
    held = {setting: setting + DRIVER_FRAMES for setting in large}
    short = ", ".join(
        f"{100 * (1 - found[setting].mean / all_held):.1f} %" for setting, all_held in held.items()
    )
    yield Finding(
        "apq.val.under",
        f"{_apart(found, large)}; of the packets in queue and driver {short} is missing, and the "
        "simulated flood keeps the queue full.",
        holds=all(found[setting].mean < setting for setting in large),
    )
    yield from main_result({each: found[each] for each in SETTINGS}, "apq.val", DRIVER_FRAMES)


def main_result(found: Mapping[int, Value], claims: str, driver: int) -> Iterable[Finding]:
    """Find whether estimates are accurate, of what queue and driver hold, and intervals tight."""
    pairs = {setting: (each.mean, setting + driver) for setting, each in found.items()}
    setting, off = furthest(pairs)
    yield Finding(
        f"{claims}.accurate",
        f"The estimate is furthest from what queue and driver hold at a setting of {setting}: "
        f"{pairs[setting][0]:.1f} of {pairs[setting][1]} packets, {percent(off)} off.",
        holds=off <= _NEAR,
    )
    wide = {setting: _half_width(each) for setting, each in found.items()}
    widest = max(wide, key=lambda each: wide[each])
    yield Finding(
        f"{claims}.tight",
        f"Half of the 95 % interval is at most {percent(wide[widest])} of the estimate, at a setting "
        f"of {widest}.",
        holds=wide[widest] <= _NEAR,
    )


def _half_width(value: Value) -> float:
    """Return half of the interval as a share of the estimate; the whole of it without either."""
    if value.high is None or value.mean <= 0:
        return 1.0
    return apart(value.high, value.mean)


def _apart(found: Mapping[int, Value], settings: Iterable[int]) -> str:
    words = (f"{found[each].mean - each:+.0f} at {each}" for each in settings)
    return f"The estimate differs from the setting by {', '.join(words)} packets"


def _draw_settings(outcomes: Outcomes) -> Iterable[PaperFigure]:
    found = [estimate(outcomes, str(setting)) for setting in SETTINGS]
    driver = tuple(setting + float(DRIVER_FRAMES) for setting in SETTINGS)
    series = (estimates("estimated", found), Series("setting and driver", _SETTINGS, driver))
    yield PaperFigure("apq-fig4", "Estimates of known settings (Fig. 4)", (over_settings(*series),))


def estimates(label: str, found: Sequence[Value]) -> Series:
    """Return estimates of the settings, with their intervals."""
    means, lows, highs = zip(*((each.mean, each.low, each.high) for each in found), strict=True)
    return Series(label, _SETTINGS, means, lows, highs, "points")


def over_settings(*series: Series) -> Panel:
    """Return series over the settings, beside the settings themselves."""
    return Panel(
        "",
        "setting (packets)",
        "capacity (packets)",
        (*series, Series("setting", _SETTINGS, _SETTINGS)),
        log_x=True,
        log_y=True,
        zero=False,
    )


def _two_settings(_: Budget) -> Mapping[str, Run]:
    return {
        str(setting): one_session(access_point(setting, ring=DRIVER_FRAMES), _FLOOD_PPS)
        for setting in (100, 1000)
    }


def _draw_sessions(outcomes: Outcomes) -> Iterable[PaperFigure]:
    series = tuple(
        line(f"{setting} packets", seen(outcomes, str(setting))["delay"]) for setting in (100, 1000)
    )
    panel = Panel("", "time (s)", "delay of the flood (s)", series)
    yield PaperFigure("apq-fig3", "Sessions with queues of 100 and 1000 packets (Fig. 3)", (panel,))


ITEMS: Final = (
    Item(
        "fig3",
        "A session with 100 and with 1000 packets",
        lambda _: (),
        _two_settings,
        _draw_sessions,
        notes=(
            "The paper prints the packets that the Host AP itself counted in its queue. The figure "
            "shows the delay of the saturating flow's packets, seen from outside, of the same shape.",
        ),
    ),
    Item(
        "fig4",
        "Estimates of known settings",
        _compare_settings,
        _settings,
        _draw_settings,
        notes=(
            "A simulated access point of 802.11b with a driver ring of 40 frames behind the queue, "
            "as the paper finds behind its own. Queues of a real kernel are measured under "
            "apq.host-ap.",
        ),
    ),
)
