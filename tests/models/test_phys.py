"""Physical layers: rates, constants, names; and the engine's answers against those of slow_radio."""

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import slow_radio
from hypothesis import given
from hypothesis import strategies as st
from slow_radio import Shape
from tables import rows

from airqueue._native import radio_choices, radio_standards
from airqueue.models.airtime import control_frame_s, control_rate_bps, eifs_s, frame_s
from airqueue.models.ampdu import largest_aggregate
from airqueue.models.errors import ParameterError
from airqueue.models.mesh_exchange import unrounded
from airqueue.models.phy_names import PHYS, phy
from airqueue.models.phys import Mode, Phy, dsss, erp, ofdm
from airqueue.models.phys_ht import he, ht, later, vht


@pytest.mark.parametrize("row", rows("phy_constants"), ids=lambda row: row["phy"])
def test_the_constants(row: dict[str, str]) -> None:
    layer = phy(row["phy"])
    assert layer.name == row["phy"]
    assert layer.slot_s == pytest.approx(float(row["slot_us"]) * 1e-6)
    assert layer.sifs_s == pytest.approx(float(row["sifs_us"]) * 1e-6)
    assert layer.difs_s == pytest.approx(float(row["difs_us"]) * 1e-6)
    # The table counts values.
    windows = (float(row["cw_min"]) - 1, float(row["cw_max"]) - 1)
    assert (layer.cw_min, layer.cw_max) == windows
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


def shapes() -> Iterator[Shape]:
    """Every layer of 802.11n and later that the engine has."""
    for standard, bands, has_choices in radio_standards():
        for band in bands if has_choices else ():
            choices = radio_choices(standard, band)
            for mhz, streams, guard_ns in product(
                choices.widths_mhz, range(1, choices.most_streams + 1), choices.guard_intervals_ns
            ):
                guard_us = Fraction(guard_ns, 1_000)
                yield Shape(standard.removeprefix("802.11"), streams, mhz, guard_us, band)


@pytest.mark.parametrize(
    ("standard", "band", "widths_mhz", "streams", "guards_ns"),
    [
        ("802.11n", "5", [20, 40], 4, [800, 400]),
        ("802.11n", "2.4", [20, 40], 4, [800, 400]),
        ("802.11ac", "5", [20, 40, 80, 160], 8, [800, 400]),
        ("802.11ax", "5", [20, 40, 80, 160], 8, [800, 1_600, 3_200]),
        ("802.11ax", "2.4", [20, 40], 8, [800, 1_600, 3_200]),
    ],
)
def test_what_can_be_chosen(
    standard: str, band: str, widths_mhz: list[int], streams: int, guards_ns: list[int]
) -> None:
    choices = radio_choices(standard, band)
    assert choices.widths_mhz == widths_mhz
    assert (choices.most_streams, choices.guard_intervals_ns) == (streams, guards_ns)


def named(shape: Shape) -> Phy:
    where = "-2.4" if shape.band == "2.4" else ""
    guard = float(shape.guard_us)
    return phy(f"{shape.standard}{where}-{shape.mhz}mhz-{shape.streams}ss-gi{guard}")


NANOSECOND = Fraction(1, 1_000)
LAYERS = {
    layer.name: (layer, slow)
    for layer, slow in (
        (phy("b-long"), slow_radio.b()),
        (phy("b-short"), slow_radio.b("short")),
        (replace(unrounded(phy("b-long")), name="ns-2"), slow_radio.b("long", NANOSECOND)),
        (
            replace(unrounded(phy("b-short")), name="ns-2 short"),
            slow_radio.b("short", NANOSECOND),
        ),
        (phy("a"), slow_radio.a()),
        (phy("g"), slow_radio.g()),
        (phy("g-long-slot"), slow_radio.g(20)),
        (phy("g-long-preamble"), slow_radio.g(9, "long")),
        *((named(shape), slow_radio.later(shape)) for shape in shapes()),
    )
}


def seconds(microseconds: Fraction) -> float:
    """The float nearest to a time: what an exact answer in whole nanoseconds is."""
    return float(microseconds / 1_000_000)


@pytest.mark.parametrize("name", LAYERS)
def test_constants_rates_and_responses(name: str) -> None:
    layer, slow = LAYERS[name]
    assert layer.rates_bps == tuple(float(mode.mbps * 1_000_000) for mode in slow.modes)
    assert (layer.slot_s, layer.sifs_s) == (slow.slot_us / 1e6, slow.sifs_us / 1e6)
    # The oracle counts the values of a window, of which 0 is one.
    assert (layer.cw_min + 1, layer.cw_max + 1) == (slow.cw_min, slow.cw_max)
    assert (layer.max_mpdus, layer.max_psdu_bytes) == (slow.max_mpdus, slow.max_bytes)
    assert layer.basic_rates_bps == tuple(float(rate * 1_000_000) for rate in slow.basic_mbps)
    assert eifs_s(layer) == seconds(slow.eifs_us())
    answers = [float(slow.response(mode).mbps * 1_000_000) for mode in slow.modes]
    assert control_rate_bps(layer, layer.rates_bps).tolist() == answers


@pytest.mark.parametrize("name", ["b-short", "a", "g", "n-2.4-20mhz-1ss-gi0.8"])
def test_responses_under_other_basic_rates(name: str) -> None:
    layer, slow = LAYERS[name]
    rates = [mode.mbps for mode in slow.control]
    for basic in (*combinations(rates, 1), *combinations(rates, 2)):
        variant = replace(layer, basic_rates_bps=tuple(float(rate * 1_000_000) for rate in basic))
        answers = [float(slow.response(mode, basic).mbps * 1_000_000) for mode in slow.modes]
        assert control_rate_bps(variant, variant.rates_bps).tolist() == answers


@given(st.data())
def test_durations_of_frames(data: st.DataObject) -> None:
    layer, slow = LAYERS[data.draw(st.sampled_from(sorted(LAYERS)))]
    eighths = data.draw(st.integers(1, 8 * min(slow.max_bytes, 65_535)))
    size = Fraction(eighths, 8) if data.draw(st.booleans()) else Fraction(eighths // 8 + 1)
    size = min(size, Fraction(slow.max_bytes))
    found = frame_s(layer, float(size), layer.rates_bps)
    assert found.tolist() == [seconds(mode.frame_us(size)) for mode in slow.modes]
    size = min(size, Fraction(4_095))
    rates = [float(mode.mbps * 1_000_000) for mode in slow.control]
    found = control_frame_s(layer, float(size), rates)
    assert found.tolist() == [seconds(mode.frame_us(size)) for mode in slow.control]


@pytest.mark.parametrize("name", ["b-long", "g", "n-40mhz-4ss-gi0.4", "ac-80mhz-2ss-gi0.4"])
def test_durations_of_frames_of_every_size(name: str) -> None:
    layer, slow = LAYERS[name]
    sizes = np.arange(1, 4_096)
    for mode, rate in zip(slow.modes, layer.rates_bps, strict=True):
        expected = [seconds(mode.frame_us(int(size))) for size in sizes]
        assert frame_s(layer, sizes.astype(float), rate).tolist() == expected


@given(st.data())
def test_the_largest_aggregates(data: st.DataObject) -> None:
    names = sorted(name for name, (_, slow) in LAYERS.items() if slow.max_mpdus > 1)
    layer, slow = LAYERS[data.draw(st.sampled_from(names))]
    place = data.draw(st.integers(0, len(slow.modes) - 1))
    size = data.draw(st.integers(1, 12_000))
    most = data.draw(st.integers(1, slow.max_mpdus))
    most_bytes = data.draw(st.integers(1, slow.max_bytes))
    microseconds = data.draw(st.sampled_from([200, 1_000, 5_484]))
    found = largest_aggregate(
        layer,
        size,
        layer.rates_bps[place],
        max_mpdus=most,
        max_bytes=most_bytes,
        max_ppdu_s=microseconds * 1e-6,
    )
    mode = slow.modes[place]
    assert found == slow.most_mpdus(mode, size, most, most_bytes, Fraction(microseconds))


@pytest.mark.parametrize("band", ["5", "2.4"])
@pytest.mark.parametrize(
    ("guard", "ltf", "extension_us"),
    [("0.8", "12.8", 16), ("0.8", "6.4", 4), ("3.2", "6.4", 0), ("1.6", None, 12)],
)
def test_he_with_other_training_and_a_packet_extension(
    band: str, guard: str, ltf: str | None, extension_us: int
) -> None:
    layer = he(
        2,
        40,
        float(guard) * 1e-6,
        band,
        ltf_s=None if ltf is None else float(ltf) * 1e-6,
        packet_extension_s=extension_us * 1e-6,
    )
    ltf_us = None if ltf is None else Fraction(ltf)
    shape = Shape("ax", 2, 40, Fraction(guard), band, ltf_us, extension_us)
    slow = slow_radio.later(shape)
    found = frame_s(layer, 1_538, layer.rates_bps)
    assert found.tolist() == [seconds(mode.frame_us(1_538)) for mode in slow.modes]


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


@pytest.mark.parametrize("standard", ["802.11n", "802.11ac"])
def test_training_symbols_of_other_lengths_are_of_later_standards(standard: str) -> None:
    with pytest.raises(ParameterError, match="ltf_s is of later standards; leave it out"):
        later(standard, ltf_s=6.4e-6)


def test_order_of_options_does_not_matter() -> None:
    one, two = phy("n-2.4-40mhz-2ss-sgi"), phy("n-sgi-2ss-40mhz-2.4")
    assert replace(one, name="") == replace(two, name="")
    assert phy("n-2.4-long-slot").slot_s == 20e-6
    assert phy("g-short-preamble") == replace(phy("g"), name="g-short-preamble")


@pytest.mark.parametrize("name", ["b-short", "g-long-slot", "ax-80mhz-2ss-gi1.6"])
def test_copies_are_equal(name: str) -> None:
    layer = replace(phy(name), slot_s=30e-6, basic_rates_bps=phy(name).basic_rates_bps[:1])
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), replace(layer)):
        assert same == layer
        assert hash(same) == hash(layer)
        assert eifs_s(same) == eifs_s(layer)
    assert layer != phy(name)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"basic_rates_bps": (54.5e6,)}, "basic_rates_bps"),
        ({"basic_rates_bps": ()}, "basic_rates_bps"),
        ({"slot_s": -1e-6}, "slot_s"),
        ({"sifs_s": float("nan")}, "sifs_s"),
        ({"cw_min": -1}, "cw_min"),
        ({"cw_min": 63, "cw_max": 31}, "cw_max"),
        ({"cw_max": 1e300}, "cw_max"),
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
        (lambda: erp(preamble="middle"), "preamble"),
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
