"""EDCA settings: the paper's table comes out of the lines, and a TXOP holds what it should."""

import re

import hostapd_conf
import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue.models.edca_defaults import edca_defaults
from airqueue.models.edca_hold import hold_chain
from airqueue.models.errors import ModelError
from airqueue.models.phy_names import phy as layer_named
from airqueue.sizing.advice import schema
from airqueue.sizing.edca import size_edca
from airqueue.sizing.edca_advice import edca_advice
from airqueue.sizing.edca_values import DURATION_LIMIT_S, TXOP_UNIT_S
from airqueue.sizing.settings.hostapd import Category


def advice_for(sized, **changed):
    given_too = {"device": "wlan0", "radio": "radio0", "mark": "dscp"} | changed
    return edca_advice(sized, **given_too)


def lines_for(advice, target):
    return next(entry.lines for entry in advice.settings if entry.target == target)


def test_hostapd_lines_are_the_papers_table():
    # EDCA paper, Table 2: AIFS above DIFS (AIFSN is 2 more), CWmin in values, TXOP in packets.
    found = hostapd_conf.read(lines_for(advice_for(size_edca(6, 6)), "hostapd"))
    station, ap = found["station"], found["ap"]
    assert (ap["vi"]["aifs"], ap["vi"]["cwmin"], ap["vi"]["burst"]) == (2 + 0, 4, 0)
    assert (ap["be"]["aifs"], ap["be"]["cwmin"]) == (2 + 4, 32)
    assert (station["vi"]["aifs"], station["vi"]["cwmin"], station["vi"]["txop_limit"]) == (
        2,
        32,
        0,
    )
    assert (station["be"]["aifs"], station["be"]["cwmin"], station["be"]["txop_limit"]) == (
        6,
        32,
        0,
    )
    # Six packets of 1500 bytes at 11 Mb/s, short preamble, ACK at 2 Mb/s: 96 + 8 (1500 + 38)/11
    # rounded up, SIFS 10, ACK 96 + 56; SIFS between packets.
    frame_us = 96 + np.ceil(8 * 1538 / 11)
    need_us = 6 * (frame_us + 10 + 152) + 5 * 10
    assert need_us * 1e-6 <= ap["be"]["burst"] < (need_us + frame_us + 172) * 1e-6


@settings(max_examples=80, deadline=None)
@given(
    downloads=st.integers(2, 60),
    layer=st.sampled_from([("b-short", 11e6), ("b-long", 1e6), ("g", 54e6), ("a", 6e6)]),
    packet=st.integers(400, 1500),
)
def test_hostapds_burst_admits_one_packet_for_each_download(downloads, layer, packet):
    sized = size_edca(3, downloads, phy=layer[0], rate_bps=layer[1], packet_bytes=packet)
    txop = sized.txop
    burst_s = hostapd_conf.read(lines_for(advice_for(sized), "hostapd"))["ap"]["be"]["burst"]
    assert burst_s == pytest.approx(txop.set_s)
    # N packets and N - 1 gaps fit; steps are longer than hostapd's rounding, so N + 1 do not.
    sifs_s = layer_named(layer[0]).sifs_s
    assert burst_s >= downloads * txop.step_s - sifs_s - 1e-12
    if txop.step_s > 132e-6:
        assert txop.admitted == downloads
        assert burst_s < (downloads + 1) * txop.step_s - sifs_s
        assert float(sized.scheme.min_max_ratio) == pytest.approx(1)
    units = sized.access_point[Category.BEST_EFFORT][0].txop_units
    assert (units - 1) * TXOP_UNIT_S < txop.need_s <= units * TXOP_UNIT_S * (1 + 1e-9)


def test_one_download_needs_no_txop():
    sized = size_edca(6, 1)
    assert (sized.txop.need_s, sized.txop.set_s, sized.txop.admitted) == (0, 0, 1)
    found = hostapd_conf.read(lines_for(advice_for(sized), "hostapd"))
    assert found["ap"]["be"]["burst"] == 0


def test_background_stays_below_best_effort_where_its_defaults_would_not():
    sized = size_edca(6, 6, phy="g")
    data, background = sized.stations[Category.BEST_EFFORT], sized.stations[Category.BACKGROUND]

    def favour(aifsn, window):
        """Return successes of one station with these values for each of best effort's."""
        pair = hold_chain([1, 1], [aifsn, data.aifsn], [window, data.cw_min])
        return float(pair.ratio(0, 1))

    usual = edca_defaults(layer_named("g"))["BK"]
    assert favour(usual.aifsn, usual.cw_min) > 1
    assert favour(background.aifsn, background.cw_min) < 1


@pytest.mark.parametrize(("uploads", "downloads"), [(6, 6), (1, 9), (12, 0), (0, 5), (3, 1)])
def test_the_advice_is_complete(uploads, downloads):
    sized = size_edca(uploads, downloads)
    advice = advice_for(sized)
    found = advice.to_json()
    jsonschema.validate(found, schema())
    classes, shares = found["tables"]
    for row in classes["rows"]:
        assert row["cw_min_values"] == row["cw_min"] + 1 == 2 ** row["ecw_min"]
        assert row["aifsn"] == row["aifs_slots"] + 2
        assert 2 <= row["aifsn"] <= 15
    rows = {row["what"]: row for row in shares["rows"]}
    for side in ("default_fraction", "settings_fraction"):
        one, all_down = rows["one upload"][side], rows["all downloads"][side]
        assert uploads * one + all_down == pytest.approx(1)
        assert downloads * rows["one download"][side] == pytest.approx(all_down)
    assert advice.figure("goodput_bps") * (uploads + downloads) < 11e6


def test_headlines_fit_the_flows():
    assert "instead of" in advice_for(size_edca(6, 6)).headline
    assert "nothing to mend" in advice_for(size_edca(0, 6)).headline
    assert "33.3 % of the uploads' acknowledgements" in advice_for(size_edca(6, 0)).headline


def test_limits_of_hardware_are_said():
    long = advice_for(size_edca(1, 40))
    assert size_edca(1, 40).txop.set_s > DURATION_LIMIT_S
    assert any("Duration field" in caution for caution in long.cautions)
    # Short frames at a high rate: one more fits into what hostapd's rounding adds.
    every = (size_edca(1, n, phy="ac-80mhz-2ss-sgi", packet_bytes=100) for n in range(2, 100))
    fine = next(sized for sized in every if sized.txop.admitted > sized.txop.packets)
    advice = advice_for(fine)
    assert any(f"instead of {fine.txop.packets}" in caution for caution in advice.cautions)
    assert any("aggregates" in caution for caution in advice.cautions)
    assert float(fine.scheme.download_share) > float(fine.scheme.upload_share)


def test_rules_are_in_every_setting_that_needs_them():
    advice = advice_for(size_edca(6, 6), mark="priority", ack_bytes=100, device="wlp1s0")
    rules = [line for entry in advice.settings for line in entry.lines if "ip length" in line]
    # OpenWrt, the access point's two tables, the stations' one.
    assert len(rules) == 4
    assert all("<= 100 meta priority set" in rule and "wlp1s0" in rule for rule in rules)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((0, 0), "at least one"),
        ((1, 2000), "a TXOP ends"),
        ((1.5, 2), "uploads"),
        ((1, float("nan")), "downloads"),
    ],
)
def test_impossible_wishes_are_refused_in_a_sentence(arguments, word):
    with pytest.raises(ModelError, match=word):
        size_edca(*arguments)


def test_a_rate_of_another_layer_is_refused():
    with pytest.raises(ModelError, match="54"):
        size_edca(1, 1, phy="b-short", rate_bps=54e6)


def test_aggregates_are_not_counted_on():
    advice = advice_for(size_edca(2, 6, phy="ac-80mhz-2ss-sgi"))
    assert "without aggregation" in advice.headline
    # One frame at a time: no PHY rate gets more than a packet in what DIFS, the mean backoff, a
    # preamble, SIFS and an acknowledgement take; VHT-2SS: 34 + 67.5 + 44 + 16 + 28 us.
    assert advice.figure("goodput_bps") * 8 < 11_680 / 189.5e-6
    assert "aggregation" not in advice_for(size_edca(2, 6, phy="g")).headline


def test_what_plain_80211_shares_equally_is_left_alone():
    advice = advice_for(size_edca(2, 0))
    assert "50.0 % of the data packets already" in advice.headline
    assert advice.headline.startswith("Leave EDCA at its defaults")
    # Nothing is to be set then, not by a plan either.
    assert advice.settings == advice_for(size_edca(0, 6)).settings == ()
    # Six uploads have three acknowledgements to send when the access point sends one packet.
    crowd = advice_for(size_edca(6, 0)).headline
    assert crowd.startswith("Let acknowledgements pass first")
    assert "at most 33.3 %" in crowd


@pytest.mark.parametrize(("uploads", "simulated"), [(1, 0.35), (2, 0.068), (3, 0.005)])
def test_downloads_beside_uploads_get_less_than_a_fair_share(uploads, simulated):
    """The share of one download in a simulated cell of 802.11b with its defaults, drop-tail."""
    headline = advice_for(size_edca(uploads, 1)).headline
    assert headline.startswith("Let acknowledgements pass first and the access point send 1 packet")
    least, most = (
        float(share) / 100
        for share in re.search(r"instead of ([\d.]+) % to ([\d.]+) %", headline).groups()
    )
    assert least <= simulated <= most == pytest.approx(1 / (uploads + 1), abs=1e-3)


def test_limits_of_the_regulatory_rules_are_said_at_5_ghz():
    def said(**given):
        cautions = advice_for(size_edca(6, 20, **given)).cautions
        return [caution for caution in cautions if "EN 301 893" in caution]

    assert not said(phy="g")
    # 1538 bytes at 54 Mb/s: 20 us and 58 symbols of 4, SIFS 16, ACK at 24 Mb/s 28, SIFS: 312 us.
    (caution,) = said(phy="a")
    assert f"{(6000 + 16) // 312} packets here" in caution
