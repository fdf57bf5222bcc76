"""The verdict in plain words: thresholds, honesty, and no sentence that the data does not carry."""

import pytest

import synthetic
from airqueue import text
from airqueue.measure.schema import schema
from airqueue.measure.tables import estimates
from airqueue.measure.words import describe
from airqueue.qoe import effect_on_call, effect_on_game

VERDICTS = (
    "isolated",
    "not_flat",
    "policer",
    "sender_limited",
    "receiver_limited",
    "not_saturable",
    "undecided",
)


def test_fifo_names_capacity_unit_and_delay():
    words = describe(synthetic.fifo_result())
    assert "100 packets" in words.headline
    assert "counted in packets" in words.headline
    said = " ".join(words.paragraphs())
    assert "171 ms" in said
    assert "99.6 to 100.5 packets" in said
    assert words.next_steps == ()


def test_byte_queue_is_given_in_bytes():
    result = synthetic.fifo_result(
        counted_in="bytes", capacity=150_794.0, capacity_unit="bytes", ci95=[150_000.0, 151_500.0]
    )
    words = describe(result)
    assert "150,794 bytes, counted in bytes" in words.headline
    assert "150,000 to 151,500 bytes" in " ".join(words.sureness)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_other_verdicts_give_no_capacity_but_a_next_step(verdict):
    # The estimators still carry numbers; no sentence may pass them off as a capacity.
    words = describe(synthetic.other_result(verdict))
    said = " ".join(words.paragraphs())
    assert words.next_steps
    assert "100 packets" not in said
    assert "100.0" not in said
    assert "first-in" not in said


def test_every_verdict_of_the_schema_has_words():
    assert set(schema()["properties"]["verdict"]["enum"]) == {"fifo", *VERDICTS}


@pytest.mark.parametrize(
    ("delay_s", "call", "game"),
    [
        (0.040, "can bear", "60 ms"),
        (0.100, "can bear", "leaves"),
        (0.101, "hardly bear", "already exceeds"),
        (0.150, "hardly bear", "already exceeds"),
        (0.151, "audible", "already exceeds"),
        (0.400, "audible", "already exceeds"),
        (0.401, "too much", "already exceeds"),
    ],
)
def test_thresholds_of_a_call_and_a_game(delay_s, call, game):
    assert call in effect_on_call(delay_s)
    assert game in effect_on_game(delay_s)


def test_warnings_discards_and_interruption_are_said():
    result = synthetic.fifo_result(
        warnings=["The clock was stepped."],
        discarded_sessions=2,
        discard_reasons={"stalled": 1, "clock_step": 1},
        interrupted=True,
    )
    said = " ".join(describe(result).sureness)
    assert "The clock was stepped." in said
    assert "2 sessions" in said
    assert "clock step: 1" in said
    assert "interrupted" in said


def test_without_interval_none_is_claimed():
    said = " ".join(describe(synthetic.fifo_result(ci95=None)).sureness)
    assert "no confidence interval" in said


def test_a_burst_is_named_as_the_uncertainty():
    result = synthetic.fifo_result(
        resolution={"packets": 64.0, "because": "packets arrive in bursts of 64"}
    )
    said = " ".join(describe(result).sureness)
    assert "64.0 packets" in said
    assert "bursts of 64" in said


def test_the_table_is_in_the_unit_in_which_sizes_agree():
    head, rows = estimates(synthetic.fifo_result(truth={"counted_in": "packets", "capacity": 100}))
    assert head == ["packets, ± 95 %", "sent 1500 B", "sent 750 B", "together"]
    assert rows[0] == ["counting", "100.0 ± 0.4", "100.1 ± 0.4", "100.0 ± 0.4"]
    assert rows[-1] == ["truth", "100.0", "100.0", "100.0"]
    head, rows = estimates(synthetic.fifo_result(counted_in="bytes"))
    assert rows[0][1:3] == ["150,000 ± 600", "75,075 ± 300"]
    head, rows = estimates(synthetic.other_result("undecided"))
    assert head[1:] == ["sent 1500 B", "sent 750 B"]


def test_the_table_leaves_out_what_there_is_not():
    none = dict.fromkeys(("published", "corrected", "counting", "fill_drain"))
    assert estimates(synthetic.fifo_result(estimators=none, truth=None))[1] == []
    one = {**none, "counting": synthetic.estimator({1500: 99.0})}
    one["counting"]["by_size"]["1500"]["ci95_packets"] = None
    assert estimates(synthetic.fifo_result(estimators=one))[1] == [["counting", "99.0"]]


def test_missing_numbers_do_not_break_the_words():
    result = synthetic.fifo_result(
        delay_full_s=None, rate_bps=None, resolution=None, in_service_packets=None
    )
    assert "None" not in " ".join(describe(result).paragraphs())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.00 ms"),
        (0.000001, "1 us"),
        (0.00035, "0.35 ms"),
        (0.0012, "1.2 ms"),
        (0.2134, "213 ms"),
        (0.9999, "1.00 s"),
        (2.4, "2.40 s"),
        (None, "unknown"),
    ],
)
def test_seconds(value, expected):
    assert text.seconds(value) == expected


def test_rates_and_lists():
    assert text.rate(7.02e6) == "7.02 Mb/s"
    assert text.rate(640e3) == "640 kb/s"
    assert text.rate(300e6) == "300 Mb/s"
    assert text.listed(["a", "b", "c"]) == "a, b and c"
    assert text.listed(["a"]) == "a"
    assert text.listed([]) == ""
