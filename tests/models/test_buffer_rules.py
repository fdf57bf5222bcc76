"""Rules of thumb: the papers' numbers, slow evaluations, and what each promises."""

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.buffer_rules import (
    ENOUGH_FLOWS,
    MODEL,
    TINY_PACKETS,
    TINY_UTILISATION,
    bandwidth_delay_bytes,
    desynchronised_utilisation,
    many_flows_bytes,
    packets_of,
    rule,
    single_flow_bytes,
    tiny_packets,
    tiny_utilisation,
)
from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.sawtooth import window_packets


def test_the_guideline_of_the_apq_paper() -> None:
    # 18 Mb/s for 0.2 s in packets of 1500 bytes; with the flows of a busy access point below 30.
    assert float(rule(18e6, 0.2).buffer_packets) == 300
    assert float(rule(18e6, 0.2, ENOUGH_FLOWS).buffer_packets) < 30
    assert float(many_flows_bytes(18e6, 0.2, 200)) / 1500 == pytest.approx(300 / 200**0.5)


def test_one_flow_by_its_decrease() -> None:
    assert float(single_flow_bytes(18e6, 0.2)) == float(bandwidth_delay_bytes(18e6, 0.2)) == 450e3
    assert float(single_flow_bytes(18e6, 0.2, "cubic")) == pytest.approx(450e3 * 3 / 7)


@pytest.mark.parametrize("flows", [1, 10, 300, 10_000])
@pytest.mark.parametrize("share", [0.001, 0.05, 1])
def test_independent_flows_by_the_normal_distribution(flows: int, share: float) -> None:
    """P(|sum - mean| < B/2), by mpmath's integral of the density, from the spread of one window."""
    path = mpmath.mpf(1000)
    buffer = path * share
    mean = (path + buffer) / flows
    # One window, even between 2/3 and 4/3 of its mean: variance (width)²/12.
    variance = flows * (mean * mpmath.mpf(2) / 3) ** 2 / 12

    def density(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-(x**2) / (2 * variance)) / mpmath.sqrt(2 * mpmath.pi * variance)

    spread = mpmath.sqrt(variance)
    edge = min(buffer / 2, 12 * spread)
    inside = mpmath.quad(density, mpmath.linspace(-edge, edge, 9))
    found = desynchronised_utilisation(float(buffer), 8e3, 1.0, flows)
    assert float(found) == pytest.approx(float(inside), abs=1e-12)


def test_independent_flows_by_drawing_windows() -> None:
    """Sums of windows drawn evenly: the link is used more than the bound says."""
    rng = np.random.default_rng(7)
    flows, path = 400, 10_000.0
    for factor in (0.5, 1.0, 1.5):
        buffer = factor * path / flows**0.5
        mean = (path + buffer / 2) / flows
        sums = rng.uniform(2 / 3, 4 / 3, (4000, flows)).sum(axis=1) * mean
        used = np.minimum(sums, path).mean() / path
        bound = float(desynchronised_utilisation(buffer, 8 * path, 1.0, flows))
        assert bound < used


def test_appenzeller_s_rule_keeps_the_link_busy() -> None:
    # 99 % at the rule, ten thousand flows; the rest of a percent half as far again beyond it.
    path = 1e6
    found = desynchronised_utilisation([path / 100, 1.5 * path / 100], 8 * path, 1.0, 1e4)
    assert float(found[0]) == pytest.approx(0.9899, abs=5e-5)
    assert found[1] > 0.9998


def test_tiny_buffers_by_their_bound() -> None:
    for window, load, theta in ((64, 0.5, 0.9), (12, 0.8, 0.99), (1000, 0.95, 0.5)):
        needed = float(tiny_packets(window, load, theta))
        expected = mpmath.log(mpmath.mpf(window) ** 2 / (2 * (1 - mpmath.mpf(theta)))) / mpmath.log(
            1 / mpmath.mpf(load)
        )
        assert needed == pytest.approx(float(expected), rel=1e-12)
        # At the bound the drops cost what they may: ρ^B W²/2 = 1 - θ.
        assert load**needed * window**2 / 2 == pytest.approx(1 - theta)
        assert float(tiny_utilisation(needed, window, load)) == pytest.approx(load * theta)


def test_tiny_buffers_grow_with_the_logarithm_of_the_window() -> None:
    needed = tiny_packets([16, 256, 4096], 0.5, 0.9)
    assert np.diff(needed).tolist() == pytest.approx([8, 8])


def test_what_the_simulations_of_tiny_buffers_promise_needs_a_load_to_spare() -> None:
    # 85 to 90 % cannot be promised for a load below it; with windows of 12 packets or so (17520-byte
    # receivers) the theorem itself needs more than was simulated: it is a bound, and says so.
    for packets in TINY_PACKETS:
        for used in TINY_UTILISATION:
            # ρ^B W²/2 is above 1, so no share θ is promised at all.
            assert used**packets * 12**2 / 2 > 1
            assert float(tiny_utilisation(packets, 12, used)) == 0
    assert float(tiny_utilisation(0, 12, 0.9)) == 0


def test_whole_packets() -> None:
    sizes = [0, 1, 1500, 1500.0001, 3000, 0.3 * 1500 * 10]
    assert packets_of(sizes).tolist() == [1, 1, 1, 2, 2, 3]
    assert float(packets_of(10, 3)) == 4


@given(
    st.floats(1e4, 1e10), st.floats(1e-4, 10), st.floats(1, 1e4), st.sampled_from(["reno", "cubic"])
)
def test_a_rule_s_figures_fit_together(rate: float, rtt: float, flows: float, control: str) -> None:
    one, many = rule(rate, rtt, 1, control), rule(rate, rtt, flows, control)
    assert many.buffer_bytes == pytest.approx(float(one.buffer_bytes) / flows**0.5)
    for found in (one, many):
        assert found.buffer_packets * 1500 >= found.buffer_bytes * (1 - 1e-9)
        assert found.full_delay_s == pytest.approx(float(found.buffer_packets) * 12e3 / rate)
    assert one.utilisation_at_least == pytest.approx(1)
    assert 0.75 <= many.utilisation_at_least <= 1


def test_arrays_broadcast() -> None:
    found = rule([[6e6], [54e6]], 0.1, [1, 4, 100])
    assert found.buffer_packets.shape == found.utilisation_at_least.shape == (2, 3)
    assert found.buffer_packets[0, 1] == rule(6e6, 0.1, 4).buffer_packets


@pytest.mark.parametrize(
    ("function", "arguments", "names"),
    [
        (bandwidth_delay_bytes, (0, 1), "rate_bps"),
        (bandwidth_delay_bytes, ([1, 2], [1, 2, 3]), "rate_bps"),
        (single_flow_bytes, (1e6, -1), "rtt_s"),
        (single_flow_bytes, (1e6, 1, "bbr"), "control"),
        (many_flows_bytes, (1e6, 1, 0.5), "flows"),
        (desynchronised_utilisation, (-1, 1e6, 1, 5), "buffer_bytes"),
        (tiny_packets, (1, 0.5), "window_packets"),
        (tiny_packets, (10, 1), "load"),
        (tiny_packets, (10, 0.5, 1), "effective_utilisation"),
        (tiny_utilisation, (-1, 10, 0.5), "buffer_packets"),
        (packets_of, (-1,), "size_bytes"),
        (packets_of, (1, 0), "packet_bytes"),
        (rule, (1e6, 1, float("inf")), "flows"),
    ],
)
def test_bad_input_is_named(function: Any, arguments: tuple[Any, ...], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        function(*arguments)
    assert raised.value.parameter == names


def defaults(**given: Any) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in MODEL.parameters} | given


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e-300, 0.999999999999, 1e300])
@pytest.mark.parametrize("name", [p.name for p in MODEL.parameters if p.name != "control"])
def test_extremes_are_answered_or_refused(name: str, value: float) -> None:
    try:
        figures = MODEL.evaluate(**defaults(**{name: value}))
    except ModelError:
        return
    assert all(
        figure is None or isinstance(figure, str) or np.isfinite(figure)
        for figure in figures.values()
    )


@pytest.mark.parametrize("rtt_s", [1e-5, 5e-4, 6.6e-4, 6.7e-4, 1e-3, 0.2])
@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_there_is_no_utilisation_where_there_is_no_saw_tooth(rtt_s: float, control: str) -> None:
    """The figure is there exactly where `sawtooth` computes one for the rule's buffer."""
    figures = MODEL.evaluate(**defaults(rtt_s=rtt_s, control=control))
    try:
        window_packets(1500 * figures["bdp_packets"], 18e6, rtt_s, 1500)
    except ParameterError:
        assert figures["bdp_utilisation"] is None
        assert figures["many_utilisation"] is None
        assert "timeouts" in figures["caution"]
    else:
        assert figures["bdp_utilisation"] is not None
        assert figures["caution"] is None


def test_small_windows_of_many_flows_are_warned_of() -> None:
    """300 packets in flight and 19 in the buffer are 1.28 for each of 250 flows."""
    assert "hold 1.28 packets for each flow" in MODEL.evaluate(**defaults(flows=250))["caution"]
    assert MODEL.evaluate(**defaults(flows=100))["caution"] is None


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**defaults(flows=250))
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["bdp_packets"] == 300
    assert figures["many_packets"] == 19
    assert figures["tiny_utilisation"] == pytest.approx(0.855)
    assert figures["tiny_delay_s"] == pytest.approx(figures["tiny_packets"] * 12e3 / 18e6)
