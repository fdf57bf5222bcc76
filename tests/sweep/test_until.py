"""When a point has enough replications, and which figures decide on it."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.stats import t_interval
from airqueue.sweep import SweepError
from airqueue.sweep.figures import Pattern, check
from airqueue.sweep.until import Rule, Width

RUN = {
    "flows": {name: {"delay_s": 1.0, "loss": None} for name in ("up1", "up2", "a.b", "x[1]")},
    "medium": {"rate": 3.0},
    "connections": {},
}
SAMPLES = st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("flows.*.delay_s", ["up1", "up2", "a.b", "x[1]"]),
        ("flows.up?.delay_s", ["up1", "up2"]),
        ("flows.a.b.delay_s", ["a.b"]),
        ("flows.x[1].delay_s", ["x[1]"]),
        ("flows.up1.loss", ["up1"]),
        ("flows.UP1.delay_s", []),
    ],
)
def test_patterns_name_figures(pattern, names):
    read = Pattern.read(pattern)
    assert [name for _, name, _ in read.of(RUN)] == names
    assert all(read.names(figure) for figure in read.of(RUN))
    assert not read.names(("medium", "", read.figure))


def test_the_medium_has_no_names():
    assert Pattern.read("medium.rate").of(RUN) == [("medium", "", "rate")]
    assert Pattern.read("medium.rate").names(("medium", "", "rate"))


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("", "expected flows"),
        ("flows", "flows: no figure; expected flows"),
        ("flows.up1", r"flows.up1: no figure"),
        ("flows..delay_s", "no figure"),
        (
            "phy.x.y",
            "of flows, connections, calls, pings, frames, pages, videos, drops, stations, beacons, "
            "sleep, absences, associations, interference, signals, queues or medium",
        ),
        ("medium", "medium: no figure"),
    ],
)
def test_what_names_no_figure_is_explained(pattern, says):
    with pytest.raises(SweepError, match=says):
        Pattern.read(pattern)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (
            "flows.up1.dealy",
            "key flows.up1.dealy: unknown figure of flows; they have delay_s",
        ),
        ("flows.down.delay_s", "none of the flows has that name; there are up1, up2, a.b"),
        ("medium.x", "unknown figure of the medium; it has rate"),
        ("connections.*.rtt", "there are no connections in this network"),
    ],
)
def test_figures_that_there_are_not_are_explained(pattern, says):
    with pytest.raises(SweepError, match=says):
        check([Pattern.read(pattern)], [RUN], "key ")


@settings(max_examples=50)
@given(SAMPLES, st.floats(1e-3, 10), st.none() | st.floats(1e-3, 1e6))
def test_narrow_enough_is_what_the_interval_says(samples, relative, absolute):
    present = [value for value in samples if value is not None]
    excess = Width(relative, absolute).excess(samples)
    interval = t_interval(present)
    if interval is None:
        assert excess == 0  # nothing to wait for
        return
    aim = max(relative * abs(interval.mean), absolute or 0)
    assert (excess <= 1) is (interval.half_width <= aim)


@settings(max_examples=50)
@given(st.lists(SAMPLES, min_size=1, max_size=3), st.integers(2, 5), st.integers(6, 60))
def test_more_are_asked_for_until_it_is_enough_or_the_most(columns, least, most):
    count = min(map(len, columns))
    figures = [("flows", f"f{i}", "d") for i in range(len(columns))]
    runs = [
        {f: column[i] for f, column in zip(figures, columns, strict=True)} for i in range(count)
    ]
    rule = Rule(least, most, ((Pattern.read("flows.*.d"), Width(0.1, None)),))
    following = rule.next(runs)
    wide = rule.wide(runs)
    if wide and count < most:
        assert count < following <= min(2 * count, most)
    else:
        assert following == count
    for figure, column in zip(figures, columns, strict=True):
        assert (figure in wide) is (Width(0.1, None).excess(column[:count]) > 1)


def test_what_the_root_of_n_promises_is_asked_for():
    # Half-widths fall with the root of n: 1.2 times too wide takes 1.44 times as many.
    values = [1.0, 2.0] * 10
    half = t_interval(values).half_width
    rule = Rule(2, 100, ((Pattern.read("medium.d"), Width(None, half / 1.2)),))
    runs = [{("medium", "", "d"): value} for value in values]
    assert rule.next(runs) == math.ceil(20 * 1.44)


def test_without_a_rule_the_least_is_enough():
    assert Rule(5, 5).next([{}] * 5) == 5
