"""Judging: a number by its mean and the claim's tolerance alone, a statement by whether it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airqueue_papers.claim import Claim
from airqueue_papers.finding import Finding, Value
from airqueue_papers.tally import sentences, tally
from airqueue_papers.verdict import Challenge, Verdict, counts, judge, shares


def number(printed, **changes):
    return Claim(
        **{
            "id": "http.a",
            "kind": "table",
            "place": "Table 1",
            "quantity": "delay",
            "printed": printed,
            "item": "a",
            "sort": "absolute",
            "tolerance": 0.25,
            "because": "an example",
            **changes,
        }
    )


def found(*ours, holds=None, ns2=None):
    return Finding("http.a", "measured", tuple(Value(each) for each in ours), holds, ns2)


@pytest.mark.parametrize(
    ("printed", "comparator", "ours", "verdict"),
    [
        (100, "=", (125,), Verdict.REPRODUCED),
        (100, "=", (75,), Verdict.REPRODUCED),
        (100, "=", (125.1,), Verdict.NOT_REPRODUCED),
        (-100, "=", (-80,), Verdict.REPRODUCED),
        ([1, 2], "=", (1.1, 2.2), Verdict.REPRODUCED),
        ([1, 2], "=", (1.1, 3.0), Verdict.NOT_REPRODUCED),
        # A bound is a bound: no tolerance beyond it.
        (100, "<", (99,), Verdict.REPRODUCED),
        (100, "<=", (101,), Verdict.NOT_REPRODUCED),
        (100, ">=", (100,), Verdict.REPRODUCED),
        (100, ">", (99,), Verdict.NOT_REPRODUCED),
        (100, ">", (100,), Verdict.NOT_REPRODUCED),
        (100, "<", (100,), Verdict.NOT_REPRODUCED),
        ([10, 20], "range", (8,), Verdict.REPRODUCED),
        ([10, 20], "range", (7,), Verdict.NOT_REPRODUCED),
        ([10, 20], "range", (11, 24), Verdict.REPRODUCED),
        ([10, 20], "range", (11, 26), Verdict.NOT_REPRODUCED),
    ],
)
def test_numbers(printed, comparator, ours, verdict):
    assert judge(number(printed, comparator=comparator), found(*ours)).verdict is verdict


@pytest.mark.parametrize(
    ("mean", "half", "changes", "verdict"),
    [
        (100, 25, {}, Verdict.REPRODUCED),
        # Wider than the tolerance: open, whichever side of the tolerance the mean is on.
        (100, 26, {}, Verdict.UNDECIDED),
        (150, 26, {}, Verdict.UNDECIDED),
        # Off in any case: neither the interval nor the print's error bridges the distance.
        (152, 26, {}, Verdict.NOT_REPRODUCED),
        (152, 26, {"reading": 2}, Verdict.UNDECIDED),
        (100, 0, {"ci95": 25}, Verdict.REPRODUCED),
        (100, 0, {"ci95": 26}, Verdict.UNDECIDED),
        (100, 0, {"ci95_interval": [70.0, 130.0]}, Verdict.UNDECIDED),
        (100, 0, {"std": 26}, Verdict.UNDECIDED),
        (152, 0, {"std": 26}, Verdict.NOT_REPRODUCED),
        # A bound is open if the interval is on both sides of it.
        (90, 9, {"comparator": "<"}, Verdict.REPRODUCED),
        (90, 11, {"comparator": "<"}, Verdict.UNDECIDED),
        (110, 11, {"comparator": "<"}, Verdict.UNDECIDED),
        (110, 9, {"comparator": "<"}, Verdict.NOT_REPRODUCED),
    ],
)
def test_an_interval_wider_than_the_tolerance_leaves_open_what_is_near(
    mean, half, changes, verdict
):
    finding = Finding("http.a", "measured", (Value(mean, mean - half, mean + half),))
    assert judge(number(100, **changes), finding).verdict is verdict


def test_the_tolerance_is_of_the_effect_where_that_is_less():
    of_the_effect = number(878, effects=(52.0,))
    assert of_the_effect.margins == [13.0]
    assert judge(of_the_effect, found(890)).verdict is Verdict.REPRODUCED
    assert judge(of_the_effect, found(892)).verdict is Verdict.NOT_REPRODUCED
    assert number(22, effects=(294.0,)).margins == [5.5]
    assert number([85, 90], comparator="range", effects=(15.0, 10.0)).margins == [3.75, 2.5]


def test_the_order_is_a_condition_of_a_number():
    assert judge(number(100), found(100, holds=False)).verdict is Verdict.NOT_REPRODUCED
    assert judge(number(100), found(100, holds=True)).verdict is Verdict.REPRODUCED


def test_another_number_with_the_same_conclusion():
    assert judge(number(100), found(200, holds=True)).verdict is Verdict.OTHER_NUMBER
    assert judge(number(100), found(200, holds=False)).verdict is Verdict.NOT_REPRODUCED


def test_a_number_that_nothing_gave():
    assert judge(number(100), found()).verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize("holds", [True, False])
def test_statements(holds):
    claim = number("qualitative", sort="statement", tolerance=0.0)
    expected = Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED
    assert judge(claim, found(holds=holds)).verdict is expected
    with pytest.raises(ValueError, match="holds or it does not"):
        judge(claim, found())


def test_what_only_hardware_could_say():
    record = judge(number(100, not_testable="a device"), None)
    assert (record.verdict, record.reason) == (Verdict.NOT_TESTABLE, "a device")
    assert not record.counts


def test_mistakes_of_ours_are_no_verdicts():
    with pytest.raises(ValueError, match="nothing was found about it"):
        judge(number(100), None)
    with pytest.raises(ValueError, match="1 values for 2"):
        judge(number([1, 2]), found(1))


def test_where_ns2_misses_the_print_agreeing_with_ns2_is_met():
    claim = number(100)
    as_ns2 = judge(claim, found(200, ns2=210))
    assert (as_ns2.verdict, as_ns2.agrees_with_ns2, as_ns2.met) == (
        Verdict.NOT_REPRODUCED,
        True,
        True,
    )
    # ns-2 has what is printed: then we are to have it too.
    assert not judge(claim, found(130, ns2=120)).met
    assert not judge(claim, found(200, ns2=400)).met


FELL = Challenge(Verdict.NOT_REPRODUCED)


def challenged(verdict, off, *, null=False):
    """A record with this verdict, and one without its mechanism."""
    holds = verdict is Verdict.OTHER_NUMBER
    ours = 100 if verdict is Verdict.REPRODUCED else 300
    record = judge(number(100), found(ours, holds=holds or None))
    assert record.verdict is verdict
    return replace(record, challenge=Challenge(off, null))


@pytest.mark.parametrize(
    ("verdict", "off", "counted_as"),
    [
        (Verdict.REPRODUCED, Verdict.REPRODUCED, "not discriminating"),
        (Verdict.REPRODUCED, Verdict.OTHER_NUMBER, "reproduced"),
        (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, "reproduced"),
        (Verdict.REPRODUCED, Verdict.UNDECIDED, "reproduced"),
        (Verdict.OTHER_NUMBER, Verdict.REPRODUCED, "not discriminating"),
        (Verdict.OTHER_NUMBER, Verdict.OTHER_NUMBER, "not discriminating"),
        (Verdict.OTHER_NUMBER, Verdict.NOT_REPRODUCED, "same conclusion, other number"),
        # A miss is a miss, whatever becomes of it without the mechanism.
        (Verdict.NOT_REPRODUCED, Verdict.REPRODUCED, "not reproduced"),
        (Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED, "not reproduced"),
    ],
)
def test_a_claim_that_survives_its_sabotage_does_not_count(verdict, off, counted_as):
    record = challenged(verdict, off)
    assert record.counted_as == counted_as
    assert record.counts == (counted_as != "not discriminating")


def test_counts_and_shares_have_what_discriminates_only():
    unchallenged = judge(number(100), found(100))
    wide = Finding("http.a", "measured", (Value(100, 0, 200),))
    records = [
        challenged(Verdict.REPRODUCED, Verdict.NOT_REPRODUCED),
        challenged(Verdict.REPRODUCED, Verdict.OTHER_NUMBER),
        challenged(Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED),
        challenged(Verdict.REPRODUCED, Verdict.REPRODUCED),
        challenged(Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, null=True),
        challenged(Verdict.NOT_REPRODUCED, Verdict.REPRODUCED, null=True),
        unchallenged,
        judge(number(100), wide),
        judge(number(100, by_construction="given"), found(100)),
        replace(judge(number(100, sort="ratio"), found(100)), challenge=FELL),
        judge(number(100, not_testable="a device"), None),
        judge(number(100, unread="as remembered"), found(100)),
    ]
    assert counts(records) == {
        "reproduced": 3,
        "same conclusion, other number": 0,
        "not reproduced": 1,
        "not discriminating": 1,
        "value without a mechanism": 2,
        "not challenged yet": 1,
        "cannot be judged": 1,
        "by construction": 1,
        "print not read": 1,
        "not testable here": 1,
    }
    assert shares(records) == {"ratio": (1, 1), "absolute": (2, 3), "statement": (0, 0)}
    of = tally(records)
    assert (of.testable, of.discriminating, of.reproduced, of.not_reproduced) == (9, 4, 3, 1)
    assert (of.circular, of.unread, of.not_testable) == (1, 1, 1)
    assert "1 whose print could not be read." in sentences(of)[-1]
    assert (of.values, of.values_reproduced, of.values_by_null) == (2, 1, 1)
    assert (of.values_by_ours_alone, of.conclusion_stands) == (1, 1)
    assert (of.undecided, of.undecided_by_print, of.unchallenged) == (1, 0, 1)
    vague = judge(number(100, std=26), found(100))
    assert (tally([vague]).undecided, tally([vague]).undecided_by_print) == (1, 1)


def test_a_value_is_compared_with_what_is_predicted_without_a_mechanism():
    near = judge(number(100), found(110))
    nearer = replace(near, challenge=Challenge(Verdict.REPRODUCED, null=True, ours=(95.0,)))
    farther = replace(near, challenge=Challenge(Verdict.REPRODUCED, null=True, ours=(85.0,)))
    assert [tally([each]).values_nearer for each in (nearer, farther)] == [0, 1]


def test_deviations_heed_no_tolerance():
    records = [
        judge(number(100, tolerance=0.0), found(104)),
        judge(number(-100), found(-110)),
        judge(number([1, 2]), found(1.12, 4)),
        judge(number(100, by_construction="given"), found(100)),
        judge(number(100, unread="as remembered"), found(100)),
        judge(number(100, comparator="<"), found(99)),
        judge(number(0), found(1)),
        judge(number(100), found()),
    ]
    of = tally(records)
    assert of.numbers == 4
    assert of.within == ((0.05, 1), (0.1, 2), (0.15, 3), (0.25, 3))
    assert "of 4 printed numbers ours are: 25.0 % within 5 %" in " ".join(sentences(of))


def test_the_record_as_json():
    plain = judge(number(100), Finding("http.a", "measured", (Value(90, 80, 100),))).to_json()
    assert (plain["printed"], plain["ours"], plain["ci95"]) == (100, 90, [80, 100])
    several = judge(number([1, 2]), found(1, 2)).to_json()
    assert (several["ours"], several["ci95"]) == ([1, 2], [None, None])
    assert judge(number(100), found()).to_json()["ours"] is None
