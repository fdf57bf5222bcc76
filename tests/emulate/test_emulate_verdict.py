"""The verdict follows from lateness, drops, and the use of the processor."""

from __future__ import annotations

from typing import Any

import pytest

from airqueue.emulate.verdict import judge

GOOD: dict[str, Any] = {
    "duration_s": 10.0,
    "written_packets": 1000,
    "late_p50_s": 0.00004,
    "late_p99_s": 0.00031,
    "late_max_s": 0.0032,
    "late_ratio": 0.001,
    "read_late_p99_s": 0.0,
    "read_late_max_s": 0.0004,
    "read_late_ratio": 0.0,
    "unwritten_packets": 0,
    "held_packets": 0,
    "cpu_ratio": 0.3,
    "priority": True,
    "pairs": {},
    "refused": {},
}
NO_DROPS = {"phone": 0, "server": 0}


@pytest.mark.parametrize(
    ("p99_s", "within"),
    [(0.00031, "0.4 ms"), (0.0003, "0.3 ms"), (1e-6, "0.1 ms"), (0.0049, "4.9 ms")],
)
def test_delays_are_good_to_what_99_of_100_packets_were_late_rounded_up(p99_s, within):
    verdict = judge({**GOOD, "late_p99_s": p99_s}, NO_DROPS)
    assert verdict.trusted
    assert f"trusted to within {within} (99th percentiles" in verdict.sentence
    assert verdict.within_s is not None
    assert p99_s <= verdict.within_s < p99_s + 1.01e-4


def test_packets_that_were_read_late_are_late_as_well():
    verdict = judge({**GOOD, "read_late_p99_s": 0.0005, "read_late_max_s": 0.02}, NO_DROPS)
    assert "trusted to within 0.9 ms" in verdict.sentence
    assert "20 ms late" in verdict.sentence


@pytest.mark.parametrize(
    ("wrong", "drops", "says"),
    [
        ({"late_ratio": 0.07}, NO_DROPS, "7.0 % of packets were more than 1 ms late"),
        ({"read_late_ratio": 0.07}, NO_DROPS, "7.0 % of packets may have waited more than 1 ms"),
        ({"unwritten_packets": 12}, NO_DROPS, "12 packets could not be written"),
        ({"cpu_ratio": 0.97}, NO_DROPS, "97.0 % of a processor"),
        ({}, {"phone": 3, "server": 0}, "the kernel dropped 3 packets of phone"),
        ({"refused": {"full": {"packets": 5, "bytes": 5}}}, NO_DROPS, "5 packets found"),
    ],
)
def test_what_could_not_keep_up_is_not_trusted_and_says_why(wrong, drops, says):
    verdict = judge({**GOOD, **wrong}, drops)
    assert not verdict.trusted
    assert verdict.within_s is None
    assert says in verdict.sentence
    assert verdict.sentence.endswith("do not trust the delays of this run")


def test_packets_that_the_network_refuses_for_what_they_are_do_not_count():
    refused = {"no_such_node": {"packets": 9, "bytes": 900}}
    assert judge({**GOOD, "refused": refused}, NO_DROPS).trusted


def test_without_packets_there_is_nothing_to_judge():
    none = dict.fromkeys(("late_p50_s", "late_p99_s", "late_max_s", "late_ratio"))
    verdict = judge({**GOOD, **none, "written_packets": 0}, NO_DROPS)
    assert verdict.trusted
    assert verdict.within_s is None
    assert "no packet" in verdict.sentence
