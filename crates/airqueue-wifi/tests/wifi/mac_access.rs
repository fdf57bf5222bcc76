//! When a station transmits: immediate access, backoff, and the countdown.

use crate::script;
use crate::script::{
    ACK_US, Answer, DATA_US, DIFS_US, EIFS_US, EXCHANGE_US, Ending, SLOT_US, Station, dcf, draws,
    edca, slots,
};
use airqueue_core::{FlowKey, Packet, Time};
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{Behaviour, CategoryConfig, FrameKind, MacConfig};
use airqueue_wifi::medium::RxOutcome;
use airqueue_wifi::phy::AccessCategory;

const ALL: [Behaviour; 3] = [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2];

/// Number of values of the smallest window: ns-2 has one fewer.
fn window(behaviour: Behaviour) -> u64 {
    if behaviour == Behaviour::Ns2 { 31 } else { 32 }
}

/// Transmission time of the first packet, which arrives at `at` µs at the only queue; the medium is idle from 0 on.
fn first_packet(behaviour: Behaviour, config: MacConfig, at: i64) -> i64 {
    let mut station = Station::new(behaviour, config);
    station.packets(0, at, 1).run(100_000);
    let data = station.data();
    assert_eq!(data.len(), 1);
    data[0]
}

#[test]
fn dcf_sends_at_once_what_comes_when_the_medium_has_been_idle_for_difs() {
    for at in [50, 51, 1000, 99_999] {
        assert_eq!(first_packet(Behaviour::Standard, dcf(), at), at);
    }
    for at in [0, 1, 30, 49] {
        assert_eq!(first_packet(Behaviour::Standard, dcf(), at), DIFS_US, "{at}");
    }
}

#[test]
fn edca_sends_at_the_slot_boundary_at_or_after_the_packet() {
    // AIFSN 3: boundaries at 70, 90, ...
    for (at, sent) in [(0, 70), (69, 70), (70, 70), (71, 90), (90, 90), (1005, 1010), (1010, 1010)]
    {
        let config = MacConfig::new(vec![edca(3, 32)]);
        assert_eq!(first_packet(Behaviour::Standard, config, at), sent);
    }
}

#[test]
fn ns3_counts_difs_from_the_packet_and_edca_slots_after_it() {
    for at in [0, 30, 1000] {
        assert_eq!(first_packet(Behaviour::Ns3, dcf(), at), at + DIFS_US);
    }
    for (at, sent) in [(0, 70), (69, 70), (71, 90), (90, 110), (1005, 1010), (1010, 1030)] {
        let config = MacConfig::new(vec![edca(3, 32)]);
        assert_eq!(first_packet(Behaviour::Ns3, config, at), sent, "{at}");
    }
}

#[test]
fn ns2_always_backs_off() {
    for at in [0, 30, 1000] {
        let backoff = slots(&mut draws(), 31) * SLOT_US;
        assert_eq!(first_packet(Behaviour::Ns2, dcf(), at), at + DIFS_US + backoff);
    }
}

/// The medium turns busy between a packet's arrival and its transmission without backoff.
#[test]
fn a_medium_that_turns_busy_before_immediate_access() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 30, 1).hears(40, 540, Ending::Noise).run(100_000);
        let backoff = match behaviour {
            Behaviour::Ns3 => 0,
            _ => slots(&mut draws(), window(behaviour)) * SLOT_US,
        };
        assert_eq!(station.data(), [540 + DIFS_US + backoff], "{behaviour:?}");
    }
}

#[test]
fn a_packet_that_finds_the_medium_busy_backs_off() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 200, 1).hears(100, 540, Ending::Noise).run(100_000);
        let backoff = slots(&mut draws(), window(behaviour)) * SLOT_US;
        assert_eq!(station.data(), [540 + DIFS_US + backoff], "{behaviour:?}");
    }
}

/// A queue with a counter of `count` slots, drawn while the medium was busy until 1000 µs.
fn counting(behaviour: Behaviour, category: CategoryConfig) -> (Station, i64) {
    let mut config = MacConfig::new(vec![category]);
    config.experimental = true;
    let mut station = Station::new(behaviour, config);
    station.packets(0, 500, 1).hears(100, 1000, Ending::Noise);
    (station, slots(&mut draws(), u64::from(category.w_min)))
}

/// A busy period of 500 µs that begins `x` µs into the idle period, for every x up to the transmission: afterwards the
/// counter continues from its value.
#[test]
fn busy_periods_cost_the_slots_that_the_rule_says() {
    for (behaviour, sense_delay) in [(Behaviour::Standard, 0), (Behaviour::Ns3, 4)] {
        for rule in [CountdownRule::Freeze, CountdownRule::Edca] {
            for aifsn in [2, 3] {
                let category = CategoryConfig { aifsn, countdown: rule, ..edca(aifsn, 32) };
                let aifs = 10 + SLOT_US * i64::from(aifsn);
                let (_, count) = counting(behaviour, category);
                assert!(count >= 3, "the draw is to show something");
                for x in 0..aifs + count * SLOT_US {
                    let (mut station, _) = counting(behaviour, category);
                    let (begins, ends) = (1000 + x, 1500 + x);
                    station.hears(begins, ends, Ending::Noise).run(100_000);
                    // The boundaries before the frame is noticed lie at aifs, aifs + slot, ... No slot ends at the
                    // first of them.
                    let noticed = x + sense_delay;
                    let boundaries = (0..=count).filter(|k| aifs + k * SLOT_US <= noticed).count();
                    let passed = match rule {
                        CountdownRule::Edca => boundaries as i64,
                        CountdownRule::Freeze => (boundaries as i64 - 1).max(0),
                    };
                    let expected = if noticed >= aifs + count * SLOT_US {
                        1000 + aifs + count * SLOT_US
                    } else {
                        ends + aifs + (count - passed) * SLOT_US
                    };
                    assert_eq!(station.data(), [expected], "{behaviour:?} {rule:?} {aifsn} {x}");
                }
            }
        }
    }
}

/// Two busy periods: the rest of the counter after the first continues in the second.
#[test]
fn a_counter_stands_still_again_and_again() {
    let (mut station, count) = counting(Behaviour::Standard, edca_as_dcf(32));
    // One whole slot passes before each busy period.
    station.hears(1000 + 75, 2000, Ending::Noise).hears(2000 + 75, 3000, Ending::Noise);
    station.run(100_000);
    assert_eq!(station.data(), [3000 + DIFS_US + (count - 2) * SLOT_US]);
}

fn edca_as_dcf(cw: u32) -> CategoryConfig {
    CategoryConfig { countdown: CountdownRule::Freeze, ..edca(2, cw) }
}

#[test]
fn a_transmission_at_the_boundary_where_others_begin_collides_whatever_comes_first() {
    for behaviour in ALL {
        let (mut station, count) = counting(behaviour, edca_as_dcf(32));
        let count = if behaviour == Behaviour::Ns2 { slots(&mut draws(), 31) } else { count };
        let at = 1000 + DIFS_US + count * SLOT_US;
        station.hears(at, at + 500, Ending::Error(RxOutcome::Deaf));
        station.run(at + 1);
        assert_eq!(station.data(), [at], "{behaviour:?}");
    }
}

/// In ns-3 a station notices a frame 4 µs after its beginning, and may transmit into the frame before.
#[test]
fn ns3_transmits_into_a_frame_that_it_has_not_noticed() {
    for (early, collides) in [(1, true), (4, true), (5, false)] {
        let (mut station, count) = counting(Behaviour::Ns3, edca_as_dcf(32));
        let at = 1000 + DIFS_US + count * SLOT_US;
        station.hears(at - early, at - early + 5000, Ending::Noise).run(at + 5);
        assert_eq!(station.data(), if collides { vec![at] } else { vec![] }, "{early}");
    }
}

/// In ns-3 a packet arrives for a queue while a frame is on the air that the station has not noticed, and into which
/// another of its queues will transmit. The backoff of the packet starts at its arrival; earlier slots do not count.
#[test]
fn a_packet_in_an_unnoticed_frame_waits_its_turn() {
    let config = MacConfig::new(vec![edca(2, 32), edca(2, 1)]);
    let mut station = Station::new(Behaviour::Ns3, config);
    station.packets(0, 500, 1).hears(100, 1000, Ending::Noise);
    let count = slots(&mut draws(), 32);
    let at = 1000 + DIFS_US + count * SLOT_US;
    station.packets(1, at - 1, 1).hears(at - 2, at + 5000, Ending::Noise).run(at);
    let sent: Vec<usize> = station.sent.iter().map(|sent| sent.frame.ac.index()).collect();
    assert_eq!((station.data(), sent), (vec![at], vec![0]));
    assert_eq!(station.mac.counters(AccessCategory::at(0)).internal_collisions, 0);
}

#[test]
fn a_backoff_follows_every_packet() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 1000, 3).run(100_000);
        let mut draws = draws();
        let mut at = match behaviour {
            Behaviour::Standard => 1000,
            Behaviour::Ns3 => 1000 + DIFS_US,
            Behaviour::Ns2 => 1000 + DIFS_US + slots(&mut draws, 31) * SLOT_US,
        };
        let mut expected = Vec::new();
        for _ in 0..3 {
            expected.push(at);
            at += EXCHANGE_US + DIFS_US + slots(&mut draws, window(behaviour)) * SLOT_US;
        }
        assert_eq!(station.data(), expected, "{behaviour:?}");
        assert_eq!(station.received.len(), 3);
    }
}

/// A packet that arrives during the post-backoff waits for the rest of it.
#[test]
fn post_backoff_goes_on_for_a_packet_that_comes_in_it() {
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let first = if behaviour == Behaviour::Ns3 { 1000 + DIFS_US } else { 1000 };
        let end = first + EXCHANGE_US;
        let count = slots(&mut draws(), 32);
        assert!(count > 2);
        let due = end + DIFS_US + count * SLOT_US;
        for at in [end, end + 1, end + DIFS_US, due - SLOT_US, due - 1] {
            let mut station = Station::new(behaviour, dcf());
            station.packets(0, 1000, 1).packets(0, at, 1).run(100_000);
            assert_eq!(station.data(), [first, due], "{behaviour:?} {at}");
        }
        // The post-backoff freezes like any backoff.
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 1000, 1).packets(0, end + 60, 1);
        station.hears(end + DIFS_US + SLOT_US, end + 2000, Ending::Noise).run(100_000);
        assert_eq!(station.data(), [first, end + 2000 + DIFS_US + (count - 1) * SLOT_US]);
    }
}

#[test]
fn a_packet_after_the_end_of_post_backoff_goes_as_the_first_did() {
    let end = 1000 + EXCHANGE_US;
    let due = end + DIFS_US + slots(&mut draws(), 32) * SLOT_US;
    for at in [due, due + 1, due + 5000] {
        let mut station = Station::new(Behaviour::Standard, dcf());
        station.packets(0, 1000, 1).packets(0, at, 1).run(100_000);
        assert_eq!(station.data(), [1000, at]);
        // Another busy period in between changes nothing.
        let mut station = Station::new(Behaviour::Standard, dcf());
        station.packets(0, 1000, 1).hears(due + 10_000, due + 11_000, Ending::Noise);
        station.packets(0, due + 20_000, 1).run(100_000);
        assert_eq!(station.data(), [1000, due + 20_000]);
    }
}

/// A counter that has ended without a packet is used up: the next packet that finds the medium busy draws a new one.
#[test]
fn a_spent_counter_is_not_used_again() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.packets(0, 1000, 1).hears(50_000, 51_000, Ending::Noise).packets(0, 50_500, 1);
    station.run(100_000);
    let mut draws = draws();
    slots(&mut draws, 32);
    assert_eq!(station.data(), [1000, 51_000 + DIFS_US + slots(&mut draws, 32) * SLOT_US]);
}

/// Under the EDCA rule a counter may reach zero at the boundary where another station begins. The queue then sends at
/// the end of the next AIFS, without another draw.
#[test]
fn edca_counts_down_to_zero_at_anothers_transmission() {
    let (mut station, count) = counting(Behaviour::Standard, edca(2, 32));
    let last = 1000 + DIFS_US + (count - 1) * SLOT_US;
    station.hears(last, last + 500, Ending::Noise).run(100_000);
    assert_eq!(station.data(), [last + 500 + DIFS_US]);
}

/// Each queue counts down during the other's AIFS and backoff; the queue with the longer AIFS begins later.
#[test]
fn queues_of_a_station_count_down_side_by_side() {
    let config = MacConfig::new(vec![edca(7, 32), edca(2, 32)]);
    let mut station = Station::new(Behaviour::Standard, config);
    station.hears(100, 1000, Ending::Noise).packets(0, 500, 1).packets(1, 600, 1).run(100_000);
    let mut draws = draws();
    let (low, high) = (slots(&mut draws, 32), slots(&mut draws, 32));
    let (low_at, high_at) = (1000 + 150 + low * SLOT_US, 1000 + 50 + high * SLOT_US);
    let order: Vec<usize> = station.sent.iter().map(|sent| sent.frame.ac.index()).collect();
    assert_ne!(low_at, high_at, "the draws are to show something");
    if high_at < low_at {
        let boundaries = if high_at < 1150 { 0 } else { (high_at - 1150) / SLOT_US + 1 };
        let next = high_at + EXCHANGE_US + 150 + (low - boundaries) * SLOT_US;
        assert_eq!((station.data(), order), (vec![high_at, next], vec![1, 0]));
    } else {
        let boundaries = (low_at - 1050) / SLOT_US + 1;
        let next = low_at + EXCHANGE_US + 50 + (high - boundaries) * SLOT_US;
        assert_eq!((station.data(), order), (vec![low_at, next], vec![0, 1]));
    }
}

/// Packets arrive for two queues on an idle medium. The queue with the shorter AIFS transmits first; the other has lost
/// immediate access and backs off.
#[test]
fn ones_own_transmission_ends_immediate_access_too() {
    let config = MacConfig::new(vec![edca(7, 32), edca(2, 32)]);
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 0, 1).packets(1, 0, 1).run(100_000);
    let low = slots(&mut draws(), 32);
    let first = 50;
    assert_eq!(station.data(), [first, first + EXCHANGE_US + 150 + low * SLOT_US]);
}

/// A response to a station does not reset the counter, but freezes it.
#[test]
fn the_counter_goes_on_after_a_response() {
    let (mut station, count) = counting(Behaviour::Standard, edca_as_dcf(32));
    let begins = 1000 + DIFS_US + SLOT_US;
    let ends = begins + DATA_US;
    let data = station.frame(FrameKind::Data, script::OTHER, script::ME, 258);
    station.hears(begins, ends, data).run(100_000);
    let (ack, end) = (ends + 10, ends + 10 + ACK_US);
    let own = end + DIFS_US + (count - 1) * SLOT_US;
    assert_eq!(station.log(), [(ack, FrameKind::Ack), (own, FrameKind::Data)]);
}

/// A station that receives a data frame up to 2000 µs, and the end of its ACK.
fn receiving(behaviour: Behaviour, config: MacConfig) -> (Station, i64) {
    let mut station = Station::new(behaviour, config);
    let data = station.frame(FrameKind::Data, script::OTHER, script::ME, 258);
    station.hears(2000 - DATA_US, 2000, data);
    (station, 2000 + script::SIFS_US + ACK_US)
}

/// The medium is idle for SIFS when a host answers a received frame at once, and the station's own ACK makes it busy. In
/// ns-3 only a packet that finds the medium busy needs a backoff.
#[test]
fn a_packet_before_ones_own_response_backs_off() {
    for behaviour in ALL {
        for config in [dcf(), MacConfig::new(vec![edca(2, 32)])] {
            for (at, idle) in [(2000, true), (2005, true), (2015, false), (2257, false)] {
                let (mut station, ack_ends) = receiving(behaviour, config.clone());
                station.packets(0, at, 1).run(100_000);
                let at_once = behaviour == Behaviour::Ns3 && idle;
                let values = window(behaviour);
                let backoff = if at_once { 0 } else { slots(&mut draws(), values) * SLOT_US };
                assert!(at_once || backoff > 0, "the draw is to show something");
                assert_eq!(
                    station.data(),
                    [ack_ends + DIFS_US + backoff],
                    "{behaviour:?} {:?} {at}",
                    config.categories[0].countdown
                );
            }
        }
    }
}

/// Two packets of an A-MPDU: the first is passed up while the frame is on the air, and the second after the frame.
#[test]
fn a_packet_within_an_ampdu_finds_the_medium_busy() {
    for within in [true, false] {
        let (mut station, ack_ends) = receiving(Behaviour::Ns3, dcf());
        let recipient = station.mac.add_recipient();
        station.run(2000);
        let packets = [0, 1].map(|id| Packet::new(id, FlowKey(0), 1000, Time::ZERO));
        let mpdus = packets.iter().map(|packet| (packet.id, packet, true));
        assert!(station.mac.receive_ampdu(recipient, mpdus));
        assert!(station.mac.received_within(recipient).map(|packet| packet.id).eq([0]));
        station.mac.on_passed_up_within(recipient, 1);
        assert_eq!(station.mac.received_within(recipient).next(), None);
        if within {
            station.packets(0, 2000, 1).run(2000);
        }
        assert_eq!(station.mac.end_within(), Some(recipient));
        assert_eq!(station.mac.end_within(), None);
        assert!(station.mac.received(recipient).map(|packet| packet.id).eq([1]));
        station.mac.on_passed_up(recipient, 1);
        if !within {
            station.packets(0, 2000, 1).run(2000);
        }
        station.run(100_000);
        let backoff = if within { slots(&mut draws(), 32) * SLOT_US } else { 0 };
        assert_eq!(station.data(), [ack_ends + DIFS_US + backoff]);
    }
}

/// EIFS replaces DIFS for all waiting packets, and for a packet that arrives during EIFS.
#[test]
fn immediate_access_waits_for_eifs_too() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.hears(100, 1000, Ending::Error(RxOutcome::Collided)).packets(0, 1100, 1).run(100_000);
    assert_eq!(station.data(), [1000 + EIFS_US]);
}

#[test]
fn a_station_without_packets_is_silent() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        let error = Ending::Error(RxOutcome::Collided);
        station.hears(100, 1000, error).packets(0, 500, 1).answers(&[Answer::Received]);
        station.hears(50_000, 51_000, error).hears(60_000, 60_100, Ending::Noise);
        station.run(1_000_000);
        assert_eq!(station.data().len(), 1);
    }
}
