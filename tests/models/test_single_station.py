"""Aggregates and the throughput of one station: the worked numbers and the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.airtime import MAX_PPDU_S, exchange_s, frame_s
from airqueue.models.ampdu import (
    aggregate_bytes,
    aggregate_exchange,
    largest_aggregate,
)
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import phy
from airqueue.models.single_station import MODEL, single_station


@pytest.mark.parametrize("row", rows("single_station"), ids=lambda row: "-".join(row.values()))
def test_the_worked_numbers(row: dict[str, str]) -> None:
    def mbps(column: str) -> float | None:
        return float(row[column]) * 1e6 if row[column] else None

    station = single_station(
        phy(row["phy"]),
        1500,
        mbps("rate_mbps"),
        mpdus=int(row["mpdus"]) if row["mpdus"] else None,
        control_rate_bps=mbps("control_mbps"),
        protection=row["protection"],
        protection_rate_bps=mbps("protection_mbps"),
    )
    printed = row["throughput_mbps"]
    assert float(station.throughput_bps) / 1e6 == pytest.approx(
        float(printed), abs=half_unit(printed)
    )


def padded(size: int, mpdus: int) -> int:
    """The aggregate MPDU by MPDU: delimiter, MPDU, padding except behind the last."""
    total = 0
    for _ in range(mpdus - 1):
        total += 4 + size
        total += -total % 4
    return total + 4 + size


@given(st.integers(1, 12_000), st.integers(1, 64))
def test_bytes_of_an_aggregate(size: int, mpdus: int) -> None:
    assert aggregate_bytes(size, mpdus) == padded(size, mpdus)


@given(
    st.integers(1, 3_000),
    st.sampled_from(["n", "n-40mhz-4ss-sgi", "ac", "ac-160mhz-8ss-sgi", "ax-160mhz-8ss", "n-2.4"]),
    st.integers(0, 7),
)
def test_the_largest_aggregate_fits_and_one_more_does_not(size: int, name: str, mcs: int) -> None:
    layer = phy(name)
    rate = layer.rates_bps[mcs]
    count = int(largest_aggregate(layer, size, rate))

    def fits(mpdus: int) -> bool:
        total = padded(size, mpdus)
        return (
            mpdus <= layer.max_mpdus
            and total <= layer.max_psdu_bytes
            and float(frame_s(layer, total, rate)) <= MAX_PPDU_S + 1e-12
        )

    assert count == 0 or fits(count)
    assert not fits(count + 1)


def test_the_three_limits() -> None:
    layer = phy("n")
    assert largest_aggregate(layer, 1538, 65e6) == 28
    assert largest_aggregate(layer, 100, 65e6) == 64
    assert largest_aggregate(phy("n-40mhz-4ss-sgi"), 1538, 600e6) == 42
    assert largest_aggregate(layer, 1538, 65e6, max_mpdus=16) == 16
    assert largest_aggregate(layer, 1538, 65e6, max_bytes=8191) == 5
    assert largest_aggregate(layer, 1538, 65e6, max_ppdu_s=1e-3) == 5
    assert largest_aggregate(layer, [1538, 8000], [65e6, 6.5e6]).tolist() == [28, 0]


def test_an_aggregate_beyond_the_limits_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than the 28 that fit"):
        aggregate_exchange(phy("n"), 1538, 65e6, [1, 29])
    with pytest.raises(ParameterError, match="no aggregation"):
        aggregate_exchange(phy("a"), 1538, 54e6, 2)
    with pytest.raises(ParameterError, match="no aggregation"):
        single_station(phy("a"), mpdus=2)
    with pytest.raises(ParameterError, match="max_mpdus"):
        largest_aggregate(phy("n"), 1538, 65e6, max_mpdus=65)


def test_large_aggregates_have_the_larger_block_ack() -> None:
    parts = [aggregate_exchange(phy("ax"), 100, 600.5e6, n).response_s for n in (64, 65)]
    assert parts == pytest.approx([48e-6, 56e-6])


def test_with_and_without_aggregation() -> None:
    layer = phy("n")
    plain = single_station(layer, 1500, 65e6, mpdus=0)
    assert plain.cycle_s == pytest.approx(exchange_s(layer, 1538, 65e6, aifsn=3))
    assert plain.packets_per_s * plain.cycle_s == pytest.approx(1)
    swept = single_station(layer, 1500, 65e6, mpdus=[0, 1, 28])
    assert swept.mpdus.tolist() == [0, 1, 28]
    assert swept.throughput_bps[0] == plain.throughput_bps
    assert (np.diff(swept.throughput_bps) > 0)[1]
    most = single_station(layer)
    assert most.throughput_bps == swept.throughput_bps[2]
    # 4423 bytes are more than the delimiter's 12 bits can say, so such frames go alone.
    mixed = single_station(layer, [1500, 4385], 6.5e6)
    assert mixed.mpdus.tolist() == [2, 0]
    assert mixed.cycle_s[1] == pytest.approx(exchange_s(layer, 4423, 6.5e6, aifsn=3))


@pytest.mark.parametrize(
    ("name", "most", "alone"),
    [
        ("n", 4095, 7965),
        ("n-2.4-40mhz-4ss", 4095, 7965),
        ("ac", 11454, 11454),
        ("ax", 11454, 11454),
    ],
)
def test_frames_are_no_longer_than_the_standard_has_them(name: str, most: int, alone: int) -> None:
    """IEEE 802.11-2016, 9.7.1 and Table 9-19: in an A-MPDU; alone, an A-MSDU of 7935 bytes."""
    layer = phy(name)
    longest = single_station(layer, most - 38, mpdus=2)
    assert float(longest.mpdus) == 2
    assert float(single_station(layer, most - 38).mpdus) >= 2
    assert float(single_station(layer, alone - 38, mpdus=0).mpdus) == 0
    for size, mpdus in ((most - 37, 1), (most - 37, [0, 2]), (alone - 37, 0), (alone - 37, None)):
        with pytest.raises(ParameterError, match="use smaller packets") as raised:
            single_station(layer, size, mpdus=mpdus)
        assert raised.value.parameter == "packet_bytes"
    with pytest.raises(ParameterError, match="frame of 10038 bytes"):
        single_station(phy("n"), 10_000)
    # Without aggregation the PHY's LENGTH field is the limit.
    with pytest.raises(ParameterError, match="packet_bytes is 4060, which makes a frame of 4096"):
        single_station(phy("g"), 4060)


def test_a_name_is_no_layer() -> None:
    for call in (
        lambda: single_station("n"),
        lambda: frame_s("n", 1500, 65e6),
        lambda: exchange_s("n", 1500, 65e6),
        lambda: single_station(None, overhead_bytes=36),
    ):
        with pytest.raises(ParameterError, match="must be a physical layer") as raised:
            call()
        assert raised.value.parameter == "phy"


@pytest.mark.parametrize("mpdus", [None, 0])
def test_no_frame_lasts_longer_than_it_may(mpdus: int | None) -> None:
    # 36 µs, and 63 526 bits in symbols of 26 and 4 µs.
    with pytest.raises(ParameterError, match=r"takes 9\.812 ms .* may take 5\.484 ms") as raised:
        single_station(phy("n"), 7900, 6.5e6, mpdus=mpdus)
    assert raised.value.parameter == "mpdu_bytes"
    assert exchange_s(phy("a"), 4095, 6e6) > MAX_PPDU_S


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"packet_bytes": 0}, "packet_bytes"),
        ({"packet_bytes": float("nan")}, "packet_bytes"),
        ({"packet_bytes": 1e7}, "packet_bytes"),
        ({"overhead_bytes": -1}, "overhead_bytes"),
        ({"rate_bps": 1e6}, "rate_bps"),
        ({"rate_bps": -1}, "rate_bps"),
        ({"mpdus": -1}, "mpdus"),
        ({"mpdus": 1.5}, "mpdus"),
        ({"mpdus": [1, 2], "packet_bytes": [1, 2, 3]}, "packet_bytes"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        single_station(phy("n"), **arguments)
    assert raised.value.parameter == names


def test_the_command_s_figures() -> None:
    given_values = {parameter.name: parameter.default for parameter in MODEL.parameters}
    figures = MODEL.evaluate(**given_values)
    assert set(figures) == {output.name for output in MODEL.outputs}
    assert figures["data_rate_bps"] == 11e6
    assert figures["efficiency"] == pytest.approx(figures["throughput_bps"] / 11e6)
    assert figures["aggregate_mpdus"] == 0
    slower = MODEL.evaluate(**given_values | {"rate_bps": 1e6})
    assert slower["throughput_bps"] < 1e6
