"""The values of parameters and the points made of them: lists, ranges, zips, samples, columns."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.sweep import SweepError, points, values
from airqueue.sweep.tables import column
from airqueue.sweep.values import Listed, Span


def listed(given):
    found = values.read("p", given)
    assert isinstance(found, Listed)
    return list(found.values)


def test_lists_are_taken_as_they_are():
    mixed = [1, 1.5, True, "red", "1 Mb/s", {"discipline": "codel"}, [1]]
    assert listed(mixed) == mixed


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"from": 1, "to": 10, "points": 4}, [1, 4, 7, 10]),
        ({"from": 10, "to": 1, "points": 4}, [10, 7, 4, 1]),
        # Whole numbers stay whole, and the same number twice is one value.
        ({"from": 1, "to": 3, "points": 5}, [1, 2, 3]),
        ({"from": 1, "to": 1000, "points": 4, "scale": "log"}, [1, 10, 100, 1000]),
        ({"from": 0.0, "to": 1, "points": 4}, [0.0, 0.333333, 0.666667, 1.0]),
        (
            {"from": "1 Mb/s", "to": "10 Mb/s", "points": 4},
            ["1 Mb/s", "4 Mb/s", "7 Mb/s", "10 Mb/s"],
        ),
        ({"from": "1 Mb/s", "to": "2 Mb/s", "points": 3}, ["1 Mb/s", "1.5 Mb/s", "2 Mb/s"]),
        ({"from": "0.1 ms", "to": "0.3 ms", "points": 3}, ["0.1 ms", "0.2 ms", "0.3 ms"]),
        ({"from": "-80 dBm", "to": "-60 dBm", "points": 3}, ["-80 dBm", "-70 dBm", "-60 dBm"]),
        (
            {"from": "1 packets", "to": "100 packets", "points": 4, "scale": "log"},
            ["1 packets", "5 packets", "22 packets", "100 packets"],
        ),
        ({"from": "1e3 B", "to": "2e3 B", "points": 2}, ["1000 B", "2000 B"]),
        ({"from": "500 kb/s", "to": "1mbit", "points": 2}, ["500 kb/s", "1000 kb/s"]),
        ({"from": "1 kB", "to": "3 kB", "points": 4}, ["1 kB", "1.667 kB", "2.333 kB", "3 kB"]),
        # The same in the grammar of `airqueue model`.
        ("1..4", [1, 2, 3, 4]),
        ("10..30 step 10, 50", [10, 20, 30, 50]),
        ("1 Mb/s..10 Mb/s points 4", ["1 Mb/s", "4 Mb/s", "7 Mb/s", "10 Mb/s"]),
        ("2 packets..16 packets factor 2", ["2 packets", "4 packets", "8 packets", "16 packets"]),
        ("droptail,fq_codel", ["droptail", "fq_codel"]),
    ],
)
def test_ranges_go_from_one_end_to_the_other(given, expected):
    assert repr(listed(given)) == repr(expected)


@settings(max_examples=50)
@given(
    st.floats(1e-6, 1e9),
    st.floats(1e-6, 1e9),
    st.integers(2, 40),
    st.sampled_from(["linear", "log"]),
)
def test_ranges_are_even(first, last, count, scale):
    if first == last:
        return
    found = listed({"from": first, "to": last, "points": count, "scale": scale})
    assert (found[0], found[-1]) == (first, last)
    rising = found if first < last else found[::-1]
    assert all(a <= b for a, b in itertools.pairwise(rising))
    if len(found) == count:
        assert found[1] == pytest.approx(second(first, last, count, scale), rel=1e-5)


def second(first, last, count, scale):
    """Return the second value of a range, by fractions where there are."""
    if scale == "log":
        return first * (last / first) ** (1 / (count - 1))
    return float(Fraction(first) + (Fraction(last) - Fraction(first)) / (count - 1))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (3, r"parameters\.p: 3; expected a list of values, as in \[1, 2, 5\], or a range"),
        ("5", "'5' is one value; expected several"),
        ("1..2 Mb/s", "from 1 to 2 Mb/s: write both with units of one kind"),
        ("64kb,65kb", r"parameters\.p: \"64kb\" is no number, no quantity"),
        ("1,2,1", "1 is in the list twice"),
        ([], "a list of 0; expected 1 to 10,000 values"),
        ([1, 2, 1], "1 is in the list twice"),
        ([float("nan")], r"parameters\.p\[0\]: nan; expected a finite number"),
        ({"from": 1, "to": 5, "step": 1}, r"p\.step: unknown key of a range; expected from, to,"),
        ({"to": 5, "points": 3}, "a range without from"),
        ({"from": 1, "points": 3}, "a range without to"),
        (
            {"from": 1, "to": 5, "points": 1},
            r"p\.points: 1; expected a whole number from 2 to",
        ),
        ({"from": 1, "to": 5, "points": 2.5}, r"p\.points: 2\.5; expected a whole number"),
        (
            {"from": 1, "to": 5, "points": 3, "scale": "cubic"},
            r"p\.scale: 'cubic'; expected",
        ),
        ({"from": 0, "to": 5, "points": 3, "scale": "log"}, "a logarithmic range has no zero"),
        ({"from": 2, "to": 2, "points": 3}, "from and to are the same"),
        (
            {"from": "1 Mb/s", "to": "10 ms", "points": 3},
            "from 1 Mb/s to 10 ms: write both with units of one kind",
        ),
        (
            {"from": "fast", "to": 5, "points": 3},
            r"p\.from: 'fast'; expected a number, or one with",
        ),
        ({"from": True, "to": 5, "points": 3}, r"p\.from: True; expected a number"),
        ({"from": float("inf"), "to": 5, "points": 3}, "expected a number up to 1e15"),
    ],
)
def test_what_is_no_list_or_range_is_explained(given, says):
    with pytest.raises(SweepError, match=says):
        values.read("p", given)


def test_all_combinations_are_points_the_last_parameter_fastest():
    parameters = [Listed("a", (1, 2)), Listed("b", ("x", "y")), Listed("c", (7, 8))]
    order = points.dimensions(parameters, [], None, 0)
    found = [dict(point.values) for point in points.points(order, ["a", "b", "c"])]
    assert len(found) == 8
    assert found[:3] == [
        {"a": 1, "b": "x", "c": 7},
        {"a": 1, "b": "x", "c": 8},
        {"a": 1, "b": "y", "c": 7},
    ]
    order = points.dimensions(parameters, [("a", "c")], None, 0)
    found = [tuple(point.values.values()) for point in points.points(order, ["a", "b", "c"])]
    assert found == [(1, "x", 7), (1, "y", 7), (2, "x", 8), (2, "y", 8)]


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_a_latin_hypercube_has_one_value_in_each_part_of_each_range(samples, seed):
    spans = [
        values.read("a", {"from": 0.0, "to": 1.0}),
        values.read("b", {"from": "1 Mb/s", "to": "1000 Mb/s", "scale": "log"}),
        Listed("c", ("x", "y")),
    ]
    order = points.dimensions(spans, [], samples, seed)
    found = [point.values for point in points.points(order, ["a", "b", "c"])]
    assert len(found) == 2 * samples
    for name, share in (("a", lambda v: v), ("b", lambda v: log_share(v, 1e6, 1e9))):
        shares = sorted(share(point[name]) for point in found[::2])
        # Six digits may move a value over the edge of its part.
        for part, value in enumerate(shares):
            assert part / samples - 1e-5 <= value <= (part + 1) / samples + 1e-5


def log_share(text, low, high):
    value, _ = values.quantity(text)
    return math.log(value / low) / math.log(high / low)


def test_drawn_whole_numbers_are_equally_likely_and_have_streams_of_their_own():
    span = values.read("a", {"from": 1, "to": 4})
    assert isinstance(span, Span)
    drawn = [span.drawn(Fraction(i, 400)) for i in range(400)]
    assert {value: drawn.count(value) for value in set(drawn)} == dict.fromkeys((1, 2, 3, 4), 100)
    alone = points.dimensions([span], [], 20, 5)[0].values
    other = values.read("b", {"from": 0.0, "to": 1.0})
    both = points.dimensions([other, span], [], 20, 5)[0].values
    assert [step[0] for step in alone] == [step[1] for step in both]


def test_samples_and_ranges_without_points_need_each_other():
    span = values.read("a", {"from": 0.0, "to": 1.0})
    with pytest.raises(SweepError, match=r"parameters\.a: a range without points; give points, or"):
        points.dimensions([span], [], None, 0)
    with pytest.raises(SweepError, match="sample: nothing to draw from"):
        points.dimensions([Listed("a", (1,))], [], 5, 0)


def test_too_many_points_are_refused_with_their_number():
    parameters = [Listed(name, tuple(range(200))) for name in "ab"]
    with pytest.raises(SweepError, match=r"200 × 200 is 40,000 points and the limit is 10,000"):
        points.dimensions(parameters, [], None, 0)


@pytest.mark.parametrize(
    ("given", "head", "cells"),
    [
        ([1, 2], "p", [1, 2]),
        ([1, 2.5], "p", [1.0, 2.5]),
        (["1 Mb/s", "500 kb/s"], "p_bps", [1_000_000, 500_000]),
        (["1 ms", "0.1 s"], "p_s", [0.001, 0.1]),
        (["20 packets", "1 packet"], "p_packets", [20, 1]),
        (["1.5 kB", "20 B"], "p_bytes", [1500, 20]),
        # Of different kinds, they are text.
        (["20 packets", "20 kB"], "p", ["20 packets", "20 kB"]),
        (["1 Mb/s", "auto"], "p", ["1 Mb/s", "auto"]),
        ([True, False], "p", [True, False]),
        (["fifo", {"a": 1}, 3], "p", ["fifo", '{"a": 1}', "3"]),
    ],
)
def test_columns_are_numbers_with_their_unit_or_text(given, head, cells):
    assert repr(column("p", given)) == repr((head, cells))
