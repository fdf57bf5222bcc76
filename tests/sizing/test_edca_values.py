"""EDCA in the standard's units: limits, round trips, and hostapd's rounding of a TXOP."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airqueue.models.errors import ParameterError
from airqueue.sizing import edca_values as edca


@given(
    slots=st.integers(-1, 13),
    low=st.integers(0, 15),
    more=st.integers(0, 15),
    units=st.integers(0, edca.TXOP_UNITS_MAX),
)
def test_everything_that_the_fields_hold_is_encoded_exactly(slots, low, more, units):
    high = min(low + more, 15)
    values = edca.encode(slots, 2**low - 1, 2**high - 1, units * 32e-6, role="access point")
    assert (values.aifsn, values.ecw_min, values.ecw_max) == (slots + 2, low, high)
    assert values.cw_min + 1 == 2**low
    assert values.cw_max + 1 == 2**high
    assert values.txop_units == units


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ((-1, 3, 7), "aifs_slots"),
        ((14, 3, 7), "aifs_slots"),
        ((0.5, 3, 7), "aifs_slots"),
        ((float("nan"), 3, 7), "aifs_slots"),
        ((0, -1, 7), "cw_min"),
        ((0, 32, 1023), "cw_min"),
        ((0, 31, 65535), "cw_max"),
        ((0, 31, 15), "cw_max"),
        ((0, 31, 63, -1e-3), "txop_s"),
        ((0, 31, 63, 2.1), "txop_s"),
        ((0, 31, 63, float("inf")), "txop_s"),
    ],
)
def test_what_the_fields_do_not_hold_is_refused_by_name(arguments, parameter):
    with pytest.raises(ParameterError) as caught:
        edca.encode(*arguments, role="station")
    assert caught.value.parameter == parameter


def test_an_access_point_may_have_the_slot_that_a_station_may_not():
    assert edca.encode(-1, 3, 7, role="access point").aifsn == 1
    with pytest.raises(ParameterError):
        edca.encode(-1, 3, 7, role="station")


@given(st.integers(0, 2_000_000))
def test_a_burst_is_long_enough_and_not_a_tenth_too_long(microseconds):
    txop_s = microseconds * 1e-6
    tenths = edca.burst_tenths(txop_s)
    assert edca.burst_s(tenths) >= txop_s - 1e-9
    assert tenths == 0 or edca.burst_s(tenths - 1) < txop_s


@given(st.integers(0, 20_000))
def test_the_driver_gets_the_multiple_of_32_us_nearest_to_the_burst(tenths):
    # Rounding to the nearest, as (x + 16) / 32 does, is never farther off than half a unit.
    assert abs(edca.burst_s(tenths) - tenths * 1e-4) <= 16e-6 + 1e-9
