"""Exchange times and B of the paper, by preset; and by hand, from the frames' bytes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tables import half_unit, rows

from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.mesh_buffer import MODEL as BUFFER
from airqueue.models.mesh_buffer import neighbourhood_buffer, path_buffer
from airqueue.models.mesh_exchange import MODEL as EXCHANGE
from airqueue.models.mesh_exchange import PRESETS, mesh_exchange, preset


@pytest.mark.parametrize("row", rows("mesh_exchange"), ids=lambda row: "-".join(row.values()))
def test_the_worked_numbers(row: dict[str, str]) -> None:
    rate_bps = float(row["rate_mbps"]) * 1e6
    exchange = mesh_exchange(row["radio"], rate_bps).round_trip_s
    if row["quantity"] == "exchange_ms":
        found = float(exchange) * 1e3
    else:
        packet_bytes = float(row["packet_bytes"])
        sized = neighbourhood_buffer(int(row["hops"]), exchange, rate_bps, packet_bytes)
        found = float(sized.packets)
    assert found == pytest.approx(float(row["value"]), abs=half_unit(row["value"]))


@pytest.mark.parametrize(("mbps", "ack_mbps"), [(1, 1), (11, 11), (11, 2), (11, 1)])
def test_802_11b_by_hand(mbps: int, ack_mbps: int) -> None:
    """Microseconds from bytes: backoff 310, DIFS 50, SIFS 10, preamble and header 192."""
    frames = Fraction(8 * (1460 + 40 + 34), mbps) + Fraction(8 * (40 + 34), mbps)
    ack = 192 + Fraction(8 * 14, ack_mbps)
    total = frames + 2 * (310 + 50 + 192 + 10 + ack)
    found = mesh_exchange(f"b-ack-{ack_mbps if mbps > 1 else 11}", mbps * 1e6).round_trip_s
    assert float(found) * 1e6 == pytest.approx(float(total), abs=0.01)


def test_rts_adds_itself_cts_and_two_sifs_to_both_frames() -> None:
    plain, with_rts = (mesh_exchange("b-ack-2", rts=rts) for rts in (False, True))
    extra = (192 + 80 + 10 + 192 + 56 + 10) * 1e-6
    assert float(with_rts.data_s - plain.data_s) == pytest.approx(extra)
    assert float(with_rts.ack_s - plain.ack_s) == pytest.approx(extra)


def test_rts_of_a_mesh_has_the_rate_of_its_acknowledgements() -> None:
    """802.11g: hidden nodes of the same mesh understand OFDM; 6 µs of signal extension a frame."""
    plain, with_rts = (mesh_exchange("g-long-slot-ack-6", rts=rts) for rts in (False, True))
    rts_s, cts_s = ((20 + 4 * -(-(22 + 8 * size) // 24) + 6) * 1e-6 for size in (20, 14))
    assert float(with_rts.data_s - plain.data_s) == pytest.approx(rts_s + cts_s + 20e-6)


def test_explicit_timing_is_a_changed_preset() -> None:
    """The upper end of the range for short preambles: ACKs at 1 Mb/s with one, which no radio has.

    They have the long preamble, 96 µs more, in both exchanges.
    """
    radio = PRESETS["b-short-ack-11"]
    slow_acks = replace(radio, phy=replace(radio.phy, basic_rates_bps=(1e6,)))
    exchange = mesh_exchange(slow_acks, 11e6).round_trip_s - 2 * 96e-6
    assert float(exchange) * 1e3 == pytest.approx(2.52, abs=5e-3)


def test_802_11a_with_responses_at_the_data_rate() -> None:
    """The lower end of the printed range for slots of 9 µs; the upper is a preset."""
    radio = PRESETS["a-ack-24"]
    fast = replace(radio, phy=replace(radio.phy, basic_rates_bps=(54e6,)))
    exchange = mesh_exchange(fast).round_trip_s
    assert float(neighbourhood_buffer(4, exchange, 54e6).packets) == pytest.approx(10.4, abs=0.05)


def test_equal_hops_are_a_path_of_equal_links() -> None:
    equal = neighbourhood_buffer(3, 2e-3, 11e6, 1460, 20e-3)
    path = path_buffer([2e-3] * 3, [11e6] * 3, 1460, 20e-3)
    assert float(path.packets) == pytest.approx(float(equal.packets), rel=1e-15)
    assert float(path.hops) == 3


def test_the_lowest_rate_limits_a_path() -> None:
    exchanges = mesh_exchange("b-ack-11", [1e6, 11e6]).round_trip_s
    found = path_buffer(exchanges, [1e6, 11e6])
    assert float(found.packets) == pytest.approx((14.596e-3 + 2.69782e-3) * 1e6 / 11680, rel=1e-5)


def test_arrays_broadcast() -> None:
    found = neighbourhood_buffer(np.arange(1, 5)[:, None], [1e-3, 2e-3, 3e-3], 11e6)
    assert found.packets.shape == (4, 3)
    assert path_buffer(np.full((5, 2), 1e-3), [1e6, 2e6]).packets.shape == (5,)


def test_modern_radios_work_at_every_rate() -> None:
    for name in ("mesh-n", "mesh-ac", "mesh-ax", "n-2.4", "ax-160mhz-4ss", "g"):
        radio = preset(name)
        exchange = mesh_exchange(radio, radio.phy.rates_bps).round_trip_s
        assert (exchange > 0).all()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: preset("d-11"), "radio"),
        (lambda: mesh_exchange("b-ack-11", 54e6), "rate_bps"),
        (lambda: mesh_exchange("b-ack-11", float("nan")), "rate_bps"),
        (lambda: mesh_exchange("b-ack-11", 11e6, 1e300), "segment_bytes"),
        (lambda: neighbourhood_buffer(0, 1e-3, 1e6), "hops"),
        (lambda: neighbourhood_buffer(2.5, 1e-3, 1e6), "hops"),
        (lambda: neighbourhood_buffer(2, -1, 1e6), "exchange_s"),
        (lambda: neighbourhood_buffer(2, 1e-3, 1e300), "rate_bps"),
        (lambda: neighbourhood_buffer([1, 2], 1e-3, [1e6, 1e6, 1e6]), "hops"),
        (lambda: path_buffer([], []), "exchanges_s"),
        (lambda: path_buffer(1e-3, 1e6), "exchanges_s"),
        (lambda: path_buffer([1e-3], [1e6], 1460, float("inf")), "delay_s"),
    ],
)
def test_bad_input_is_named(call, names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        call()
    assert raised.value.parameter == names


def test_the_commands_figures() -> None:
    found = EXCHANGE.evaluate(radio="b-ack-2", rate_bps=11e6, segment_bytes=1460, rts="no")
    assert set(found) == {output.name for output in EXCHANGE.outputs}
    assert found["ack_rate_bps"] == 2e6
    assert found["exchange_s"] == pytest.approx(found["data_s"] + found["ack_s"])
    assert (
        EXCHANGE.evaluate(radio="n-600", rate_bps=None, segment_bytes=1460, rts="yes")[
            "ack_rate_bps"
        ]
        == 24e6
    )
    arguments = {
        "radio": "b-ack-11",
        "segment_bytes": 1460,
        "packet_bytes": None,
        "delay_s": 0,
        "rts": "no",
    }
    equal = BUFFER.evaluate(hops=4, rates_bps=None, **arguments)
    assert set(equal) == {output.name for output in BUFFER.outputs}
    assert equal == BUFFER.evaluate(hops=1, rates_bps=[11e6] * 4, **arguments)
    assert "slowest link 11.00 Mb/s" in str(equal["reason"])
    with pytest.raises(ModelError):
        BUFFER.evaluate(hops=0, rates_bps=None, **arguments)
