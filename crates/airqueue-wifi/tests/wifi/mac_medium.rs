//! Effect of frames for other stations: EIFS, NAV, and responses sent or omitted.

use crate::script;
use crate::script::{
    ACK_US, Answer, DATA_US, DIFS_US, EIFS_US, EXCHANGE_US, Ending, ME, OTHER, PEER, RTS_US,
    SIFS_US, SLOT_US, Station, THIRD, dcf, draws, eager, edca, slots,
};
use airqueue_wifi::mac::{Behaviour, FrameKind, MacConfig};
use airqueue_wifi::medium::RxOutcome;
use airqueue_wifi::phy::AccessCategory;

const ERROR: Ending = Ending::Error(RxOutcome::Collided);

/// A station with zero backoff that gets a packet at 500 µs, while it senses the first of several frames.
fn waiting(behaviour: Behaviour) -> Station {
    let mut config = eager();
    if behaviour == Behaviour::Ns2 {
        // ns-2 draws from one value fewer.
        config.experimental = true;
        (config.categories[0].w_min, config.categories[0].w_max) = (2, 2);
    }
    let mut station = Station::new(behaviour, config);
    station.packets(0, 500, 1);
    station
}

#[test]
fn eifs_follows_a_frame_in_error() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let mut station = waiting(behaviour);
        station.hears(100, 1000, ERROR).run(100_000);
        assert_eq!(station.data(), [1000 + EIFS_US], "{behaviour:?}");
    }
}

#[test]
fn ns2_waits_eifs_and_then_difs() {
    let mut station = waiting(Behaviour::Ns2);
    station.hears(100, 1000, ERROR).run(100_000);
    assert_eq!(station.data(), [1000 + EIFS_US + DIFS_US]);
}

/// EIFS - DIFS + AIFS (IEEE 802.11-2016, 10.3.2.3.7).
#[test]
fn eifs_of_an_edca_queue_ends_with_its_own_aifs() {
    let mut station = Station::new(Behaviour::Standard, MacConfig::new(vec![edca(7, 1)]));
    station.packets(0, 500, 1).hears(100, 1000, ERROR).run(100_000);
    assert_eq!(station.data(), [1000 + EIFS_US - DIFS_US + 150]);
}

#[test]
fn a_frame_that_was_only_sensed_costs_no_eifs() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        let mut station = waiting(behaviour);
        station.hears(100, 1000, Ending::Noise).run(100_000);
        assert_eq!(station.data(), [1000 + DIFS_US], "{behaviour:?}");
    }
}

/// A decoded frame ends EIFS; in ns-2 EIFS is a NAV, which a frame does not end. An undecoded frame ends nothing.
#[test]
fn a_decoded_frame_ends_eifs() {
    for (behaviour, expected) in [
        (Behaviour::Standard, 1200 + DIFS_US),
        (Behaviour::Ns3, 1200 + DIFS_US),
        (Behaviour::Ns2, 1000 + EIFS_US + DIFS_US),
    ] {
        let mut station = waiting(behaviour);
        let ack = station.frame(FrameKind::Ack, OTHER, THIRD, 0);
        station.hears(100, 1000, ERROR).hears(1020, 1200, ack).run(100_000);
        assert_eq!(station.data(), [expected], "{behaviour:?}");
    }
    let mut station = waiting(Behaviour::Standard);
    station.hears(100, 1000, ERROR).hears(1020, 1200, Ending::Noise).run(100_000);
    assert_eq!(station.data(), [1000 + EIFS_US]);
    let mut station = waiting(Behaviour::Standard);
    station.hears(100, 1000, ERROR).hears(1020, 1200, ERROR).run(100_000);
    assert_eq!(station.data(), [1200 + EIFS_US]);
}

/// No counter counts down during EIFS.
#[test]
fn a_counter_stands_still_in_eifs() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.packets(0, 500, 1).hears(100, 1000, ERROR).hears(1300, 2000, Ending::Noise);
    station.run(100_000);
    assert_eq!(station.data(), [2000 + DIFS_US + slots(&mut draws(), 32) * SLOT_US]);
}

/// Two stations transmit at once, the other one at least as long: only ns-2 counts an error.
#[test]
fn a_frame_during_ones_own_is_an_error_for_ns2_alone() {
    for (behaviour, wait) in [
        (Behaviour::Standard, DIFS_US),
        (Behaviour::Ns3, DIFS_US),
        (Behaviour::Ns2, EIFS_US + DIFS_US),
    ] {
        // The other station still transmits after the time-out of the sender.
        let mut station = waiting(behaviour);
        station.hears(100, 1000, Ending::Noise).answers(&[Answer::None]);
        let own = 1000 + DIFS_US;
        let end = own + DATA_US + 1000;
        station.hears(own, end, Ending::Error(RxOutcome::Deaf)).run(end + 500);
        assert_eq!(station.data(), [own, end + wait], "{behaviour:?}");
    }
}

#[test]
fn a_nav_keeps_a_station_silent() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        for kind in [FrameKind::Data, FrameKind::Cts] {
            let mut station = waiting(behaviour);
            let frame = station.frame(kind, OTHER, THIRD, 3000);
            station.hears(100, 1000, frame).run(100_000);
            assert_eq!(station.data(), [4000 + DIFS_US], "{behaviour:?} {kind:?}");
        }
    }
}

#[test]
fn the_latest_end_of_a_nav_counts() {
    for (second, end) in [(2000, 4000), (2800, 4000), (2801, 4001), (9000, 10_200)] {
        let mut station = waiting(Behaviour::Standard);
        let first = station.frame(FrameKind::Data, OTHER, THIRD, 3000);
        let second = station.frame(FrameKind::Data, THIRD, OTHER, second);
        station.hears(100, 1000, first).hears(1010, 1200, second).run(100_000);
        assert_eq!(station.data(), [end + DIFS_US]);
    }
}

/// No event marks the end of a NAV, and no counter counts down before it.
#[test]
fn counters_stand_still_under_a_nav() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    let data = station.frame(FrameKind::Data, OTHER, THIRD, 3000);
    station.packets(0, 500, 1).hears(100, 1000, data).hears(3500, 5000, Ending::Noise);
    station.run(100_000);
    assert_eq!(station.data(), [5000 + DIFS_US + slots(&mut draws(), 32) * SLOT_US]);
}

#[test]
fn a_packet_under_a_nav_backs_off() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    let data = station.frame(FrameKind::Data, OTHER, THIRD, 3000);
    station.hears(100, 1000, data).packets(0, 2000, 1).run(100_000);
    assert_eq!(station.data(), [4000 + DIFS_US + slots(&mut draws(), 32) * SLOT_US]);
}

/// The Duration of frames addressed to a station sets no NAV there (10.3.2.4), and neither does that of its own frames.
#[test]
fn frames_for_oneself_set_no_nav() {
    let mut station = waiting(Behaviour::Standard);
    let data = station.frame(FrameKind::Data, OTHER, ME, 9000);
    station.hears(100, 1000, data).run(100_000);
    let ack_end = 1000 + SIFS_US + ACK_US;
    assert_eq!(station.log(), [(1010, FrameKind::Ack), (ack_end + DIFS_US, FrameKind::Data)]);
}

/// From the end of an RTS: SIFS, CTS, SIFS, preamble, two slots.
const NAV_RESET_US: i64 = SIFS_US + ACK_US + SIFS_US + 192 + 2 * SLOT_US;

#[test]
fn the_nav_of_an_rts_is_taken_back_if_nothing_follows() {
    for (behaviour, end) in [
        (Behaviour::Standard, 1000 + NAV_RESET_US),
        (Behaviour::Ns3, 1000 + NAV_RESET_US),
        (Behaviour::Ns2, 4000),
    ] {
        let mut station = waiting(behaviour);
        let rts = station.frame(FrameKind::Rts, OTHER, THIRD, 3000);
        station.hears(100, 1000, rts).run(100_000);
        assert_eq!(station.data(), [end + DIFS_US], "{behaviour:?}");
    }
}

#[test]
fn it_stays_if_something_follows() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        for begins in [1010, 1268, 1000 + NAV_RESET_US - 192] {
            let mut station = waiting(behaviour);
            let rts = station.frame(FrameKind::Rts, OTHER, THIRD, 3000);
            station.hears(100, 1000, rts).hears(begins, 2500, Ending::Noise).run(100_000);
            assert_eq!(station.data(), [4000 + DIFS_US], "{behaviour:?} {begins}");
        }
    }
}

/// The next frame must have begun in time, its preamble included.
#[test]
fn a_frame_after_the_nav_was_taken_back_does_not_bring_it_again() {
    let mut station = waiting(Behaviour::Standard);
    let rts = station.frame(FrameKind::Rts, OTHER, THIRD, 9000);
    let reset = 1000 + NAV_RESET_US;
    station.hears(100, 1000, rts).hears(reset + 1, reset + 100, Ending::Noise).run(100_000);
    assert_eq!(station.data(), [reset + 100 + DIFS_US]);
    let mut station = waiting(Behaviour::Standard);
    station.hears(100, 1000, rts).hears(reset - 191, reset + 100, Ending::Noise).run(100_000);
    assert_eq!(station.data(), [reset + 100 + DIFS_US]);
}

/// An RTS that announces less than the present NAV does not reset it.
#[test]
fn an_rts_takes_back_its_own_nav_only() {
    let mut station = waiting(Behaviour::Standard);
    let data = station.frame(FrameKind::Data, OTHER, THIRD, 5000);
    let rts = station.frame(FrameKind::Rts, THIRD, OTHER, 2000);
    station.hears(100, 1000, data).hears(1100, 1372, rts).run(100_000);
    assert_eq!(station.data(), [6000 + DIFS_US]);
}

#[test]
fn an_rts_is_answered_sifs_later() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        let mut station = Station::new(behaviour, dcf());
        let rts = station.frame(FrameKind::Rts, OTHER, ME, 2000);
        station.hears(100, 100 + RTS_US, rts).run(100_000);
        assert_eq!(station.log(), [(100 + RTS_US + SIFS_US, FrameKind::Cts)]);
        let cts = station.sent[0].frame;
        assert_eq!((cts.from, cts.to), (ME, OTHER));
        // The rest of the exchange (9.3.1.3).
        assert_eq!(cts.nav.as_nanos(), (2000 - SIFS_US - ACK_US) * 1000);
    }
}

#[test]
fn no_cts_under_a_nav() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        for (nav, answered) in [(3000, false), (400, true)] {
            let mut station = Station::new(behaviour, dcf());
            let data = station.frame(FrameKind::Data, OTHER, THIRD, nav);
            let rts = station.frame(FrameKind::Rts, PEER, ME, 2000);
            station.hears(100, 1000, data).hears(1200, 1472, rts).run(100_000);
            let expected = if answered { vec![(1482, FrameKind::Cts)] } else { vec![] };
            assert_eq!(station.log(), expected, "{behaviour:?}");
        }
    }
}

/// A station with QoS answers the holder of the TXOP that set its NAV, whether it has heard the holder or a response to
/// it (IEEE 802.11-2016, 10.22.2.4), and nobody else; a station under DCF answers no one (10.3.2.7).
#[test]
fn a_cts_for_the_txop_holder_under_its_own_nav() {
    let qos = || MacConfig::new(vec![edca(7, 32), edca(2, 16)]);
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        for (config, kind, from, to) in [
            (qos(), FrameKind::Data, OTHER, THIRD),
            (qos(), FrameKind::Ack, THIRD, OTHER),
            (qos(), FrameKind::Cts, THIRD, OTHER),
            (dcf(), FrameKind::Data, OTHER, THIRD),
        ] {
            let has_qos = config.categories.len() > 1;
            for (asks, answered) in [(OTHER, has_qos), (THIRD, false), (PEER, false)] {
                let mut station = Station::new(behaviour, config.clone());
                let of_txop = station.frame(kind, from, to, 9000);
                let rts = station.frame(FrameKind::Rts, asks, ME, 2000);
                station.packets(0, 500, 1).hears(100, 1000, of_txop).hears(1200, 1472, rts);
                station.run(9000);
                let expected = if answered { vec![(1482, FrameKind::Cts)] } else { vec![] };
                assert_eq!(station.log(), expected, "{behaviour:?} {kind:?} {asks:?}");
            }
        }
    }
}

/// The NAV blocks new exchanges and CTS, but not ACKs (10.3.2.9).
#[test]
fn an_ack_is_sent_under_a_nav() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2] {
        let mut station = Station::new(behaviour, dcf());
        let announced = station.frame(FrameKind::Data, OTHER, THIRD, 9000);
        let data = station.frame(FrameKind::Data, PEER, ME, 258);
        station.hears(100, 1000, announced).hears(1200, 2392, data).run(100_000);
        assert_eq!(station.log(), [(2402, FrameKind::Ack)], "{behaviour:?}");
    }
}

/// A frame of a third station begins in the SIFS before the response.
#[test]
fn answers_do_not_look_at_the_medium_but_the_cts_of_ns2_does() {
    for (behaviour, sent) in [(Behaviour::Standard, 1), (Behaviour::Ns3, 1), (Behaviour::Ns2, 0)] {
        let mut station = Station::new(behaviour, dcf());
        let rts = station.frame(FrameKind::Rts, OTHER, ME, 2000);
        station.hears(100, 372, rts).hears(375, 9000, Ending::Noise).run(100_000);
        assert_eq!(station.log().len(), sent, "{behaviour:?}");
        let mut station = Station::new(behaviour, dcf());
        let data = station.frame(FrameKind::Data, OTHER, ME, 258);
        station.hears(100, 1292, data).hears(1295, 9000, Ending::Noise).run(100_000);
        assert_eq!(station.log(), [(1302, FrameKind::Ack)], "{behaviour:?}");
    }
}

/// In ns-2 data after a CTS needs an idle medium; otherwise the exchange restarts with an RTS.
#[test]
fn data_behind_a_cts_when_a_third_station_begins() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns2] {
        let mut config = dcf();
        config.rts_threshold_bytes = 0;
        let mut station = Station::new(behaviour, config);
        station.packets(0, 500, 1).hears(100, 1000, Ending::Noise);
        let mut draws = draws();
        let window = if behaviour == Behaviour::Ns2 { 31 } else { 32 };
        let rts = 1000 + DIFS_US + slots(&mut draws, window) * SLOT_US;
        let cts_end = rts + RTS_US + SIFS_US + ACK_US;
        station.hears(cts_end + 5, cts_end + 900, Ending::Noise).run(100_000);
        let log = station.log();
        assert_eq!(log[0], (rts, FrameKind::Rts));
        if behaviour == Behaviour::Standard {
            assert_eq!(log[1..], [(cts_end + SIFS_US, FrameKind::Data)]);
            continue;
        }
        let again = cts_end + 900 + DIFS_US + slots(&mut draws, 63) * SLOT_US;
        let data = again + RTS_US + SIFS_US + ACK_US + SIFS_US;
        assert_eq!(log[1..], [(again, FrameKind::Rts), (data, FrameKind::Data)]);
        let counters = station.mac.counters(AccessCategory::at(0));
        assert_eq!((counters.attempts, counters.failures, counters.acknowledged), (2, 1, 1));
    }
}

/// The counter runs during the SIFS before the response as it would without the response, since AIFS is longer.
#[test]
fn a_frame_for_a_station_with_packets() {
    let mut station = waiting(Behaviour::Standard);
    let data = station.frame(FrameKind::Data, PEER, ME, 258);
    station.hears(100, 1292, data).run(100_000);
    let own = 1302 + ACK_US + DIFS_US;
    assert_eq!(station.log(), [(1302, FrameKind::Ack), (own, FrameKind::Data)]);
    assert_eq!(station.fates[0].0, own + EXCHANGE_US);
}

/// Busy time is the union of what a station senses and sends.
#[test]
fn busy_time_counts_overlaps_once() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.hears(100, 1000, Ending::Noise).hears(500, 1500, Ending::Noise).run(1600);
    let busy_us = |station: &Station, at| station.mac.busy_time(script::us(at)).as_nanos() / 1000;
    assert_eq!(busy_us(&station, 1600), 1400);
    // The station's own frame, and another that begins during it and ends later.
    station.packets(0, 5000, 1).hears(5100, 7000, Ending::Noise).answers(&[Answer::None]);
    station.run(5500);
    assert_eq!(busy_us(&station, 5500), 1900);
    station.run(7010);
    assert_eq!(busy_us(&station, 7010), 3400);
}
