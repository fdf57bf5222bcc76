"""Budgets of delay and jitter: worked examples, and definitions spelled out slowly."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from airqueue.models.delay_budget import (
    GAME_LIMITS_S,
    MODEL,
    codec_delay_s,
    g114_class,
    game_delay,
    interarrival_jitter_s,
    meets_voice_limits,
    mouth_to_ear_s,
    network_budget_s,
    playout_delay_s,
)
from airqueue.models.errors import ModelError, ParameterError


def test_the_worked_jitter() -> None:
    sent, received = [0, 20, 40, 60, 80], [50, 72, 88, 120, 131]
    found = interarrival_jitter_s(np.array(sent) / 1e3, np.array(received) / 1e3) * 1e3
    assert found.tolist() == pytest.approx([0, 0.125, 0.367, 1.094, 1.588], abs=5e-4)


times = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 500)), min_size=1, max_size=40)


@given(times, st.integers(-1000, 1000))
def test_jitter_in_fractions(packets: list[tuple[int, int]], offset: int) -> None:
    sent = [at for at, _ in packets]
    received = [at + delay + offset for at, delay in packets]
    jitter, expected = Fraction(0), [Fraction(0)]
    for i in range(1, len(sent)):
        change = (received[i] - received[i - 1]) - (sent[i] - sent[i - 1])
        jitter += (abs(change) - jitter) / 16
        expected.append(jitter)
    found = interarrival_jitter_s(sent, received)
    assert found.tolist() == pytest.approx([float(j) for j in expected], abs=1e-9)


def test_jitter_of_alternating_delays() -> None:
    n = np.arange(400)
    found = interarrival_jitter_s(0.02 * n, 0.02 * n + 0.01 * (n % 2))
    assert float(found[-1]) == pytest.approx(0.01)
    assert interarrival_jitter_s(0.02 * n, 0.02 * n + 5).max() < 1e-12


def test_mouth_to_ear() -> None:
    # 10 ms of speech, 5 ms ahead, 10 ms to code it.
    assert float(codec_delay_s("g729", 1)) == pytest.approx(0.025)
    assert float(codec_delay_s("g729")) == pytest.approx(0.035)
    assert codec_delay_s("g729", [1, 2, 4]).tolist() == pytest.approx([0.025, 0.035, 0.055])
    total = mouth_to_ear_s(0.04, "g729", 1, dejitter_s=0.03)
    assert float(total) == pytest.approx(0.095)


@given(st.floats(0, 1), st.floats(0, 0.1), st.floats(0, 0.1))
def test_the_budget_is_what_is_left(allowed: float, dejitter: float, rest: float) -> None:
    try:
        left = float(network_budget_s(allowed, "g729", 1, dejitter, rest))
    except ParameterError as error:
        assert error.parameter == "allowed_s"
        assert allowed < 0.025 + dejitter + rest + 1e-12
        return
    assert float(mouth_to_ear_s(left + rest, "g729", 1, dejitter)) == pytest.approx(allowed)


def test_the_classes_of_g114() -> None:
    assert g114_class([0, 0.150, 0.1501, 0.4, 0.4001]).tolist() == [
        "good",
        "good",
        "acceptable",
        "acceptable",
        "unacceptable",
    ]


@pytest.mark.parametrize("row", rows("mesh_voice"))
def test_the_mesh_paper_s_verdicts(row: dict[str, str]) -> None:
    # The paper: large buffers miss the limits of voice, paced flows and sized buffers keep them.
    delay = mouth_to_ear_s(float(row["delay_ms"]) / 1e3, "g729", 1)
    met = bool(meets_voice_limits(delay, float(row["jitter_ms"]) / 1e3))
    assert met == (row["buffers"] != "50 packets")


def test_the_limits_are_to_be_undercut() -> None:
    assert meets_voice_limits([0.149, 0.150, 0.149], [0.029, 0.029, 0.030]).tolist() == [
        True,
        False,
        False,
    ]


def test_games_through_the_queues_of_the_apq_paper() -> None:
    # The commercial Netgear's full queue, the Cisco's, and a home Linksys's 200 ms.
    found = game_delay([0.584, 0.094, 0.2])
    assert found.playable.tolist() == [False, True, False]
    assert game_delay(0.094, 0.02).playable == np.False_
    assert [bool(game_delay(0.3, 0.1, game).playable) for game in GAME_LIMITS_S] == [
        False,
        True,
        True,
    ]
    assert game_delay(0, [0.04, 0.2]).queue_budget_s.tolist() == pytest.approx([0.06, 0])


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(0, 99))
def test_no_more_than_the_share_is_late(delays: list[int], percent: int) -> None:
    at = playout_delay_s(delays, percent / 100)
    late = sum(delay > at for delay in delays)
    assert Fraction(late, len(delays)) <= Fraction(percent, 100)
    # No earlier delay of a packet would do.
    earlier = [delay for delay in delays if delay < at]
    if earlier:
        sooner = sum(delay > max(earlier) for delay in delays)
        assert Fraction(sooner, len(delays)) > Fraction(percent, 100)


@pytest.mark.parametrize(
    ("function", "arguments", "names"),
    [
        (g114_class, (-1,), "one_way_s"),
        (meets_voice_limits, (0.1, float("nan")), "jitter_s"),
        (codec_delay_s, ("mp3",), "codec"),
        (codec_delay_s, ("g729", 0), "frames_per_packet"),
        (codec_delay_s, ("g729", 1.5), "frames_per_packet"),
        (mouth_to_ear_s, (-1,), "network_s"),
        (mouth_to_ear_s, (1, "g729", 1, -1), "dejitter_s"),
        (network_budget_s, (0.01,), "allowed_s"),
        (network_budget_s, (-1,), "allowed_s"),
        (interarrival_jitter_s, ([], []), "received_s"),
        (interarrival_jitter_s, ([1, 2], [1]), "received_s"),
        (interarrival_jitter_s, ([[1, 2]], [[1, 2]]), "received_s"),
        (interarrival_jitter_s, ([1, float("inf")], [1, 2]), "sent_s"),
        (playout_delay_s, ([],), "delays_s"),
        (playout_delay_s, ([1], 1), "late"),
        (game_delay, (-1,), "queueing_s"),
        (game_delay, (1, -1), "base_rtt_s"),
        (game_delay, (1, 1, "chess"), "game"),
    ],
)
def test_bad_input_is_named(function: Any, arguments: tuple[Any, ...], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        function(*arguments)
    assert raised.value.parameter == names


def defaults(**given: Any) -> dict[str, Any]:
    return {p.name: p.default for p in MODEL.parameters if not p.required} | given


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 1e-300, 1, 1e300])
@pytest.mark.parametrize(
    "name",
    ["queueing_s", "rest_s", "jitter_s", "loss", "frames_per_packet", "dejitter_s", "allowed_s"],
)
def test_extremes_are_answered_or_refused(name: str, value: float) -> None:
    try:
        figures = MODEL.evaluate(**(defaults(queueing_s=0.1) | {name: value}))
    except ModelError:
        return
    assert all(np.isfinite(v) for v in figures.values() if isinstance(v, float))


@pytest.mark.filterwarnings("error")
def test_extremes_of_lists() -> None:
    with pytest.raises(ModelError):
        interarrival_jitter_s([-1e308, 1e308], [1e308, -1e308])
    assert playout_delay_s([1e308, -1e308], 0.5) == -1e308


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**defaults(queueing_s=0.584))
    assert set(figures) == {output.name for output in MODEL.outputs}
    # 584 + 20 ms, 35 ms of G.729 in packets of 20 ms, 30 ms of de-jitter buffer.
    assert figures["mouth_to_ear_s"] == pytest.approx(0.669)
    assert figures["g114"] == "unacceptable"
    assert figures["queue_budget_s"] == pytest.approx(0.065)
    assert figures["game_round_trip_s"] == pytest.approx(0.624)
    given = defaults(queueing_s=0.05, base_rtt_s=0.01, allowed_s=0.05)
    assert MODEL.evaluate(**given)["queue_budget_s"] is None
    assert MODEL.evaluate(**given)["game_playable"] is True
