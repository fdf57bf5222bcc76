"""The queue of an access point: delay bounded, TCP served, the cell's rate by hand."""

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airqueue import text
from airqueue.models.errors import ModelError, ParameterError
from airqueue.sizing.advice import schema
from airqueue.sizing.ap import ap_queue
from airqueue.sizing.ap_advice import ap_advice
from airqueue.sizing.ap_parts import Asked
from airqueue.sizing.cell import MAX_RATES, cell, guess_phy, lone_packet_s
from airqueue.sizing.codel import codel_for

AC = "ac-80mhz-2ss-sgi"

RATES = (("b-short", (1e6, 2e6, 5.5e6, 11e6)), ("g", (6e6, 24e6, 54e6)), ("n", (6.5e6, 65e6)))
LAYER_RATES = st.sampled_from(RATES).flatmap(
    lambda layer: st.tuples(
        st.just(layer[0]), st.lists(st.sampled_from(layer[1]), min_size=1, max_size=4)
    )
)


def advice_for(sized, **settings):
    return ap_advice(sized, Asked(**({"rtt_s": 0.1, "flows": 20} | settings)))


def test_goodput_by_hand():
    # 802.11g, short slot: DIFS 28, mean backoff 7.5 slots of 9, SIFS 10 µs; MPDU = IP + 36 bytes.
    # 54 Mb/s: 216 bits a symbol. 1536 B: 57 symbols, 76 B: 3; ACK at 24 Mb/s: 2 symbols of 96 bits.
    overhead = 28 + 7.5 * 9 + 10 + (20 + 2 * 4 + 6)
    data = overhead + 20 + 57 * 4 + 6
    ack = overhead + 20 + 3 * 4 + 6
    cycle_s = (data + ack / 2) * 1e-6
    air = cell([54e6])
    assert air.capacity_bps == pytest.approx(12_000 / cycle_s, rel=1e-12)
    assert air.goodput_bps == pytest.approx(11_680 / cycle_s, rel=1e-12)
    assert air.packet_s == pytest.approx(cycle_s, rel=1e-12)


def test_a_slow_station_costs_both_and_airtime_fairness_gives_back():
    fast, slow, both = cell([11e6]), cell([1e6]), cell([11e6, 1e6])
    # Packet by packet: the mean time of a packet is the mean of both.
    assert both.packet_s == pytest.approx((fast.packet_s + slow.packet_s) / 2)
    # Half the time each: the mean of both rates.
    assert both.airtime_fair_bps == pytest.approx((fast.capacity_bps + slow.capacity_bps) / 2)
    assert both.airtime_fair_bps > both.capacity_bps


def test_aggregates_share_one_access():
    one, many = cell([65e6], "n", 1500), cell([65e6], "n", 300)
    assert one.mpdus > 1
    assert many.mpdus > one.mpdus
    # 802.11n without aggregation gets about 31 Mb/s of 65 for UDP; 28 packets at once about 61.
    assert 45e6 < one.goodput_bps < 61e6


def test_the_layer_follows_from_the_rates_or_is_asked_for():
    assert guess_phy([11e6, 1e6]) == "b-short"
    assert guess_phy([54e6, 6e6]) == "g"
    assert guess_phy([54e6, 11e6]) == "g"
    with pytest.raises(ParameterError, match="--phy"):
        guess_phy([65e6])


def test_rates_may_be_rounded():
    exact = cell([866.7e6], "ac-80mhz-2ss-sgi")
    assert cell([866e6], "ac-80mhz-2ss-sgi") == exact
    assert cell([867e6], "ac-80mhz-2ss-sgi") == exact
    with pytest.raises(ModelError, match="866"):
        cell([860e6], "ac-80mhz-2ss-sgi")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (([],), "stations"),
        (([54e6] * (MAX_RATES + 1),), "stations"),
        (([54e6], "g", 40), "packet_bytes"),
        (([54e6], "g", 2297), "packet_bytes"),
        (([54e6], "nonsense"), "phy"),
        (([7e6], "g"), "rate"),
    ],
)
def test_impossible_cells_are_refused_in_a_sentence(arguments, word):
    with pytest.raises(ModelError, match=word):
        cell(*arguments)


@settings(max_examples=60, deadline=None)
@given(
    layer=LAYER_RATES,
    rtt_s=st.floats(1e-4, 2),
    flows=st.integers(1, 5000),
    target_s=st.floats(1e-4, 2),
    sender=st.tuples(st.integers(100, 1500), st.sampled_from(["reno", "cubic"])),
)
def test_every_advice_keeps_its_promises(layer, rtt_s, flows, target_s, sender):
    (phy, rates), (packet, control) = layer, sender
    flows = max(flows, len(rates))
    sized = ap_queue(
        rates,
        rtt_s,
        flows,
        phy=phy,
        packet_bytes=packet,
        delay_target_s=target_s,
        control=control,
    )
    full_s = float(sized.tooth.full_delay_s)
    assert sized.packets >= 1
    # No window is smaller than 2 packets, whatever the target.
    path = rtt_s * sized.air.capacity_bps / 8 / packet
    assert sized.packets + path >= 2 - 1e-9
    least = sized.packets == 1 or sized.packets - 1 + path < 2
    assert full_s <= target_s * (1 + 1e-9) or least
    assert sized.packets <= sized.wanted.capacity_packets
    # One packet more would break the delay, or TCP has no use for it.
    assert sized.packets == sized.wanted.capacity_packets or (
        sized.packets + 1
    ) * sized.air.packet_s > target_s * (1 - 1e-9)
    assert full_s == pytest.approx(sized.packets * sized.air.packet_s)
    assert 0 <= sized.utilisation_at_least <= 1
    assert sized.air.capacity_bps < max(rates)
    advice = advice_for(sized, rtt_s=rtt_s, flows=flows, delay_target_s=target_s, control=control)
    jsonschema.validate(advice.to_json(), schema())
    assert advice.figure("queue_bytes") == sized.packets * (packet + 14)
    assert advice.figure("delay_mean_s") <= advice.figure("delay_full_s") * (1 + 1e-9)


def test_without_a_tight_target_the_queue_is_what_tcp_wants():
    sized = ap_queue([54e6], 0.1, 20, delay_target_s=1)
    assert sized.packets == sized.wanted.capacity_packets
    assert not sized.limited
    advice = advice_for(sized, delay_target_s=1)
    assert "better answer" not in advice.headline
    assert "RTT·C" in next(f.reason for f in advice.figures if f.name == "queue_packets")


def test_a_tight_target_makes_flow_queueing_the_better_answer():
    sized = ap_queue([54e6], 0.1, 1, delay_target_s=0.005)
    assert sized.limited
    advice = advice_for(sized, flows=1, delay_target_s=0.005)
    assert "FQ-CoDel" in advice.headline
    assert advice.alternatives[0].name == "FQ-CoDel"
    assert "better answer here" in advice.alternatives[0].why
    # Less than all: a queue of 5 ms on a path of 100 ms.
    assert 0.75 < advice.figure("utilisation_fraction") < 1


def test_a_target_that_costs_little_is_no_reason_against_a_fifo():
    sized = ap_queue([54e6], 0.1, 20)
    assert sized.limited
    assert not sized.torn
    advice = advice_for(sized)
    assert (
        "a queue of 47 packets would keep the air busy at least 96.8 % of the time if the downloads "
        "lose at different times." in advice.headline
    )
    assert "better answer here" not in advice.alternatives[0].why
    # Many flows over a short path: what does not fit into the queue ends in timeouts.
    crowd = ap_queue([11e6, 1e6], 0.1, 20, delay_target_s=0.3)
    assert crowd.utilisation_at_least > 0.99
    assert crowd.torn


def test_a_packet_longer_than_the_target_is_still_let_in():
    sized = ap_queue([1e6], 0.1, 4, delay_target_s=0.001)
    assert sized.packets == 1
    reason = next(
        f.reason for f in advice_for(sized, delay_target_s=0.001).figures if "limit" in f.label
    )
    assert "one packet alone" in reason


def test_a_path_of_less_than_a_packet_gets_two_and_the_reason():
    # A packet takes 14 ms: the path of 1 ms holds a fourteenth, and one of 20 ms more than one.
    sized = ap_queue([1e6], 0.001, 1)
    assert (sized.target_packets, sized.packets) == (1, 2)
    assert sized.path_packets == pytest.approx(0.001 / sized.air.packet_s)
    advice = advice_for(sized, rtt_s=0.001, flows=1)
    reason = next(f.reason for f in advice.figures if f.name == "queue_packets")
    assert "20 ms or not" in reason
    assert "fewer than 2" in reason
    # The rules that leave less than a window promise nothing.
    rules = advice.to_json()["tables"][0]["rows"]
    assert [row["utilisation_fraction"] for row in rules[:2]] == [None, None]
    assert ap_queue([1e6], 0.02, 1).packets == 1


def test_windows_too_small_to_mend_a_loss_are_said():
    # 30 flows on 11 Mb/s: the path holds 10 packets, 20 ms leave room for 9.
    crowd = ap_queue([11e6], 0.02, 30)
    assert crowd.timeouts
    assert crowd.torn
    assert crowd.flow_packets == pytest.approx((crowd.path_packets + crowd.packets) / 30)
    advice = advice_for(crowd, rtt_s=0.02, flows=30)
    assert "timeouts apart" in advice.headline
    assert any("0.62 packets of each flow" in caution for caution in advice.cautions)
    # With what TCP wants there are four of each.
    served = ap_queue([11e6], 0.02, 30, delay_target_s=10)
    assert served.flow_packets >= 4 - 1e-9
    assert not served.timeouts
    assert not any("timeout" in caution for caution in advice_for(served).cautions)


def test_commands_carry_the_numbers():
    sized = ap_queue([54e6], 0.1, 1, delay_target_s=1)
    assert sized.packets == 208
    advice = advice_for(sized, flows=1, device="wlp2s0", phy_device="phy3")
    lines = [line for entry in advice.settings for line in entry.lines]
    assert f"tc qdisc replace dev wlp2s0 root pfifo limit {sized.packets}" in lines
    assert f"iw phy phy3 set txq limit {sized.packets}" in lines
    assert {entry.target for entry in advice.settings} == {
        *("hostapd", "openwrt", "tc", "scenario")
    }


def test_fewer_downloads_than_stations_are_refused():
    with pytest.raises(ParameterError, match="one download for each station"):
        ap_queue([54e6, 6e6], 0.1, 1)


def test_a_path_longer_than_any_is_refused():
    with pytest.raises(ParameterError, match="60"):
        ap_queue([54e6], 61.0, 1)


def test_stations_of_different_rates_are_spoken_of():
    advice = advice_for(ap_queue([54e6, 6e6], 0.1, 2), flows=2)
    assert any("Slow stations" in caution for caution in advice.cautions)
    alone = advice_for(ap_queue([54e6], 0.1, 2), flows=2)
    assert not any("Slow stations" in caution for caution in alone.cautions)


def test_codel_leaves_room_for_one_access_and_follows_the_round_trip():
    fast = codel_for(500e6, 0.02, 0.001)
    assert (fast.target_s, fast.interval_s, fast.quantum_bytes) == (0.005, 0.1, 1514)
    slow = codel_for(0.5e6, 0.1, 0.024)
    assert slow.target_s >= 0.024
    far = codel_for(50e6, 0.6, 0.001)
    assert far.interval_s == 0.6
    # A long path holds more than the usual limit, all of which may arrive before CoDel drops.
    longest = codel_for(50e6, 10.0, 0.001)
    assert longest.limit_packets >= 50e6 * 10.0 / 8 / 1514 > fast.limit_packets
    for codel in (fast, slow, far):
        assert 0.05 - 1e-12 <= codel.target_s / codel.interval_s <= 0.1


def test_a_queue_holds_the_aggregates_that_the_rate_counts_on():
    # A path of 1 ms holds 48 packets; three stations are sent 64 at a time.
    one, three = (
        ap_queue([866.7e6] * n, 0.001, n, phy="ac-80mhz-2ss-sgi", delay_target_s=0.02)
        for n in (1, 3)
    )
    assert (one.packets, three.packets) == (64, 3 * 64)
    assert not one.slower
    reason = next(f.reason for f in advice_for(one).figures if f.name == "queue_packets")
    assert "aggregate" in reason
    short = ap_queue([866.7e6], 0.001, 1, phy="ac-80mhz-2ss-sgi", delay_target_s=0.001)
    assert short.slower
    assert any("aggregates" in said for said in advice_for(short).cautions)
    assert not any("aggregates" in said for said in advice_for(one).cautions)


def test_a_limit_in_bytes_waits_longer_for_small_packets_than_one_in_packets():
    air = cell([54e6])
    # 236 bytes with service and tail bits are 9 symbols of 216 bits; the rest as in the test above.
    lone_s = (28 + 7.5 * 9 + 20 + 9 * 4 + 6 + 10 + 20 + 2 * 4 + 6) * 1e-6
    assert lone_packet_s(air, 200) == pytest.approx(lone_s)
    sized = ap_queue([54e6], 0.1, 20)
    counted = advice_for(sized).alternatives[1]
    # 62,074 bytes are 290 frames of 214.
    assert f"delays by {text.seconds(290 * lone_s)}" in counted.why
    assert f"the limit in packets by {text.seconds(41 * lone_s)}" in counted.why


@pytest.mark.parametrize("rates", [{"rates_bps": [54e6]}, {"rates_bps": [866e6], "phy": AC}])
@pytest.mark.parametrize("packet_bytes", [68, 150, 200, 201, 300, 400, 700, 1500])
def test_small_packets_are_said_to_cost_more_where_they_do(rates, packet_bytes):
    sized = ap_queue(**rates, rtt_s=0.1, flows=1, packet_bytes=packet_bytes)
    in_bytes = sized.packets * (packet_bytes + 14) // 214
    longer = in_bytes * lone_packet_s(sized.air, 200) > float(sized.tooth.full_delay_s)
    said = [each.why for each in advice_for(sized).alternatives if "bfifo" in each.why]
    assert len(said) == (packet_bytes > 200 and longer)
    assert all(f"the same for packets of {packet_bytes:,} bytes" in why for why in said)


def test_the_air_in_use_says_what_it_assumes():
    advice = advice_for(ap_queue([54e6], 0.1, 20))
    in_step, better = (
        advice.figure("utilisation_in_step_fraction"),
        advice.figure("utilisation_fraction"),
    )
    # The saw tooth of all flows in step: 3/4 M^2 over M^2 + 1 - M, M = 1 + B/D.
    m = 1 + 41 / advice.figure("path_packets")
    assert in_step == pytest.approx(0.75 * m**2 / (m**2 + 1 - m))
    assert in_step < better
    assert f"{text.percent(in_step)} if together" in advice.headline
    alone = advice_for(ap_queue([54e6], 0.1, 1), flows=1)
    assert "one long download keeps" in alone.headline
    assert "if together" not in alone.headline


def test_a_slow_line_has_one_recommendation_and_the_lines_for_it():
    sized = ap_queue([54e6], 0.03, 4)
    slow, fast = (advice_for(sized, line_bps=bps) for bps in (16e6, 50e6))
    assert slow.headline.startswith("Shape the line on the router to 15.20 Mb/s")
    assert "Let the queue hold" not in slow.headline
    lines = [line for entry in slow.settings for line in entry.lines]
    assert "uci set sqm.airqueue.download='15200'" in lines
    assert any("cake bandwidth 15200kbit" in line for line in lines)
    # The access point is to be left as it is: no line changes it.
    assert not any("txq" in line or "pfifo" in line or "wlan0" in line for line in lines)
    assert "bottleneck is the line" not in fast.headline
    assert not any("sqm" in line for entry in fast.settings for line in entry.lines)
    # Whoever does not give the line is told what the numbers are for.
    assert "24.88 Mb/s" in fast.cautions[0]


def test_where_no_fifo_suits_flow_queueing_comes_first_in_words_and_lines():
    torn = ap_queue([54e6], 0.1, 1, delay_target_s=0.005)
    assert torn.torn
    advice = advice_for(torn, flows=1, delay_target_s=0.005)
    assert advice.headline.startswith("Use flow queueing (FQ-CoDel)")
    lines = [line for entry in advice.settings for line in entry.lines]
    assert "fq_codel" in lines[0]


def test_a_first_window_fits_where_the_delay_allows_it():
    short = ap_queue([54e6], 0.001, 1)
    assert short.packets == 10
    reason = next(f.reason for f in advice_for(short).figures if f.name == "queue_packets")
    assert "burst" in reason
    assert ap_queue([54e6], 0.001, 1, delay_target_s=0.001).packets == 2


def test_cubics_small_windows_are_forecast_as_the_line_they_follow():
    # Ten packets a flow at 100 ms: RFC 9438's line of Reno, f = 0.7, not the cubic.
    small = ap_queue([54e6], 0.1, 20, control="cubic")
    m = 1 + float(small.tooth.full_delay_s) / 0.1
    assert float(small.tooth.utilisation) == pytest.approx(0.51 * m**2 / (m**2 + 1 - 1.4 * m))
    # One flow of thousands of packets follows the cubic: v1 is where the window falls to the path.
    large = ap_queue([866.7e6], 0.2, 1, phy="ac-80mhz-2ss-sgi", control="cubic")
    m = 1 + float(large.tooth.full_delay_s) / 0.2
    v1 = ((1 - 1 / m) / 0.3) ** (1 / 3)
    by_hand = v1 + m * ((1 - v1) - 0.3 * (1 - v1**4) / 4)
    assert float(large.tooth.utilisation) == pytest.approx(by_hand)
