"""Airtime of frames and exchanges: the worked numbers, sums of parts, and what is refused."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

from airqueue.models import airtime
from airqueue.models.airtime import (
    MODEL,
    ack_timeout_s,
    control_rate_bps,
    eifs_s,
    exchange,
    exchange_s,
)
from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.phy_names import PHYS, phy


@pytest.mark.parametrize("row", rows("airtime"), ids=lambda row: "-".join(row.values()))
def test_the_worked_numbers(row: dict[str, str]) -> None:
    layer, size = phy(row["phy"]), int(row["bytes"])
    measure = airtime.frame_s if row["frame"] == "data" else airtime.control_frame_s
    seconds = measure(layer, size, float(row["rate_mbps"]) * 1e6)
    assert float(seconds) == pytest.approx(float(row["airtime_us"]) * 1e-6, abs=1e-12)


def test_frames_by_name() -> None:
    b, a = phy("b-long"), phy("a")
    assert airtime.rts_s(b, 2e6) == airtime.control_frame_s(b, 20, 2e6)
    assert airtime.cts_s(b, 2e6) == airtime.ack_s(b, 2e6) == airtime.control_frame_s(b, 14, 2e6)
    assert airtime.block_ack_s(a, 24e6, [1, 64, 65, 256]).tolist() == [32e-6, 32e-6, 40e-6, 40e-6]


def test_eifs_and_ack_timeout() -> None:
    assert eifs_s(phy("b-long")) == pytest.approx(364e-6)
    assert eifs_s(phy("b-short")) == pytest.approx(364e-6)
    assert eifs_s(phy("a")) == pytest.approx((16 + 44 + 34) * 1e-6)
    assert ack_timeout_s(phy("b-long")) == pytest.approx((10 + 20 + 192) * 1e-6)
    assert ack_timeout_s(phy("b-short")) == pytest.approx((10 + 20 + 96) * 1e-6)
    assert ack_timeout_s(phy("a")) == pytest.approx((16 + 9 + 20) * 1e-6)


def test_interframe_spaces() -> None:
    layer = phy("a")
    assert layer.difs_s == pytest.approx(34e-6)
    assert layer.aifs_s([1, 2, 3, 7]) == pytest.approx([25e-6, 34e-6, 43e-6, 79e-6])
    assert airtime.mean_backoff_s(layer) == pytest.approx(67.5e-6)
    assert airtime.mean_backoff_s(phy("b-long")) == pytest.approx(310e-6)


@pytest.mark.parametrize(
    ("name", "rate_mbps", "response_mbps"),
    [
        ("b-long", [1, 2, 5.5, 11], [1, 2, 2, 2]),
        ("a", [6, 9, 12, 18, 24, 36, 48, 54], [6, 6, 12, 12, 24, 24, 24, 24]),
        # A frame of 802.11b is answered at a rate of 802.11b, although the basic rates have none.
        ("g", [1, 2, 5.5, 11, 6, 54], [1, 2, 5.5, 11, 6, 24]),
        # By modulation: MCS 0 as 6 Mb/s, 1 as 12, 2 as 18, 3 and more as 24 or above.
        ("n", [6.5, 13, 19.5, 26, 65], [6, 12, 12, 24, 24]),
        ("n-40mhz-4ss-sgi", [60, 120, 180, 240, 600], [6, 12, 12, 24, 24]),
    ],
)
def test_the_rate_of_the_response(
    name: str, rate_mbps: list[float], response_mbps: list[float]
) -> None:
    response = control_rate_bps(phy(name), np.multiply(rate_mbps, 1e6))
    assert response.tolist() == [rate * 1e6 for rate in response_mbps]


def test_the_rate_of_the_response_where_the_basic_rates_are_higher() -> None:
    layer = replace(phy("a"), basic_rates_bps=(24e6,))
    assert control_rate_bps(layer, [6e6, 9e6, 18e6, 54e6]).tolist() == [6e6, 6e6, 12e6, 24e6]


@pytest.mark.parametrize("protection", airtime.PROTECTIONS)
@pytest.mark.parametrize("name", PHYS)
def test_an_exchange_is_the_sum_of_its_parts(name: str, protection: str) -> None:
    layer = PHYS[name]
    rate = np.array(layer.rates_bps)
    parts = exchange(layer, [[100], [1500]], rate, protection=protection, aifsn=3)
    total = sum(getattr(parts, field.name) for field in fields(parts))
    assert parts.total_s == pytest.approx(total)
    response = control_rate_bps(layer, rate)
    sifs, ack = layer.sifs_s, airtime.ack_s(layer, response)
    around = layer.aifs_s(3) + airtime.mean_backoff_s(layer) + sifs + ack
    # Where 802.11b stations may be about, OFDM is announced in what they understand: 11 Mb/s.
    in_ofdm = ~np.isin(rate, [1e6, 2e6, 5.5e6, 11e6])
    announced = np.where(in_ofdm & (layer.band == "2.4"), 11e6, response)
    front = {
        "none": 0,
        "cts-to-self": airtime.cts_s(layer, announced) + sifs,
        "rts": airtime.rts_s(layer, announced) + airtime.cts_s(layer, announced) + 2 * sifs,
    }[protection]
    frame = airtime.frame_s(layer, [[100], [1500]], rate)
    assert parts.total_s == pytest.approx(around + front + frame)
    assert parts.total_s.shape == (2, len(rate))


@pytest.mark.parametrize("name", ["g", "g-long-slot", "n-2.4", "ax-2.4"])
def test_protection_is_in_a_rate_of_the_stations_that_it_is_for(name: str) -> None:
    layer = PHYS[name]
    highest = layer.rates_bps[-1]
    for protection in ("rts", "cts-to-self"):
        plain = exchange(layer, 1500, highest, protection=protection)
        given = exchange(layer, 1500, highest, protection=protection, protection_rate_bps=11e6)
        assert plain.protection_s == given.protection_s
        # The acknowledgement stays in OFDM.
        assert plain.response_s == exchange(layer, 1500, highest).response_s
    slow = replace(layer, basic_rates_bps=(1e6, 2e6, *layer.basic_rates_bps))
    assert airtime.protection_rate_bps(slow, highest, {}) == 2e6
    # RTS for stations that hear one end only may have the rate of the acknowledgement.
    fast = exchange(layer, 1500, highest, protection="rts", protection_rate_bps=24e6)
    both = airtime.rts_s(layer, 24e6) + airtime.cts_s(layer, 24e6)
    assert fast.protection_s == pytest.approx(both + 2 * layer.sifs_s)


@pytest.mark.parametrize("name", ["b-long", "a", "ac"])
def test_protection_has_the_rate_of_the_response_where_all_understand_it(name: str) -> None:
    layer = PHYS[name]
    rates = layer.rates_bps
    found = airtime.protection_rate_bps(layer, rates, {})
    assert found.tolist() == control_rate_bps(layer, rates).tolist()
    lowest = min(layer.basic_rates_bps)
    given = airtime.protection_rate_bps(layer, rates, {"control_rate_bps": lowest})
    assert np.all(given == lowest)


def test_options_of_an_exchange() -> None:
    layer = phy("b-long")
    plain = exchange_s(layer, 1536, 11e6)
    assert exchange_s(layer, 1536, 11e6, backoff_slots=0) == pytest.approx(plain - 310e-6)
    assert exchange_s(layer, 1536, 11e6, aifsn=7) == pytest.approx(plain + 100e-6)
    assert exchange_s(layer, 1536, 11e6, control_rate_bps=1e6) == pytest.approx(plain + 56e-6)
    rts = exchange_s(layer, 1536, 11e6, protection="rts", protection_rate_bps=1e6)
    assert rts == pytest.approx(plain + (192 + 160 + 10 + 304 + 10) * 1e-6)
    nothing = {"control_rate_bps": None, "backoff_slots": None, "aifsn": None}
    assert exchange_s(layer, 1536, 11e6, **nothing) == plain
    assert isinstance(plain, float)


@given(st.integers(1, 3_595), st.integers(1, 500), st.sampled_from(sorted(PHYS)))
def test_more_bytes_never_take_less_time(size: int, more: int, name: str) -> None:
    rates = PHYS[name].rates_bps
    assert (
        airtime.frame_s(PHYS[name], size, rates) <= airtime.frame_s(PHYS[name], size + more, rates)
    ).all()


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((0, 11e6), "mpdu_bytes"),
        ((-1, 11e6), "mpdu_bytes"),
        ((float("inf"), 11e6), "mpdu_bytes"),
        ((1e300, 11e6), "mpdu_bytes"),
        ((4096, 11e6), "mpdu_bytes"),
        ((1500, 54e6), "rate_bps"),
        ((1500, 0), "rate_bps"),
        ((1500, 1e300), "rate_bps"),
        ((1500, float("nan")), "rate_bps"),
        ((1500, "fast"), "rate_bps"),
        (([1, 2], [1e6, 2e6, 11e6]), "mpdu_bytes"),
    ],
)
def test_bad_input_is_named(arguments: tuple[object, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        airtime.exchange_s(phy("b-long"), *arguments)
    assert raised.value.parameter == names


def test_a_rate_that_the_layer_has_not_lists_those_it_has() -> None:
    with pytest.raises(ParameterError, match=r"7 Mb/s, which b-long has not.* 1, 2, 5.5, 11 Mb/s"):
        airtime.frame_s(phy("b-long"), 100, [11e6, 7e6])
    with pytest.raises(ParameterError, match=r"^control_rate_bps is 54 Mb/s.*"):
        airtime.exchange_s(phy("b-long"), 100, 11e6, control_rate_bps=54e6)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"backoff_slots": -1}, "backoff_slots"),
        ({"backoff_slots": 1e300}, "backoff_slots"),
        ({"aifsn": -1}, "aifsn"),
        ({"protection": "cts"}, "protection"),
        ({"protection": "rts", "protection_rate_bps": 54e6}, "control_rate_bps"),
        ({"control_rate_bps": 0}, "control_rate_bps"),
        ({"aifsn": [1, 2], "backoff_slots": [1, 2, 3]}, "aifsn"),
        ({"protection": "rts", "protection_rate_bps": 0}, "protection_rate_bps"),
        ({"protection": "rts", "control_rate_bps": [1e6, 2e6], "aifsn": [1, 2, 3]}, "aifsn"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        exchange_s(phy("b-long"), 1500, 11e6, **options)
    assert raised.value.parameter == names


def test_nothing_in_nothing_out() -> None:
    assert airtime.frame_s(phy("a"), [], 6e6).shape == (0,)
    assert exchange_s(phy("a"), [], 6e6).shape == (0,)


def defaults(**given: object) -> dict[str, object]:
    return {parameter.name: parameter.default for parameter in MODEL.parameters} | given


def test_the_command_s_figures() -> None:
    figures = MODEL.evaluate(**defaults())
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["data_rate_bps"] == 11e6
    assert figures["frame_s"] == pytest.approx(1310e-6)
    assert figures["exchange_s"] * figures["exchanges_per_s"] == pytest.approx(1)
    assert figures["airtime_share_of_bits"] == pytest.approx(1536 * 8 / 11 / 1928)
    assert (
        MODEL.evaluate(**defaults(rate_bps=1e6, control_rate_bps=2e6))["response_rate_bps"] == 2e6
    )
    with pytest.raises(ModelError):
        MODEL.evaluate(**defaults(phy="z"))
