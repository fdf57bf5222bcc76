"""Before and after: real changes are found, chance and resolution are not called changes."""

import contextlib
import copy
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import synthetic
from airqueue.cli import main
from airqueue.measure.api import measure
from airqueue.measure.compare import compare
from airqueue.measure.schema import ResultError, check, read_result, to_text
from airqueue.measure.simulated import SimulatedProber
from airqueue.measure.words import describe
from airqueue.report.page import render


def by_name(comparison, name):
    (change,) = [c for c in comparison.changes if c.name == name]
    return change


def grown(capacity, counting, **changes):
    return synthetic.fifo_result(
        capacity=capacity,
        ci95=[capacity - 0.5, capacity + 0.5],
        sessions=synthetic.sessions(counting),
        **changes,
    )


def test_a_doubled_queue_is_a_real_change():
    after = grown(200.0, [199.8, 200.1, 200.2])
    change = by_name(compare(synthetic.fifo_result(), after), "capacity")
    assert change.real is True
    assert change.difference == pytest.approx(99.95)
    assert change.ci95_difference[0] < 99.95 < change.ci95_difference[1]


def test_half_a_packet_is_within_the_resolution_however_narrow_the_interval():
    after = synthetic.fifo_result(capacity=100.6, ci95=[100.599, 100.601])
    before = synthetic.fifo_result(capacity=100.0, ci95=[99.999, 100.001])
    change = by_name(compare(before, after), "capacity")
    assert change.real is False
    assert "resolution" in change.because


def test_the_same_measurement_shows_no_change():
    comparison = compare(synthetic.fifo_result(), synthetic.fifo_result())
    assert {change.real for change in comparison.changes} == {False}


def test_welch_agrees_with_scipy():
    before, after = [99.0, 101.0, 100.5, 98.7], [104.0, 109.0, 103.0]
    comparison = compare(grown(100.0, before), grown(105.0, after))
    change = by_name(comparison, "counting, 1500 B")
    expected = stats.ttest_ind(after, before, equal_var=False)
    bounds = expected.confidence_interval(0.95)
    assert change.p == pytest.approx(expected.pvalue)
    assert change.ci95_difference == pytest.approx((bounds.low, bounds.high))
    assert change.real is bool(bounds.low > 1.0)


def test_false_alarms_stay_at_their_rate():
    # Two samples of one distribution, far wider than the resolution: about 5 % may look different.
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(200):
        before, after = rng.normal(1000, 50, (2, 6))
        comparison = compare(grown(1000.0, list(before)), grown(1000.0, list(after)))
        alarms += bool(by_name(comparison, "counting, 1500 B").real)
    # 99.9 % of a binomial(200, 0.05) lies below 21.
    assert alarms <= stats.binom.ppf(0.999, 200, 0.05)


def test_packets_and_bytes_are_said_in_their_own_units_and_in_the_other():
    after = synthetic.fifo_result(
        counted_in="bytes", capacity=151_400.0, capacity_unit="bytes", ci95=[150e3, 152e3]
    )
    change = by_name(compare(synthetic.fifo_result(capacity=100.0), after), "capacity")
    assert change.difference is None
    assert change.real is None
    assert "100.0 packets (151,400 bytes with packets of 1500 B)" in change.because
    assert "151,400 bytes (100.0 packets with packets of 1500 B)" in change.because


def bucket(depth, half=1600):
    between = None if half is None else [depth - half, depth + half]
    return {"bytes": depth, "ci95_bytes": between, "at_least": half is None}


def with_bucket(found):
    return {**synthetic.fifo_result(), "token_bucket": found}


@pytest.mark.parametrize(
    ("before", "after", "real", "says"),
    [
        (bucket(30_000), bucket(60_000), True, "does not contain zero"),
        (bucket(30_000), bucket(31_000), False, "contains zero"),
        (bucket(30_000, 10), bucket(31_000, 10), False, "within the resolution of 1,500 bytes"),
        (bucket(30_000), None, None, "only the first shows a token bucket"),
        (None, bucket(30_000), None, "only the second shows a token bucket"),
        (bucket(30_000), bucket(9e6, None), None, "without a confidence interval"),
    ],
)
def test_the_depths_of_token_buckets_are_compared(before, after, real, says, tmp_path):
    results = with_bucket(before), with_bucket(after)
    change = by_name(compare(*results), "token bucket")
    assert change.real is real
    assert says in change.because
    files = tmp_path / "before.json", tmp_path / "after.json"
    for file, result in zip(files, results, strict=True):
        file.write_text(to_text(result))
    shown = CliRunner().invoke(main, ["compare", *map(str, files)]).output
    assert " ".join(shown.split()).count("token bucket") >= 2


def test_without_token_buckets_there_is_no_row():
    comparison = compare(with_bucket(None), synthetic.fifo_result())
    assert not [c for c in comparison.changes if c.name == "token bucket"]


def test_what_a_sparse_flow_feels_is_compared():
    """Behind a FIFO it waits as the flood does, beside isolated flows it does not."""
    device = {"flows": 3, "queue": "pfifo:100", "rate_bps": 7e6}
    fifo, fair = (
        measure(SimulatedProber({**device, "isolate_flows": apart}, seed=1)).to_json()
        for apart in (False, True)
    )
    check(fifo)
    # The FIFO loses most of its packets, of which the rest tell no 95th percentile.
    assert all(session["sparse_loaded_p95_s"] is None for session in fifo["sessions"])
    assert all(session["sparse_loaded_p95_s"] < 0.005 for session in fair["sessions"])
    change = by_name(compare(fifo, fair), "sparse flow under load, median, 1500 B")
    assert change.before.value == pytest.approx(100 * 12000 / 7e6, rel=0.05)
    assert change.after.value < 0.005
    assert change.real is True
    idle = by_name(compare(fifo, fair), "sparse flow idle, median, 1500 B")
    assert idle.before.value == pytest.approx(0, abs=1e-3)


def test_counts_of_a_queue_without_a_capacity_are_not_compared():
    comparison = compare(synthetic.fifo_result(), synthetic.other_result("isolated"))
    assert not [c for c in comparison.changes if c.name.startswith("counting")]
    both = compare(synthetic.fifo_result(), synthetic.fifo_result())
    assert [c for c in both.changes if c.name.startswith("counting")]


def test_without_a_capacity_nothing_is_claimed():
    change = by_name(
        compare(synthetic.fifo_result(), synthetic.other_result("isolated")), "capacity"
    )
    assert change.real is None
    assert change.difference is None


def test_single_sessions_and_missing_intervals_cannot_tell():
    one = grown(100.0, [100.0])
    two = synthetic.fifo_result(sessions=synthetic.sessions([120.0]), ci95=None, capacity=120.0)
    comparison = compare(one, two)
    assert by_name(comparison, "capacity").real is None
    assert by_name(comparison, "counting, 1500 B").real is None


def test_discarded_sessions_take_no_part():
    after = synthetic.fifo_result()
    for session in after["sessions"][:1]:
        session.update(accepted=False, discarded_because="it stalled")
        session["estimates"]["counting"] = 5.0
    change = by_name(compare(synthetic.fifo_result(), after), "counting, 1500 B")
    assert change.after.value == pytest.approx(100.05)
    assert change.after.sessions == 2


def test_differing_conditions_are_pointed_out():
    after = synthetic.fifo_result(direction="up", profile="paper")
    cautions = " ".join(compare(synthetic.fifo_result(), after).cautions)
    assert "direction" in cautions
    assert "profile" in cautions


def test_comparison_is_json():
    comparison = compare(synthetic.fifo_result(), grown(200.0, [199.8, 200.1, 200.2]))
    assert json.loads(to_text(comparison.to_json()))["format"] == "airqueue-comparison"


def test_results_round_trip_through_a_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(to_text(synthetic.fifo_result()))
    assert read_result(path) == synthetic.fifo_result()


def test_numbers_that_json_lacks_become_null():
    result = synthetic.fifo_result(delay_full_s=float("nan"), rate_bps=np.float64(7e6))
    loaded = json.loads(to_text(result))
    assert loaded["delay_full_s"] is None
    assert loaded["rate_bps"] == 7e6
    check(loaded)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is an empty file"),
        (b"\xff\xfe\x00", "not a JSON file in UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[NaN]", "not JSON"),
        (b"[]", "not an airqueue measurement; give a file"),
        (b'{"format": "airqueue-diagnosis"}', "it is a diagnosis, and `airqueue diagnose --from"),
        (b'{"format": ["airqueue-diagnosis"]}', "give a file"),
        (b'{"format": "airqueue-measurement", "version": 2}', "version 2"),
        (b'{"format": "airqueue-measurement", "version": 1}', "damaged or was edited"),
    ],
)
def test_wrong_files_are_one_sentence(tmp_path, content, message):
    path = tmp_path / "wrong.json"
    path.write_bytes(content)
    with pytest.raises(ResultError, match=message) as caught:
        read_result(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"verdict": "maybe"}, "verdict"),
        ({"capacity": "100"}, "capacity"),
        ({"ci95": [1.0]}, "ci95"),
        ({"surprise": 1}, "top level"),
        ({"verdict": "isolated"}, "c"),  # with a capacity, that is a contradiction
    ],
)
def test_the_schema_is_strict(change, place):
    with pytest.raises(ResultError, match=place):
        check({**synthetic.fifo_result(), **change})


def paths_of(value, path=()):
    """Every place in a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else ()
    for key, item in enumerate(value) if isinstance(value, list) else children:
        yield from paths_of(item, (*path, key))


def with_changed(result, path, new):
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return result


PLACES = [path for path in paths_of(synthetic.fifo_result()) if path]
STRANGE = [None, True, 0, -1, 1.5, 1e15, 1e300, float("inf"), 10**400, "", "x", [], {}, [1.0, 2.0]]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(STRANGE)), max_size=4))
def test_whatever_passes_the_schema_can_be_shown_and_compared(changes):
    result = synthetic.fifo_result()
    for path, new in changes:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            with_changed(result, path, copy.deepcopy(new))
    try:
        check(result)
    except ResultError:
        return
    words = describe(result)
    assert words.headline
    assert "None" not in " ".join(words.paragraphs())
    assert render(result, []).endswith("</html>\n")
    with contextlib.suppress(ResultError):
        json.loads(to_text(compare(synthetic.fifo_result(), result).to_json()))
        json.loads(to_text(compare(result, synthetic.fifo_result()).to_json()))


def test_every_verdict_passes_the_schema():
    check(synthetic.fifo_result())
    check(synthetic.other_result("policer"))


def test_a_change_of_the_discipline_is_said_first():
    def result(says, target_s):
        found = synthetic.other_result("not_flat")
        found["discipline"] = {
            "name": "codel",
            "says": says,
            "sharing": "one_queue",
            "management": "codel",
            "parameters": {"target_s": {"value": target_s, "ci95": [0.9 * target_s, target_s]}},
            "hard_limit_packets": None,
            "evidence": [],
        }
        return found

    found = compare(result("CoDel on one queue", 0.05), result("FQ-CoDel", 0.005))
    assert found.disciplines == ("CoDel on one queue (target 50 ms)", "FQ-CoDel (target 5.0 ms)")
    assert compare(synthetic.fifo_result(), result("FQ-CoDel", 0.005)).disciplines[0] is None
