"""The E-model: worked tables, a slow evaluation with mpmath, limits, inverses."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.voice import (
    CODECS,
    LARGEST_DELAY_IMPAIRMENT,
    LONGEST_DELAY_S,
    MODEL,
    burst_ratio_of,
    codec_of,
    cole_rosenbluth,
    delay_impairment,
    largest_delay_s,
    largest_loss,
    loss_impairment,
    mos,
    r_factor,
    r_of_mos,
)


def slow_r(delay_s: float, loss: float, codec: str, burst: float) -> float:
    """G.107 as printed, with 30 digits."""
    with mpmath.workdps(30):
        ta, percent = mpmath.mpf(delay_s) * 1000, mpmath.mpf(loss) * 100
        idd = mpmath.mpf(0)
        if ta > 100:
            x = mpmath.log(ta / 100) / mpmath.log(2)
            sixth = mpmath.mpf(1) / 6
            idd = 25 * ((1 + x**6) ** sixth - 3 * (1 + (x / 3) ** 6) ** sixth + 2)
        ie, bpl = CODECS[codec].ie, CODECS[codec].bpl
        ie_eff = ie + (95 - ie) * percent / (percent / mpmath.mpf(burst) + bpl)
        return float(mpmath.mpf("93.2062") - idd - ie_eff)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("burst", [0.5, 1, 4])
@pytest.mark.parametrize("loss", [0, 0.001, 0.03, 0.4, 1])
@pytest.mark.parametrize("delay", [0, 0.0999, 0.1, 0.1001, 0.15, 0.177, 0.4, 2.0])
def test_equals_the_recommendation(delay: float, loss: float, burst: float, codec: str) -> None:
    found = float(r_factor(delay, loss, codec, burst_ratio=burst))
    assert found == pytest.approx(slow_r(delay, loss, codec, burst), abs=1e-10)


@pytest.mark.parametrize("row", rows("voice_worked"))
def test_the_worked_table(row: dict[str, str]) -> None:
    """G.729A with VAD, random loss."""
    r = r_factor(float(row["mouth_to_ear_ms"]) / 1e3, float(row["loss_percent"]) / 100)
    assert float(r) == pytest.approx(float(row["r"]), abs=half_unit(row["r"]))
    if row["mos"]:
        assert float(mos(r)) == pytest.approx(float(row["mos"]), abs=half_unit(row["mos"]))


@pytest.mark.parametrize("row", rows("mesh_voice"))
def test_the_mesh_paper_s_voice_streams(row: dict[str, str]) -> None:
    """Delay and bit rate of Tables 7 and 9, 25 ms of coding; what is missing of 8 kb/s was lost."""
    r = r_factor(float(row["delay_ms"]) / 1e3 + 0.025, 1 - float(row["rate_kbps"]) / 8)
    assert float(r) == pytest.approx(float(row["r"]), abs=half_unit(row["r"]))
    assert float(mos(r)) == pytest.approx(float(row["mos"]), abs=half_unit(row["mos"]))


def test_without_delay_and_loss_r_is_as_g107_prints_it() -> None:
    assert float(r_factor(0, 0, "g711-plc")) == pytest.approx(93.2, abs=0.05)


def test_the_codec_table() -> None:
    values = {name: (codec.ie, codec.bpl) for name, codec in CODECS.items()}
    assert values == {"g711-plc": (0, 25.1), "g729": (10, 19), "g729a-vad": (11, 19)}
    assert codec_of("g729").frame_s + codec_of("g729").lookahead_s == pytest.approx(0.015)


def test_the_limits_of_delay() -> None:
    assert delay_impairment([0, 0.05, 0.1]).tolist() == [0, 0, 0]
    # Flat where it begins, and 50 at last: the sixth roots tend to X - 3 X/3.
    assert float(delay_impairment(0.1 * (1 + 1e-4))) < 1e-12
    assert float(delay_impairment(1.7e308)) == pytest.approx(LARGEST_DELAY_IMPAIRMENT)
    assert float(delay_impairment(1.7e308)) <= LARGEST_DELAY_IMPAIRMENT


def test_the_limits_of_loss() -> None:
    assert float(loss_impairment(0, "g729")) == 10
    # All lost: (95 - Ie) 100/(100 + Bpl) more.
    assert float(loss_impairment(1, "g711-plc")) == pytest.approx(95 * 100 / 125.1)
    assert float(loss_impairment(0.02, burst_ratio=1e300)) > float(loss_impairment(0.02))
    assert float(loss_impairment(0.02, burst_ratio=1e-300)) == pytest.approx(11)


def test_bursts_of_a_markov_chain() -> None:
    """Mean run of losses over that of independent losses of the same rate."""
    p, q = 0.01, 0.3
    rng = np.random.default_rng(11)
    lost, state = np.zeros(400_000, dtype=bool), False
    for k, u in enumerate(rng.random(lost.size)):
        state = u < p if not state else u >= q
        lost[k] = state
    runs = np.count_nonzero(lost[1:] & ~lost[:-1])
    run, rate = lost.sum() / runs, lost.mean()
    assert float(burst_ratio_of(p, q)) == pytest.approx(run * (1 - rate), rel=0.03)
    assert float(burst_ratio_of(0.2, 0.8)) == 1


def test_cole_and_rosenbluth() -> None:
    # 94.2 - 4.8 - 0.11 · 22.7 - 11 - 40 ln 1.3
    found = float(cole_rosenbluth(0.2, 0.03))
    assert found == pytest.approx(94.2 - 4.8 - 0.11 * 22.7 - 11 - 40 * np.log(1.3), abs=1e-12)
    assert float(cole_rosenbluth(0.1, 0.1, "g711-plc")) == pytest.approx(
        94.2 - 2.4 - 30 * np.log(2.5)
    )
    # It stands for the same thing: within 6 points of R to 300 ms and 3 % for G.729A.
    delay, loss = np.meshgrid(np.linspace(0, 0.3, 31), np.linspace(0, 0.03, 7))
    assert np.abs(cole_rosenbluth(delay, loss) - r_factor(delay, loss)).max() < 6


@given(st.floats(-1e3, 1e3), st.floats(0, 1e3))
def test_the_score_never_falls_as_r_rises(r: float, more: float) -> None:
    assert 1 <= mos(r) <= mos(r + more) <= 4.5


def test_the_ends_of_the_score() -> None:
    assert mos([-5, 0, 100, 120]).tolist() == [1, 1, 4.5, 4.5]
    assert mos([-5, 0, 100, 120], "printed").tolist() == [1, 1, 4.5, 4.5]
    # 1 + 0.035 R + 7e-6 R (R - 60)(100 - R) is 3.1 at 60, and dips below 1 near 3.
    assert float(mos(60)) == pytest.approx(3.1)
    dip = mos(np.linspace(0, 10, 1001), "printed")
    assert float(np.min(dip)) == pytest.approx(0.9888, abs=5e-5)
    assert float(np.linspace(0, 10, 1001)[np.max(np.flatnonzero(dip < 1))]) == pytest.approx(
        6.515, abs=0.01
    )


@given(st.floats(1.0001, 4.5))
def test_r_of_a_score(score: float) -> None:
    r = float(r_of_mos(score))
    assert float(mos(r)) == pytest.approx(score, abs=1e-12)
    assert float(mos(r - 1e-6)) <= score


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5))
def test_r_falls_with_delay_and_loss(a: float, b: float, s: float, t: float) -> None:
    worse = r_factor(max(s, t), max(a, b))
    assert worse <= r_factor(min(s, t), min(a, b)) + 1e-12
    assert r_factor(s, a, advantage=10) == pytest.approx(float(r_factor(s, a)) + 10)


@given(st.floats(2.0, 4.0), st.floats(0, 0.02), st.sampled_from(list(CODECS)))
def test_the_largest_delay_just_keeps_the_score(score: float, loss: float, codec: str) -> None:
    try:
        delay = float(largest_delay_s(score, loss, codec))
    except ParameterError:
        assert float(mos(r_factor(0, loss, codec))) < score
        return
    assert float(mos(r_factor(delay, loss, codec))) >= score - 1e-9
    if delay < LONGEST_DELAY_S:
        assert float(mos(r_factor(delay + 1e-3, loss, codec))) < score


@given(
    st.floats(1.5, 4.4),
    st.floats(0, 0.3),
    st.sampled_from(list(CODECS)),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_the_largest_loss_just_keeps_the_score(
    score: float, delay: float, codec: str, burst: float
) -> None:
    try:
        loss = float(largest_loss(score, delay, codec, burst_ratio=burst))
    except ParameterError:
        assert float(mos(r_factor(delay, 0, codec))) < score
        return
    assert float(mos(r_factor(delay, loss, codec, burst_ratio=burst))) >= score - 1e-9
    if loss < 1:
        more = min(1.0, loss + 1e-4)
        assert float(mos(r_factor(delay, more, codec, burst_ratio=burst))) < score


def test_inverses_of_arrays() -> None:
    assert largest_delay_s([3.0, 3.6, 4.0], 0.001).shape == (3,)
    assert (np.diff(largest_delay_s([3.0, 3.6, 4.0], 0.001)) < 0).all()
    assert largest_loss([[3.0], [3.6]], [0.05, 0.2]).shape == (2, 2)
    # A codec that bears the loss of everything: G.711, and a score just above the worst.
    assert float(largest_loss(1.05, 0, "g711-plc", burst_ratio=0.5)) == 1
    assert float(largest_delay_s(1.5)) == pytest.approx(LONGEST_DELAY_S)


@pytest.mark.parametrize(
    ("function", "arguments", "names"),
    [
        (delay_impairment, (-0.1,), "mouth_to_ear_s"),
        (loss_impairment, (1.1,), "loss"),
        (loss_impairment, (0.1, "opus"), "codec"),
        (loss_impairment, (0.1, "g729", 0), "burst_ratio"),
        (burst_ratio_of, (0, 0.5), "loss_after_success"),
        (burst_ratio_of, (0.5, 2), "success_after_loss"),
        (r_factor, (float("nan"),), "mouth_to_ear_s"),
        (r_factor, ([0.1, 0.2], [0, 0, 0]), "mouth_to_ear_s"),
        (cole_rosenbluth, (0.1, -1), "loss"),
        (cole_rosenbluth, (0.1, 0, "opus"), "codec"),
        (mos, (float("inf"),), "r"),
        (mos, (50, "rounded"), "form"),
        (r_of_mos, (1,), "score"),
        (r_of_mos, (4.6,), "score"),
        (largest_delay_s, (4.3,), "score"),
        (largest_delay_s, (3.6, 0.5), "score"),
        (largest_loss, (4.3,), "score"),
        (largest_loss, ([3.0, 3.6], [0.1, 0.9]), "score"),
    ],
)
def test_bad_input_is_named(function: Any, arguments: tuple[Any, ...], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        function(*arguments)
    assert raised.value.parameter == names


def test_an_advantage_has_bounds() -> None:
    for function in (r_factor, largest_delay_s, largest_loss):
        with pytest.raises(ParameterError, match="advantage"):
            function(3.0, advantage=21)


def slow_mos(r: float) -> float:
    return 1 if r < 0 else 4.5 if r > 100 else 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6


@pytest.mark.parametrize(
    ("codec", "loss"), [("g729a-vad", 0.0), ("g729", 0.03), ("g711-plc", 0.05)]
)
@pytest.mark.parametrize("advantage", [0.0, 5.0, 20.0])
def test_an_advantage_is_delay_and_loss_to_spare(codec: str, loss: float, advantage: float) -> None:
    """By a walk in steps of 0.1 ms, and of 0.01 % of loss, with the recommendation's equations."""

    def good(delay: float, lost: float) -> bool:
        return slow_mos(slow_r(delay, lost, codec, 2.0) + advantage) >= 3.5

    delay = 0.1
    while delay < LONGEST_DELAY_S and good(delay + 1e-4, loss):
        delay += 1e-4
    found = float(largest_delay_s(3.5, loss, codec, burst_ratio=2.0, advantage=advantage))
    assert found == pytest.approx(delay, abs=1.1e-4)
    lost = 0.0
    while lost < 1 and good(0.15, lost + 1e-4):
        lost += 1e-4
    found = float(largest_loss(3.5, 0.15, codec, burst_ratio=2.0, advantage=advantage))
    assert found == pytest.approx(lost, abs=1.1e-4)
    figures = MODEL.evaluate(
        **defaults(
            codec=codec,
            loss=loss,
            burst_ratio=2.0,
            advantage=advantage,
            score=3.5,
            mouth_to_ear_s=0.15,
        )
    )
    assert figures["largest_delay_s"] == pytest.approx(delay, abs=1.1e-4)
    assert figures["largest_loss"] == pytest.approx(lost, abs=1.1e-4)


def test_a_score_out_of_reach_says_what_is_in_reach() -> None:
    with pytest.raises(ParameterError, match=r"score is 4\.3, but g729a-vad .* reaches only 4\.10"):
        largest_delay_s(4.3)


def defaults(**given: Any) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in MODEL.parameters} | given


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 1e-300, 0.999999999999, 1e300])
@pytest.mark.parametrize("name", ["mouth_to_ear_s", "loss", "burst_ratio", "advantage", "score"])
def test_extremes_are_answered_or_refused(name: str, value: float) -> None:
    try:
        figures = MODEL.evaluate(**defaults(**{name: value}))
    except ModelError:
        return
    assert all(v is None or np.isfinite(v) for v in figures.values())


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**defaults())
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["r"] == pytest.approx(82.0, abs=0.05)
    assert MODEL.evaluate(**defaults(score=4.4))["largest_delay_s"] is None
    assert MODEL.evaluate(**defaults(mouth_to_ear_s=0.4))["largest_loss"] is None
    with pytest.raises(ParameterError):
        MODEL.evaluate(**defaults(score=5))
