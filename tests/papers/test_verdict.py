"""Judging: a number by its mean and the claim's tolerance alone, a statement by whether it holds."""

from __future__ import annotations

import pytest

from airqueue_papers.claim import Claim
from airqueue_papers.finding import Finding, Value
from airqueue_papers.verdict import Verdict, counts, judge, shares


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


def test_a_wide_interval_excuses_nothing():
    finding = Finding("http.a", "measured", (Value(200, 50, 350),))
    assert judge(number(100), finding).verdict is Verdict.NOT_REPRODUCED


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


def test_counts_and_shares_leave_out_what_was_put_in():
    records = [
        judge(number(100), found(100)),
        judge(number(100), found(300)),
        judge(number(100, by_construction="given"), found(100)),
        judge(number(100, sort="ratio"), found(100)),
        judge(number(100, not_testable="a device"), None),
    ]
    assert counts(records) == {
        "reproduced": 2,
        "same conclusion, other number": 0,
        "not reproduced": 1,
        "not testable here": 1,
        "by construction": 1,
    }
    assert shares(records) == {"ratio": (1, 1), "absolute": (1, 2), "statement": (0, 0)}


def test_the_record_as_json():
    plain = judge(number(100), Finding("http.a", "measured", (Value(90, 80, 100),))).to_json()
    assert (plain["printed"], plain["ours"], plain["ci95"]) == (100, 90, [80, 100])
    several = judge(number([1, 2]), found(1, 2)).to_json()
    assert (several["ours"], several["ci95"]) == ([1, 2], [None, None])
    assert judge(number(100), found()).to_json()["ours"] is None
