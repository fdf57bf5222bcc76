"""The bindings of the engine's physical layers: sizes by their fields, and what is refused."""

import numpy as np
import pytest
from slow_radio import subframe_end

from airqueue._native import (
    Ieee80211,
    NativeError,
    Radio,
    ampdu_bytes,
    block_ack_bytes,
    radio_choices,
)

CONTROL, DURATION, ADDRESS, SEQUENCE, QOS, CHECK = 2, 2, 6, 2, 2, 4
"""Bytes of the fields that frames are made of (IEEE 802.11-2016, 9.2 and 9.3)."""
BLOCK_ACK_CONTROL = 2


def test_frames_are_the_sum_of_their_fields() -> None:
    begins = CONTROL + DURATION
    assert begins + 2 * ADDRESS + CHECK == Ieee80211.RTS_BYTES
    assert begins + ADDRESS + CHECK == Ieee80211.CTS_BYTES == Ieee80211.ACK_BYTES
    header = begins + 3 * ADDRESS + SEQUENCE
    assert header == Ieee80211.HEADER_BYTES
    assert header + QOS == Ieee80211.QOS_HEADER_BYTES
    assert header + ADDRESS + QOS == Ieee80211.FOUR_ADDRESS_QOS_HEADER_BYTES
    assert header + ADDRESS + CHECK == Ieee80211.NS2_OVERHEAD_BYTES
    # LLC: two service access points and control; SNAP: three bytes of organisation, two of type.
    assert (Ieee80211.FCS_BYTES, Ieee80211.LLC_SNAP_BYTES) == (CHECK, 3 + 5)
    # OFDM's LENGTH has 12 bits, Duration 15.
    assert Ieee80211.MAX_NON_HT_PSDU_BYTES == 2**12 - 1
    assert pytest.approx((2**15 - 1) / 1e6, rel=1e-15) == Ieee80211.MAX_DURATION_S


def test_block_acks_have_a_bit_for_each_mpdu() -> None:
    around = CONTROL + DURATION + 2 * ADDRESS + BLOCK_ACK_CONTROL + SEQUENCE + CHECK
    found = block_ack_bytes(np.array([[1.0, 64.0], [64.5, 256.0]]))
    assert found.tolist() == [[around + 64 // 8] * 2, [around + 256 // 8] * 2]


def test_aggregates_are_subframes_one_after_the_other() -> None:
    sizes = np.arange(1, 200)
    for count in (1, 2, 3, 64, 255):
        expected = []
        for size in sizes:
            total = 0
            for _ in range(count):
                total = subframe_end(total, int(size))
            expected.append(total)
        found = ampdu_bytes(sizes.astype(float), np.full(len(sizes), float(count)))
        assert found.tolist() == expected
    # A part of a byte is padded in all but the last.
    assert ampdu_bytes(np.array(99.5), np.array(2.0)) == 104 + 4 + 99.5


def test_arrays_may_have_any_layout() -> None:
    radio = Radio("802.11a")
    modes = np.arange(8).reshape(2, 4)
    sizes = np.arange(100.0, 900.0, 100.0).reshape(2, 4)
    plain = radio.frame_s(modes, sizes)
    assert radio.frame_s(modes.T, sizes.T).tolist() == plain.T.tolist()
    assert radio.frame_s(modes[::-1, ::-2], sizes[::-1, ::-2]).tolist() == (
        plain[::-1, ::-2].tolist()
    )
    repeated = radio.frame_s(np.broadcast_to(np.int64(0), (5,)), np.broadcast_to(100.0, (5,)))
    assert repeated.tolist() == [plain[0, 0]] * 5
    assert radio.frame_s(np.zeros((0,), np.int64), np.zeros(0)).shape == (0,)
    assert radio.frame_s(np.array(0), np.array(100.0)).shape == ()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"standard": "802.11z"}, r"standard is \"802.11z\", expected 802.11b"),
        ({"standard": "802.11b", "preamble": "none"}, "preamble is"),
        ({"standard": "802.11n", "band": "60"}, "band is"),
        ({"standard": "802.11n", "streams": 0}, "1 to 4 spatial streams; found 0"),
        ({"standard": "802.11n", "width_mhz": 80}, "at most 40 MHz"),
        ({"standard": "802.11n", "width_mhz": 21}, "width_mhz is 21"),
        ({"standard": "802.11n", "guard_interval_ns": 1_600}, "no guard interval of 1600 ns"),
        ({"standard": "802.11ac", "band": "2.4"}, "802.11ac is at 5 GHz alone"),
        ({"standard": "802.11ax", "band": "2.4", "width_mhz": 80}, "at most 40 MHz"),
        ({"standard": "802.11ax", "ltf_ns": -1}, "HE-LTF"),
        ({"standard": "802.11ax", "packet_extension_ns": 5_000}, "packet extension"),
        ({"standard": "802.11a", "basic_rates_bps": []}, "no basic rate"),
        ({"standard": "802.11a", "basic_rates_bps": [float("nan")]}, "basic rate is 0"),
        ({"standard": "802.11a", "basic_rates_bps": [11e6]}, "no control frames at 11 Mb/s"),
        ({"standard": "802.11a", "access": (-1, 0, 1, 1)}, "slot is -1 ns"),
        ({"standard": "802.11a", "access": (0, 2**62, 1, 1)}, "SIFS is"),
    ],
)
def test_radios_that_are_none(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(NativeError, match=sentence):
        Radio(**options)


def test_choices_that_are_none() -> None:
    with pytest.raises(NativeError, match=r"802\.11ac is not at 2\.4 GHz"):
        radio_choices("802.11ac", "2.4")
    with pytest.raises(NativeError, match="standard is"):
        radio_choices("802.11a")


MODES, SIZES = np.array([0, 1]), np.array([100.0, 200.0])


@pytest.mark.parametrize(
    ("modes", "sizes", "sentence"),
    [
        (np.array([0, 8]), SIZES, "there is no mode 8; the last one is 7"),
        (np.array([-1, 0]), SIZES, "there is no mode -1"),
        (MODES, np.array([100.0, np.nan]), "a frame has NaN bytes"),
        (MODES, np.array([100.0, np.inf]), "a frame has inf bytes"),
        (MODES, np.array([-1.0, 1.0]), "a frame has -1 bytes"),
        (MODES, SIZES[:1], r"the shapes \[2\] and \[1\]"),
    ],
)
def test_arrays_that_do_not_fit(modes: np.ndarray, sizes: np.ndarray, sentence: str) -> None:
    radio = Radio("802.11n")
    for control in (False, True):
        with pytest.raises(NativeError, match=sentence):
            radio.frame_s(modes, sizes, control=control)
    with pytest.raises(NativeError, match=sentence):
        radio.most_mpdus(modes, sizes, 64, 65_535, 5_484_000)


def test_limits_that_are_none() -> None:
    radio = Radio("802.11n")
    for nanoseconds in (-1, 2**62):
        with pytest.raises(NativeError, match="max_ppdu is"):
            radio.most_mpdus(MODES, SIZES, 64, 65_535, nanoseconds)
    assert radio.most_mpdus(MODES, SIZES, 0, 65_535, 5_484_000).tolist() == [0, 0]
    assert Radio("802.11a").most_mpdus(MODES, SIZES, 64, 65_535, 5_484_000).tolist() == [0, 0]
    with pytest.raises(NativeError, match="edition is"):
        radio.edca_defaults("1999", access_point=False)
    with pytest.raises(NativeError, match="differ in shape"):
        ampdu_bytes(SIZES, SIZES[:1])
    with pytest.raises(NativeError, match="no number of bytes or MPDUs"):
        ampdu_bytes(SIZES, np.array([1.0, np.nan]))


def test_a_radio_is_equal_to_one_made_of_the_same() -> None:
    plain = Radio("802.11g", preamble="short")
    assert plain == Radio("802.11g", preamble="short") != Radio("802.11g")
    access = (9_000, 10_000, 15, 1_023)
    assert plain.variant(access, [6e6, 12e6, 24e6]) is plain
    assert plain.variant(access, [6e6]) != plain
    assert plain.unrounded() == Radio("802.11g", preamble="short", exact_dsss=True)
    assert repr(plain) == '<Radio "802.11g", 12 modes>'
    assert repr(plain.modes[0]) == "<Mode 1 Mb/s>"
    assert len({*plain.modes, *plain.modes}) == 12
