"""Teeth of TCP against an integration of the window, and against their limits."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.sawtooth import (
    CONTROLS,
    CUBIC_C,
    DECREASE,
    FRIENDLY_ALPHA,
    MODEL,
    cubic_region,
    full_use_share,
    period_s,
    sawtooth,
    window_packets,
)

RATE_BPS, RTT_S = 12e6, 0.1
PATH_BYTES = RATE_BPS * RTT_S / 8
SHARES = [0, 0.01, 0.2, 3 / 7, 0.5, 0.99, 1, 1.7, 10]


def integrated(share: float, control: str) -> tuple[float, float]:
    """(utilisation, mean delay in s) by mpmath's quadrature of the fluid's differential equation.

    The window w, in units of the path, obeys ``dw/dt = 1/(trip time)`` or the cubic in time; the link
    passes min(w, 1), and what exceeds 1 waits.
    """
    top, left = mpmath.mpf(1) + share, mpmath.mpf(DECREASE[control])
    if control == "cubic":

        def window(t: mpmath.mpf) -> mpmath.mpf:
            return top + (t - 1) ** 3 * (1 - left) * top

        # Split where the link fills, so that the quadrature sees smooth pieces.
        full = [1 - mpmath.cbrt((1 - 1 / top) / (1 - left))] if left * top < 1 else []
        points = [0, *full, 1]
        passed = mpmath.quad(lambda t: min(window(t), mpmath.mpf(1)), points)
        queued = mpmath.quad(lambda t: max(window(t) - 1, mpmath.mpf(0)), points)
        return float(passed), float(queued) * RTT_S
    points = [left * top, *([1] if left * top < 1 else []), top]
    time = mpmath.quad(lambda w: max(w, mpmath.mpf(1)), points)
    passed = mpmath.quad(lambda w: min(w, mpmath.mpf(1)) * max(w, mpmath.mpf(1)), points)
    queued = mpmath.quad(lambda w: max(w - 1, mpmath.mpf(0)) * max(w, mpmath.mpf(1)), points)
    return float(passed / time), float(queued / time) * RTT_S


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("share", SHARES)
def test_equals_the_integral(share: float, control: str) -> None:
    tooth = sawtooth(share * PATH_BYTES, RATE_BPS, RTT_S, control)
    utilisation, mean = integrated(share, control)
    assert float(tooth.utilisation) == pytest.approx(utilisation, abs=1e-12)
    assert float(tooth.mean_delay_s) == pytest.approx(mean, abs=1e-13)
    assert float(tooth.full_delay_s) == pytest.approx(share * RTT_S)


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_equals_a_window_raised_packet_by_packet(share: float) -> None:
    """Reno step by step: a window of whole packets, one more after every round trip."""
    path = 2000
    low, top = path * (1 + share) / 2, path * (1 + share)
    window, passed, time = low, 0.0, 0.0
    while window < top:
        passed += window
        time += max(1.0, window / path)
        window += 1
    expected = passed / path / time
    tooth = sawtooth(share * PATH_BYTES, RATE_BPS, RTT_S)
    # Whole packets leave an error of one in the window.
    assert float(tooth.utilisation) == pytest.approx(expected, abs=2 / path)


@pytest.mark.parametrize("share", [0, 0.3, 1, 3])
@pytest.mark.parametrize("control", ["reno", "reno-friendly"])
def test_the_time_between_losses_is_that_of_a_window_raised_packet_by_packet(
    share: float, control: str
) -> None:
    path, climb = 2000, 1.0 if control == "reno" else FRIENDLY_ALPHA
    window, time = path * (1 + share) * DECREASE[control], 0.0
    while window < path * (1 + share):
        time += RTT_S * max(1.0, window / path)
        window += climb
    found = period_s(share * PATH_BYTES, RATE_BPS, RTT_S, PATH_BYTES / path, control)
    assert float(found) == pytest.approx(time, rel=4 / path)


def test_a_cubic_tooth_lasts_as_rfc_9438_says() -> None:
    # 3/7 of the path beside the path of 100 packets: W = 1000/7, K = (0.3 W/0.4)^(1/3).
    found = period_s(3 / 7 * PATH_BYTES, RATE_BPS, RTT_S, 1500, "cubic")
    assert float(found) == pytest.approx((0.3 * 1000 / 7 / 0.4) ** (1 / 3))


def test_known_values() -> None:
    assert float(sawtooth(0, 1e6, 1).utilisation) == 0.75
    assert float(sawtooth(0, 1e6, 1, "cubic").utilisation) == pytest.approx(0.925)
    # f = 0.7 in a straight line: the mean of 0.7 to 1.
    assert float(sawtooth(0, 1e6, 1, "reno-friendly").utilisation) == pytest.approx(0.85)
    assert full_use_share("reno") == 1
    assert full_use_share("cubic") == pytest.approx(3 / 7)


@pytest.mark.parametrize("control", CONTROLS)
def test_the_link_never_idles_from_the_full_use_share_on(control: str) -> None:
    needed = full_use_share(control) * PATH_BYTES
    tooth = sawtooth(needed * np.array([0.999, 1, 1.001, 3]), RATE_BPS, RTT_S, control)
    assert tooth.utilisation[0] < 1
    assert tooth.utilisation[1:] == pytest.approx([1, 1, 1], abs=1e-15)
    assert tooth.least_delay_s[:2].tolist() == pytest.approx([0, 0], abs=1e-15)
    assert (tooth.least_delay_s[2:] > 0).all()


@given(st.floats(0, 1e6), st.floats(1.0, 10), st.sampled_from(CONTROLS))
def test_more_buffer_is_more_use_and_more_delay(share: float, more: float, control: str) -> None:
    tooth = sawtooth(np.array([share, share * more]) * PATH_BYTES, RATE_BPS, RTT_S, control)
    for field in (tooth.utilisation, tooth.mean_delay_s, tooth.full_delay_s, tooth.least_delay_s):
        assert field[1] >= field[0] * (1 - 1e-12) - 1e-15
    slack = 1e-12 * (RTT_S + tooth.full_delay_s)
    assert (tooth.least_delay_s <= tooth.mean_delay_s + slack).all()
    assert (tooth.mean_delay_s <= tooth.full_delay_s + slack).all()
    assert (tooth.utilisation <= 1).all()


def test_a_deep_buffer_holds_the_mean_of_the_tooth() -> None:
    # Where the path is nothing the window grows as √t: 2/3 (M³ - m³)/(M² - m²), 7/9 M for Reno.
    deep = sawtooth(1e6 * PATH_BYTES, RATE_BPS, RTT_S)
    assert float(deep.mean_delay_s / deep.full_delay_s) == pytest.approx(7 / 9, rel=1e-5)
    cubic = sawtooth(1e6 * PATH_BYTES, RATE_BPS, RTT_S, "cubic")
    assert float(cubic.mean_delay_s / cubic.full_delay_s) == pytest.approx(0.925, rel=1e-5)


def regions_by_steps(window: float, rtt: float) -> str:
    """Which of the two windows of RFC 9438 is ahead on the way back up, tried at many instants."""
    k = (0.3 * window / CUBIC_C) ** (1 / 3)
    t = np.linspace(0, k, 20001)[1:]
    cubic = CUBIC_C * (t - k) ** 3 + window
    line = 0.7 * window + FRIENDLY_ALPHA * t / rtt
    ahead = line > cubic
    return "reno-friendly" if ahead.all() else "mixed" if ahead.any() else "cubic"


@pytest.mark.parametrize("window", [10.0, 60, 200, 600, 5000])
@pytest.mark.parametrize("rtt", [0.002, 0.02, 0.06, 0.1, 0.2, 0.5])
def test_the_region_is_where_the_windows_say(window: float, rtt: float) -> None:
    assert cubic_region(window, rtt) == regions_by_steps(window, rtt)


def test_scalars_and_arrays() -> None:
    grid = sawtooth([[0], [PATH_BYTES]], [RATE_BPS, 2 * RATE_BPS], RTT_S)
    assert grid.utilisation.shape == (2, 2)
    assert grid.utilisation[1, 1] == sawtooth(PATH_BYTES, 2 * RATE_BPS, RTT_S).utilisation
    assert np.ndim(sawtooth(0, 1e6, 1).utilisation) == 0


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"buffer_bytes": -1}, "buffer_bytes"),
        ({"rate_bps": 0}, "rate_bps"),
        ({"rtt_s": float("nan")}, "rtt_s"),
        ({"control": "vegas"}, "control"),
        ({"buffer_bytes": [1, 2], "rtt_s": [1, 2, 3]}, "buffer_bytes"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        sawtooth(**{"buffer_bytes": 1e5, "rate_bps": 1e6, "rtt_s": 0.1} | arguments)
    assert raised.value.parameter == names


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("value", [1e-300, 1e300])
@pytest.mark.parametrize("name", ["buffer_bytes", "rate_bps", "rtt_s", "packet_bytes"])
def test_extremes_are_answered_or_refused(name: str, value: float, control: str) -> None:
    given = {"buffer_bytes": 1e5, "rate_bps": 1e6, "rtt_s": 0.1, "packet_bytes": 1500.0}
    try:
        figures = MODEL.evaluate(**(given | {name: value}), control=control)
    except ModelError:
        return
    assert all(np.isfinite(v) for v in figures.values() if isinstance(v, float))
    assert 0 < figures["utilisation"] <= 1


@pytest.mark.filterwarnings("error")
def test_the_region_of_any_window() -> None:
    assert cubic_region(5e-324, 0.1) == "reno-friendly"
    assert cubic_region(1.7e308, 5e-324) == "reno-friendly"
    assert cubic_region(1e9, 1.7e308) == "cubic"
    with pytest.raises(ParameterError, match="window_packets is a list"):
        cubic_region([1, 2], 0.1)  # type: ignore[arg-type]


def test_a_window_of_less_than_two_packets_is_refused() -> None:
    # 56 kbit/s and 10 ms are 70 bytes.
    given = {"rate_bps": 56e3, "rtt_s": 0.01, "packet_bytes": 1500.0}
    with pytest.raises(
        ParameterError, match=r"hold 0.0467 packets.* larger buffer_bytes"
    ) as raised:
        MODEL.evaluate(buffer_bytes=0.0, **given, control="reno")
    assert raised.value.parameter == "buffer_bytes"
    with pytest.raises(ParameterError, match=r"hold 1.05 packets"):
        window_packets([9000, 1500], **given)
    assert float(window_packets(2930, **given)) == 2.0
    assert MODEL.evaluate(buffer_bytes=2930.0, **given, control="reno")["utilisation"] == 1.0


def test_the_command_s_figures() -> None:
    given = {"buffer_bytes": 450e3, "rate_bps": 18e6, "rtt_s": 0.2, "packet_bytes": 1500.0}
    figures = MODEL.evaluate(**given, control="reno")
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["full_use_bytes"] == 450e3
    assert figures["window_packets"] == 600
    assert figures["cubic_region"] is None
    assert MODEL.evaluate(**given, control="cubic")["cubic_region"] == "cubic"
