"""Physical layers: rates, constants, names, and each frame's time by the standard's equations."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from airqueue.models.airtime import control_frame_s, frame_s
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import PHYS, phy
from airqueue.models.phys import Mode, Phy, dsss, erp, ofdm
from airqueue.models.phys_ht import he, ht, vht


@pytest.mark.parametrize("row", rows("phy_constants"), ids=lambda row: row["phy"])
def test_the_constants(row: dict[str, str]) -> None:
    layer = phy(row["phy"])
    assert layer.name == row["phy"]
    assert layer.slot_s == pytest.approx(float(row["slot_us"]) * 1e-6)
    assert layer.sifs_s == pytest.approx(float(row["sifs_us"]) * 1e-6)
    assert layer.difs_s == pytest.approx(float(row["difs_us"]) * 1e-6)
    assert (layer.cw_min, layer.cw_max) == (float(row["cw_min"]), float(row["cw_max"]))
    assert layer.modes[-1].overhead_ns == float(row["preamble_us"]) * 1000


@pytest.mark.parametrize("row", rows("rates"), ids=lambda row: row["phy"])
def test_the_rates_as_the_standard_prints_them(row: dict[str, str]) -> None:
    printed = [float(rate) for rate in row["rates_mbps"].split()]
    rates = [rate / 1e6 for rate in phy(row["phy"]).rates_bps]
    assert rates == pytest.approx(printed, abs=0.05 + 1e-9)
    assert (frame_s(phy(row["phy"]), 100, np.multiply(printed, 1e6)) > 0).all()


def test_the_combinations_that_802_11ac_has_not() -> None:
    gone = {
        (width, streams): 10 - len(vht(streams, width).modes)
        for width in (20, 40, 80, 160)
        for streams in range(1, 9)
    }
    without = {(20, streams) for streams in (1, 2, 4, 5, 7, 8)} | {(80, 3), (80, 6), (80, 7)}
    assert {key for key, count in gone.items() if count} == without | {(160, 3)}
    assert max(gone.values()) == 1


SIZES = st.integers(1, 65_535)
NON_HT_SIZES = st.integers(1, 4_095)
GUARDS = {"gi0.8": Fraction(8, 10), "sgi": Fraction(4, 10)}
CARRIERS = {"n": {20: 52, 40: 108}, "ac": {20: 52, 40: 108, 80: 234, 160: 468}}
HE_CARRIERS = {20: 234, 40: 468, 80: 980, 160: 1960}
LTFS = {1: 1, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}
CODES = ["1/2", "1/2", "3/4", "1/2", "3/4", "2/3", "3/4", "5/6", "3/4", "5/6", "3/4", "5/6"]
BITS = [1, 2, 2, 4, 4, 6, 6, 6, 8, 8, 10, 10]
MCS = [(bits, Fraction(code)) for bits, code in zip(BITS, CODES, strict=True)]


def same(layer: Phy, size: int, rate_bps: float, microseconds: Fraction) -> None:
    assert float(frame_s(layer, size, rate_bps)) == pytest.approx(float(microseconds) * 1e-6)


@given(NON_HT_SIZES, st.sampled_from(["1", "2", "5.5", "11"]), st.sampled_from(["long", "short"]))
def test_dsss(size: int, rate: str, preamble: str) -> None:
    head = 192 if preamble == "long" or rate == "1" else 96
    same(dsss(preamble), size, float(rate) * 1e6, head + Fraction(ceil(8 * size / Fraction(rate))))


@given(NON_HT_SIZES, st.sampled_from([6, 9, 12, 18, 24, 36, 48, 54]))
def test_ofdm(size: int, rate: int) -> None:
    time = Fraction(20 + 4 * ceil(Fraction(16 + 8 * size + 6, 4 * rate)))
    same(ofdm(), size, rate * 1e6, time)
    same(erp(), size, rate * 1e6, time + 6)


@given(
    SIZES,
    st.integers(0, 7),
    st.integers(1, 4),
    st.sampled_from([20, 40]),
    st.sampled_from([("gi0.8", ""), ("sgi", ""), ("gi0.8", "-2.4"), ("sgi", "-2.4")]),
)
def test_ht(size: int, mcs: int, streams: int, width: int, variant: tuple[str, str]) -> None:
    guard, band = variant
    bits, code = MCS[mcs]
    per_symbol = CARRIERS["n"][width] * bits * code * streams
    # Tables 19-27 to 19-41: the second encoder comes with 324 Mb/s at the long guard interval.
    encoders = 2 if per_symbol / 4 >= 324 else 1
    symbols = ceil((16 + 8 * size + 6 * encoders) / per_symbol)
    on_air = symbols * (Fraction(32, 10) + GUARDS[guard])
    time = 32 + 4 * LTFS[streams] + 4 * ceil(on_air / 4) + (6 if band else 0)
    layer = phy(f"n{band}-{width}mhz-{streams}ss-{guard}")
    same(
        layer, size, float(per_symbol / (Fraction(32, 10) + GUARDS[guard]) * 10**6), Fraction(time)
    )


@given(SIZES, st.integers(0, 8), st.integers(1, 2), st.sampled_from([20, 40, 80, 160]))
def test_vht(size: int, mcs: int, streams: int, width: int) -> None:
    bits, code = MCS[mcs]
    per_symbol = CARRIERS["ac"][width] * bits * code * streams
    encoders = ceil(per_symbol / 4 / 540)
    symbols = ceil((16 + 8 * size + 6 * encoders) / per_symbol)
    time = 36 + 4 * LTFS[streams] + 4 * ceil(symbols * Fraction(36, 40))
    layer = phy(f"ac-{width}mhz-{streams}ss-sgi")
    same(layer, size, float(per_symbol / Fraction(36, 10) * 10**6), Fraction(time))


@given(
    SIZES,
    st.integers(0, 11),
    st.integers(1, 8),
    st.sampled_from([20, 40, 80, 160]),
    st.sampled_from(["0.8", "1.6", "3.2"]),
)
def test_he(size: int, mcs: int, streams: int, width: int, guard: str) -> None:
    bits, code = MCS[mcs]
    per_symbol = HE_CARRIERS[width] * bits * code * streams
    symbols = ceil(Fraction(16 + 8 * size + 6, floor(per_symbol)))
    training = Fraction("12.8") if guard == "3.2" else Fraction("6.4")
    symbol = Fraction("12.8") + Fraction(guard)
    time = 36 + LTFS[streams] * (training + Fraction(guard)) + symbols * symbol
    layer = phy(f"ax-{width}mhz-{streams}ss-gi{guard}")
    same(layer, size, float(per_symbol / symbol * 10**6), time)


def test_he_with_a_packet_extension_and_longer_training() -> None:
    plain, longer = he(2), he(2, ltf_s=12.8e-6, packet_extension_s=16e-6)
    assert frame_s(longer, 100, 17.2e6) - frame_s(plain, 100, 17.2e6) == pytest.approx(28.8e-6)


@pytest.mark.parametrize("name", PHYS)
def test_control_frames_are_those_of_the_layers_without_aggregation(name: str) -> None:
    layer = PHYS[name]
    legacy = {"5": ofdm(), "2.4": erp()}[layer.band] if layer.max_mpdus > 1 else layer
    for rate in legacy.rates_bps:
        assert control_frame_s(layer, 14, rate) == frame_s(legacy, 14, rate)


NO_NAMES = """
    d b-5 a-long n-4 n-long-slot n-9ss n-0ss ac-2.4 ac-21mhz ax-2.4-80mhz ax-sgi n-gi1.6 n-2ss-3ss
    g- -g gg ac-99999999999999mhz
"""


@pytest.mark.parametrize("name", ["", *NO_NAMES.split()])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ParameterError, match=r"must be|add the option"):
        phy(name)


def test_order_of_options_does_not_matter() -> None:
    one, two = phy("n-2.4-40mhz-2ss-sgi"), phy("n-sgi-2ss-40mhz-2.4")
    assert replace(one, name="") == replace(two, name="")
    assert phy("n-2.4-long-slot").slot_s == 20e-6
    assert phy("g-short-preamble") == replace(phy("g"), name="g-short-preamble")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"basic_rates_bps": (54.5e6,)}, "basic_rates_bps"),
        ({"basic_rates_bps": ()}, "basic_rates_bps"),
        ({"slot_s": -1e-6}, "slot_s"),
        ({"sifs_s": float("nan")}, "sifs_s"),
        ({"cw_min": 0}, "cw_min"),
        ({"cw_min": 64, "cw_max": 32}, "cw_max"),
    ],
)
def test_variants_are_checked(change: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        replace(ofdm(), **change)
    assert raised.value.parameter == names


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda: dsss("middle"), "preamble"),
        (lambda: ht(5), "streams"),
        (lambda: ht(1.5), "streams"),
        (lambda: ht(1, 80), "width_mhz"),
        (lambda: ht(1, 20, 0.5e-6), "guard_interval_s"),
        (lambda: ht(1, 20, 0.8e-6, "60"), "band"),
        (lambda: vht(9), "streams"),
        (lambda: he(1, 80, band="2.4"), "width_mhz"),
        (lambda: he(ltf_s=1e-6), "ltf_s"),
        (lambda: he(packet_extension_s=5e-6), "packet_extension_s"),
    ],
)
def test_layers_that_are_none(build: object, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        build()
    assert raised.value.parameter == names


def test_every_mode_has_the_rate_of_its_symbols() -> None:
    for layer in PHYS.values():
        for mode in layer.modes:
            rate = mode.bits_per_symbol / mode.symbol_ns * 1e9
            # Only 802.11ax rounds the bits of a symbol down.
            assert mode.rate_bps == pytest.approx(rate, rel=1e-4)
            assert isinstance(mode, Mode)
