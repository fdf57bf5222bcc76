"""Packets of a TXOP: the worked table, the EDCA paper's step, and counting them one by one."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import half_unit, rows

from airqueue.models.edca_txop import MODEL, packets_per_txop, step_s, txop_for_packets_s
from airqueue.models.errors import ParameterError

PREAMBLE_US = {"short": 96, "long": 192}
ACK_BYTES = 14
SIFS_US = 10


def durations_us(row: dict[str, str]) -> tuple[Fraction, Fraction]:
    """Frame and ACK of 802.11b, preamble and bits over rate, as fractions of microseconds."""
    preamble = PREAMBLE_US[row["preamble"]]
    ack_mbps = Fraction(row["ack_rate_bps"]) / 10**6
    frame = preamble + Fraction(8 * int(row["mpdu_bytes"]), 11)
    return frame, preamble + 8 * ACK_BYTES / ack_mbps


@pytest.mark.parametrize("row", rows("edca_txop"), ids=lambda row: "-".join(row.values()))
def test_the_worked_table(row: dict[str, str]) -> None:
    frame, ack = durations_us(row)
    step_us = float(step_s(float(frame) / 1e6, float(ack) / 1e6, SIFS_US / 1e6)) * 1e6
    assert step_us == pytest.approx(float(row["step_us"]), abs=half_unit(row["step_us"]))
    exchange = row["exchange_us"]
    assert step_us - SIFS_US == pytest.approx(float(exchange), abs=half_unit(exchange))


@pytest.mark.parametrize("row", rows("edca_txop"), ids=lambda row: "-".join(row.values()))
def test_the_command_rounds_each_frame_up_as_the_standard_does(row: dict[str, str]) -> None:
    frame, ack = durations_us(row)
    figures = MODEL.evaluate(
        txop_s=0.0,
        other_txop_s=0.0,
        ip_bytes=int(row["mpdu_bytes"]) - 36,
        phy=f"b-{row['preamble']}",
        rate_bps=11e6,
        control_rate_bps=float(row["ack_rate_bps"]),
    )
    rounded = math.ceil(frame) + math.ceil(ack) + 2 * SIFS_US
    assert figures["step_s"] * 1e6 == pytest.approx(rounded)


def test_the_published_step() -> None:
    """About 1270 µs in Fig. 3: an IP packet of 1400 bytes, short preamble, ACK at 11 Mb/s."""
    start = {p.name: p.default for p in MODEL.parameters}
    fits = {**start, "ip_bytes": 1400, "control_rate_bps": 11e6}
    assert MODEL.evaluate(**fits)["step_s"] == pytest.approx(1270e-6, abs=5e-6)
    long = {**start, "phy": "b-long"}
    assert MODEL.evaluate(**long)["step_s"] > 1400e-6


@given(st.integers(0, 20_000), st.integers(100, 2000), st.integers(20, 300), st.integers(0, 20))
def test_packets_are_those_that_fit_one_by_one(txop: int, frame: int, ack: int, sifs: int) -> None:
    """In whole microseconds: packets are added while the last exchange still ends in time."""
    fit, time = 0, 0
    while time + frame + sifs + ack <= txop:
        fit += 1
        time += frame + sifs + ack + sifs
    packets = packets_per_txop(txop / 1e6, frame / 1e6, ack / 1e6, sifs / 1e6)
    assert float(packets) == max(fit, 1)


@given(st.integers(1, 64), st.integers(100, 2000), st.integers(20, 300))
def test_the_least_limit_admits_just_that_many(packets: int, frame: int, ack: int) -> None:
    timing = (frame / 1e6, ack / 1e6, 10e-6)
    least = txop_for_packets_s(packets, *timing)
    assert float(packets_per_txop(least, *timing)) == packets
    assert float(packets_per_txop(float(least) - 1e-6, *timing)) == max(packets - 1, 1)


def test_the_ratio_rises_by_one_at_each_step() -> None:
    start = {p.name: p.default for p in MODEL.parameters}
    step = MODEL.evaluate(**start)["step_s"]
    for n in range(1, 8):
        figures = MODEL.evaluate(**{**start, "txop_s": n * step})
        assert set(figures) == {output.name for output in MODEL.outputs}
        assert figures["packets"] == n
        assert figures["throughput_ratio"] == n
        assert figures["least_txop_s"] <= n * step < figures["next_txop_s"]
    against = MODEL.evaluate(**{**start, "txop_s": 6 * step, "other_txop_s": 4 * step})
    assert against["throughput_ratio"] == 1.5


def test_one_packet_goes_with_any_limit() -> None:
    """Also with one that is shorter than its exchange: no least limit is above the one given."""
    start = {p.name: p.default for p in MODEL.parameters}
    for txop_s in (0.0, 1e-6, 1e-3):
        figures = MODEL.evaluate(**{**start, "txop_s": txop_s})
        assert figures["packets"] == 1
        assert figures["least_txop_s"] == 0
        assert figures["next_txop_s"] > txop_s


def test_arrays_broadcast() -> None:
    packets = packets_per_txop([0, 3e-3, 6e-3], [[1e-3], [2e-3]], 1e-4, 1e-5)
    assert packets.tolist() == [[1, 2, 5], [1, 1, 2]]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((-1, 1e-3, 1e-4, 1e-5), "txop_s"),
        ((1e-3, 0, 1e-4, 1e-5), "frame_s"),
        ((1e-3, 1e-3, -1, 1e-5), "ack_s"),
        ((1e-3, 1e-3, 1e-4, float("nan")), "sifs_s"),
    ],
)
def test_bad_input_is_named(arguments: tuple[float, ...], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        packets_per_txop(*arguments)
    assert raised.value.parameter == names
    with pytest.raises(ParameterError):
        txop_for_packets_s(0, 1e-3, 1e-4, 1e-5)
