"""The HTTP paper's exchanges: Table 1, and every named physical layer against its own airtime."""

from dataclasses import replace
from fractions import Fraction

import http_reference
import numpy as np
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.models import airtime
from airqueue.models.airtime import mac_overhead_bytes
from airqueue.models.catalogue import find
from airqueue.models.errors import ParameterError
from airqueue.models.http_constants import CONSTANTS_11A, CONSTANTS_11B, HttpConstants
from airqueue.models.http_timing import (
    DOT11A,
    DOT11B,
    HttpTiming,
    timing_for,
    timing_from,
    timing_of,
)
from airqueue.models.mesh_exchange import unrounded
from airqueue.models.phy_names import PHYS, phy
from airqueue.models.phys import Phy
from airqueue.models.rate_mix import tcp_cycle_s
from airqueue.models.tcp_capacity import collision, collision_free, single_station_bps

SEGMENTS = [1, 536, 1000, 1460, 2048]
MODELS = ("tcp-capacity", "tcp-window", "delayed-ack", "web-session", "page-time")


def names() -> list[str]:
    """Every name there is, but for other spellings of the same layer."""
    found = [*PHYS, "g-long-preamble", "g-long-slot-long-preamble"]
    guards = {"n": ("gi0.8", "sgi"), "ac": ("gi0.8", "sgi"), "ax": ("gi0.8", "gi1.6", "gi3.2")}
    for standard, widths, most in (
        ("n", (20, 40), 4),
        ("n-2.4", (20, 40), 4),
        ("n-2.4-long-slot", (20, 40), 4),
        ("ac", (20, 40, 80, 160), 8),
        ("ax", (20, 40, 80, 160), 8),
        ("ax-2.4", (20, 40), 8),
        ("ax-2.4-long-slot", (20, 40), 8),
    ):
        for width in widths:
            for streams in range(1, most + 1):
                for guard in guards[standard.split("-")[0]]:
                    found.append(f"{standard}-{width}mhz-{streams}ss-{guard}")
    return found


NAMES = names()


def test_exchange_times() -> None:
    assert float(DOT11B.data_exchange_s) == pytest.approx(1831.091e-6, abs=5e-10)
    assert float(DOT11B.ack_exchange_s) == pytest.approx(1103.818e-6, abs=5e-10)
    assert float(DOT11B.data_exchange_s) == pytest.approx(
        float(http_reference.exchange(8000)) * 1e-6, rel=1e-14
    )


def test_symbols_round_up_and_whole_ones_stay() -> None:
    # 54 Mb/s carries 216 bits per symbol of 4 µs.
    assert float(CONSTANTS_11A.frame_s(216 - 22, 54e6)) == pytest.approx(24e-6, rel=1e-12)
    assert float(CONSTANTS_11A.frame_s(216 - 21, 54e6)) == pytest.approx(28e-6, rel=1e-12)


def test_basic_access_leaves_out_rts_and_cts() -> None:
    basic = timing_from(HttpConstants(rts_cts=False))
    shorter = 2 * 192 + (180 + 112) / 2 + 2 * 10
    assert float(DOT11B.data_exchange_s - basic.data_exchange_s) == pytest.approx(shorter * 1e-6)
    assert float(DOT11B.collision_s) == pytest.approx(342e-6)
    assert float(basic.collision_s) == pytest.approx((50 + 192 + 8592 / 11 + 10) * 1e-6)
    # TCP ACKs so slow that they are the longer frame.
    slow = timing_from(HttpConstants(rts_cts=False, tcp_ack_rate_bps=0.5e6))
    assert float(slow.collision_s) == pytest.approx((50 + 192 + 592 / 0.5 + 10) * 1e-6)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """They agree, but for the last bits of a sum, wherever their shapes are broadcast."""
    np.testing.assert_allclose(*np.broadcast_arrays(found, expected), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_every_frame_lasts_as_long_as_its_layer_says(name: str) -> None:
    layer = phy(name)
    rates = np.array(layer.rates_bps)[:, np.newaxis]
    control = airtime.control_rate_bps(layer, rates)
    timing = timing_for(layer, rates, segment_bytes=SEGMENTS)
    headers = 40 + mac_overhead_bytes(layer)
    assert (timing.data.frame_s == airtime.frame_s(layer, np.add(SEGMENTS, headers), rates)).all()
    assert (timing.ack.frame_s == airtime.frame_s(layer, headers, rates)).all()
    rts, cts, ack = (
        airtime.control_frame_s(layer, octets, control) for octets in (160 // 8, 14, 14)
    )
    sifs, difs = layer.sifs_s, layer.sifs_s + 2 * layer.slot_s
    for exchange, total in (
        (timing.data, timing.data_exchange_s),
        (timing.ack, timing.ack_exchange_s),
    ):
        whole = difs + rts + sifs + cts + sifs + exchange.frame_s + sifs + ack
        same(total, whole)
    same(timing.collision_s, difs + rts + sifs)
    bare = difs + airtime.frame_s(layer, 40, rates) + sifs + ack
    same(timing.bare_exchange_s, bare)
    basic = timing_for(layer, rates, segment_bytes=SEGMENTS, access="basic")
    same(basic.data_exchange_s, difs + basic.data.frame_s + sifs + ack)
    same(basic.collision_s, difs + basic.data.frame_s + sifs)
    assert (timing.slot_s, timing.cw_min, timing.cw_max) == (
        layer.slot_s,
        layer.cw_min,
        layer.cw_max,
    )
    assert timing.aggregates is (name[0] == "n" or name[:2] in ("ac", "ax"))
    assert timing.ones.shape == (len(layer.rates_bps), len(SEGMENTS))


@pytest.mark.parametrize(
    ("name", "rate", "segment", "microseconds"),
    [
        # Preamble, and bits rounded up to whole microseconds.
        ("b-long", 11e6, 1000, 192 + 783),
        ("b-short", 5.5e6, 1000, 96 + 1566),
        # 22 bits more in symbols of 216 bits, and the signal extension of 2.4 GHz.
        ("a", 54e6, 1000, 20 + 4 * 40),
        ("g", 54e6, 1460, 26 + 4 * 57),
        # 40 MHz, 2 streams: 1080 bits per symbol of 3.6 µs on a grid of 4 µs, 6 µs of extension.
        ("n-2.4-40mhz-2ss-sgi", 300e6, 1460, 32 + 8 + 4 * 11 + 6),
        # 80 MHz, 2 streams, 256-QAM 5/6: 3120 bits, two encoders.
        ("ac-80mhz-2ss", 780e6, 1460, 36 + 8 + 4 * 4),
        # 20 MHz, 1024-QAM 5/6: 1950 bits per symbol of 13.6 µs.
        ("ax-20mhz-1ss", 143.4e6, 1460, Fraction("43.2") + 7 * Fraction("13.6")),
    ],
)
def test_frames_by_hand(name: str, rate: float, segment: int, microseconds: Fraction) -> None:
    timing = timing_for(phy(name), rate, segment_bytes=segment)
    assert float(timing.data.frame_s) == pytest.approx(float(microseconds) * 1e-6, rel=1e-12)


def constants_of(layer: Phy, rates: np.ndarray, **more: object) -> HttpConstants:
    """The closed form with the sizes of the standard instead of the paper's."""
    return HttpConstants(
        slot_s=layer.slot_s,
        sifs_s=layer.sifs_s,
        difs_s=layer.difs_s,
        data_rate_bps=rates,
        control_rate_bps=airtime.control_rate_bps(layer, rates),
        mac_bits=8 * 36,
        rts_bits=160,
        cw_min=layer.cw_min,
        **more,
    )


@pytest.mark.parametrize("access", ["rts-cts", "basic"])
@pytest.mark.parametrize("name", ["b-long", "b-short", "a", "g", "g-long-slot"])
def test_layers_that_the_closed_form_fits(name: str, access: str) -> None:
    """The paper's arithmetic with a layer's constants is the layer: two ways to the same timing."""
    layer = phy(name)
    if name.startswith("b"):
        layer = unrounded(layer)
        # At 1 Mb/s the preamble is always the long one.
        rates = np.array(layer.rates_bps[1:])
        shape = {"phy_header_s": 0.0, "preamble_s": 192e-6 if name == "b-long" else 96e-6}
    else:
        rates = np.array([6e6, 9e6, 12e6, 18e6, 24e6, 36e6, 48e6, 54e6])
        extension = 6e-6 if name.startswith("g") else 0.0
        shape = {"phy_header_s": 0.0, "preamble_s": 20e-6 + extension, "symbol_s": 4e-6}
    # `unrounded` rounds up to whole nanoseconds: up to one for each of four frames.
    most_s = 4e-9 if name.startswith("b") else 0.0
    more = {"tcp_bits": 8 * 1460, "rts_cts": access == "rts-cts", **shape}
    closed = timing_from(constants_of(layer, rates, **more))
    built = timing_for(layer, rates, segment_bytes=1460, access=access)
    for field in ("data_exchange_s", "ack_exchange_s", "bare_exchange_s", "collision_s"):
        np.testing.assert_allclose(getattr(built, field), getattr(closed, field), 1e-12, most_s)
    for model in (single_station_bps, lambda d, timing: collision(10, d, timing).aggregate_bps):
        # Two exchanges, of more than a millisecond together, are off by that much.
        np.testing.assert_allclose(model(2, built), model(2, closed), 1e-11 + 2 * most_s / 1e-3)


@pytest.mark.parametrize("name", ["b-long", "g", "a", "n-2.4-40mhz-2ss-sgi", "ac-80mhz-2ss", "ax"])
@pytest.mark.parametrize("d", [1, 2])
def test_one_download_without_contention_is_the_tcp_cycle(name: str, d: int) -> None:
    layer = phy(name)
    rates = np.array(layer.rates_bps)
    timing = timing_for(layer, rates, segment_bytes=1460, access="basic")
    cycle_s = tcp_cycle_s(layer, rates, 1460, segments_per_ack=d)
    np.testing.assert_allclose(
        collision_free(1, d, timing).aggregate_bps, 8 * 1460 / cycle_s, rtol=1e-13
    )


def test_each_direction_has_its_rates() -> None:
    layer = phy("a")
    timing = timing_for(layer, 54e6, tcp_ack_rate_bps=6e6)
    at_24, at_6 = (airtime.ack_s(layer, rate) for rate in (24e6, 6e6))
    assert float(timing.data.response_s) == pytest.approx(float(at_24 + 16e-6))
    assert float(timing.ack.response_s) == pytest.approx(float(at_6 + 16e-6))
    assert float(timing.ack.frame_s) == float(airtime.frame_s(layer, 76, 6e6))
    # The longer RTS is lost.
    assert float(timing.collision_s) == pytest.approx(
        float(34e-6 + airtime.rts_s(layer, 6e6) + 16e-6)
    )
    slow = timing_for(layer, 54e6, 6e6)
    assert float(slow.data.response_s) == float(slow.ack.response_s) == float(timing.ack.response_s)


def test_the_highest_rate_is_the_default() -> None:
    assert timing_for(phy("g")).data_rate_bps == 54e6
    assert timing_for(phy("ac-80mhz-2ss")).data_rate_bps == pytest.approx(780e6)


def test_windows_and_attempts_may_be_changed() -> None:
    timing = timing_for(phy("g"), cw_min=[[7], [15]], cw_max=63, attempts=4)
    assert timing.first_backoff_s == pytest.approx(np.array([[31.5e-6], [67.5e-6]]))
    assert (timing.attempts, timing.ones.shape) == (4, (2, 1))
    assert collision(3, [1, 2], timing).aggregate_bps.shape == (2, 2)


def test_timing_of_a_command() -> None:
    assert timing_of() == DOT11B
    assert timing_of(phy="802.11a") == DOT11A
    slow = timing_of(phy="802.11a", data_rate_bps=6e6, access="basic", segment_bytes=500)
    expected = replace(
        CONSTANTS_11A, data_rate_bps=6e6, tcp_ack_rate_bps=6e6, tcp_bits=4000, rts_cts=False
    )
    assert slow == timing_from(expected)
    apart = timing_of(data_rate_bps=5.5e6, tcp_ack_rate_bps=2e6, cw_max=511)
    expected = replace(CONSTANTS_11B, data_rate_bps=5.5e6, tcp_ack_rate_bps=2e6, cw_max=511)
    assert apart == timing_from(expected)
    named = timing_of(
        phy="g", data_rate_bps=24e6, control_rate_bps=6e6, segment_bytes=1460, access="basic"
    )
    assert named == timing_for(phy("g"), 24e6, 6e6, segment_bytes=1460, access="basic")
    assert timing_of(phy="n", cw_min=None, cw_max=255) == timing_for(phy("n"), cw_max=255)


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_that_aggregates_is_said_to(name: str) -> None:
    model = find(name)
    required = {"n_c": 3.0, "window": 4.0, "n": 5, "users": 4}
    given = {
        p.name: required[p.name] if p.required else p.default
        for p in model.parameters
        if p.name != "phy"
    }
    for layer in ("802.11b", "802.11a", "b-short", "g", "a"):
        assert model.evaluate(**given, phy=layer)["caution"] is None
    for layer in ("n", "ac-80mhz-2ss", "ax-2.4"):
        assert "aggregation" in str(model.evaluate(**given, phy=layer)["caution"])
    assert "aggregation" in model.valid


def test_the_help_lists_both_vocabularies() -> None:
    shown = CliRunner().invoke(main, ["model", "tcp-capacity", "--help"]).output
    words = " ".join(shown.split())
    for name in ("802.11b or 802.11a", "g-long-slot", "n-2.4-40mhz-2ss-sgi"):
        assert name in words


def test_a_command_takes_a_layer_by_name() -> None:
    arguments = ["model", "tcp-capacity", "n_c=1", "phy=g", "segment_bytes=1460B", "access=basic"]
    shown = CliRunner().invoke(main, [*arguments, "--json", "-"])
    assert shown.exit_code == 0, shown.output
    refused = CliRunner().invoke(main, [*arguments[:3], "phy=z"])
    assert refused.exit_code != 0
    assert "802.11b or 802.11a" in refused.stderr


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"slot_s": 0}, "slot_s"),
        ({"data_rate_bps": 0}, "data_rate_bps"),
        ({"sifs_s": -1e-6}, "sifs_s"),
        ({"tcp_bits": 0}, "tcp_bits"),
        ({"rts_bits": float("inf")}, "rts_bits"),
        ({"cw_min": 2}, "cw_min"),
        ({"cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"symbol_s": 1e300}, "symbol_s"),
        ({"symbol_s": [0, 1e-300]}, "symbol_s"),
        ({"slot_s": [1e-6, 2e-6], "sifs_s": [0, 0, 0]}, "slot_s"),
        ({"attempts": 0}, "attempts"),
    ],
)
def test_bad_constants_are_named(changes: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        HttpConstants(**changes)
    assert raised.value.parameter == names


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"data_rate_bps": 7e6}, "data_rate_bps"),
        ({"data_rate_bps": float("nan")}, "data_rate_bps"),
        ({"tcp_ack_rate_bps": 1e300}, "tcp_ack_rate_bps"),
        ({"control_rate_bps": 7e6}, "control_rate_bps"),
        ({"control_rate_bps": float("inf")}, "control_rate_bps"),
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"segment_bytes": 4095 - 75}, "segment_bytes"),
        ({"segment_bytes": [1, 2], "cw_min": [8, 16, 32]}, "data_rate_bps"),
        ({"access": "none"}, "access"),
        ({"cw_min": 2}, "cw_min"),
        ({"cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"cw_max": float("inf")}, "cw_max"),
        ({"attempts": 0}, "attempts"),
    ],
)
def test_bad_timing_of_a_layer_is_named(changes: dict[str, float], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        timing_for(phy("g"), **changes)
    assert raised.value.parameter == names


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"phy": "802.11z"}, "phy"),
        ({"phy": "n-7mhz"}, "width_mhz"),
        ({"segment_bytes": 0}, "segment_bytes"),
        ({"access": "none"}, "access"),
        ({"phy": "g", "data_rate_bps": 65e6}, "data_rate_bps"),
    ],
)
def test_a_bad_command_is_named(changes: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        timing_of(**changes)
    assert raised.value.parameter == names


def test_the_longest_frame_of_a_layer_with_aggregation() -> None:
    with pytest.raises(ParameterError, match=r"5\.484 ms"):
        timing_for(phy("n"), 6.5e6, segment_bytes=10_000)


def test_it_is_compared_by_value() -> None:
    assert isinstance(DOT11B, HttpTiming)
    assert replace(DOT11B, cw_min=15) != DOT11B
