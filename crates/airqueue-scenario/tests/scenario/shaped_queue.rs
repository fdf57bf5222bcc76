//! A stand-alone queue of a scenario, against results computed by hand.

use airqueue_core::{DataRate, DropReason, FlowKey, Packet, Seed, Span, Time};
use airqueue_network::bottleneck::Outcome;
use airqueue_scenario::shaped_queue;

fn rate() -> DataRate {
    DataRate::from_bps(8_000_000).unwrap()
}

/// 1000 bytes per millisecond from a bucket of 1000: the first packet leaves at once, then one every millisecond; at
/// time zero two packets find room behind the first, and at 10 ms the bucket is full again.
#[test]
fn every_packet_has_one_fate_at_its_time() {
    let queue = shaped_queue(r#"{"limit": "2 packets"}"#, rate(), 1000, Seed(1)).expect("a queue");
    let mut device = queue.device;
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let packets = [0, 0, 0, 0, 10]
        .into_iter()
        .zip(0..)
        .map(|(ms, id)| Packet::new(id, FlowKey(0), 1000, at(ms)));
    let mut found = Vec::new();
    device.replay(packets, |now, outcome| found.push((now, outcome)));
    let fates: Vec<_> = found
        .iter()
        .map(|(now, outcome)| match outcome {
            Outcome::Delivered(packet) => (*now, packet.id, None),
            Outcome::Dropped(packet, reason) => (*now, packet.id, Some(*reason)),
            Outcome::Lost(packet) => panic!("{packet:?} is lost without a loss"),
        })
        .collect();
    let expected = [
        (at(0), 0, None),
        (at(0), 3, Some(DropReason::Tail)),
        (at(1), 1, None),
        (at(2), 2, None),
        (at(10), 4, None),
    ];
    assert_eq!(fates, expected);
}

#[test]
fn errors_name_their_key() {
    let wrong = |text| shaped_queue(text, rate(), 1540, Seed(1)).expect_err("an error").key;
    assert_eq!(wrong(r#"{"discipline": "pie", "pie": {"behaviour": "bsd"}}"#), "pie.behaviour");
    assert_eq!(wrong(r#"{"discipline": "pie", "codel": {}}"#), "queue.codel");
    assert_eq!(wrong(r#"{"discipline": "pie", "pie": {"update": "0 s"}}"#), "queue.pie.update");
    assert_eq!(wrong(r#"{"discipline": "mac80211"}"#), "queue.discipline");
    assert_eq!(wrong("[]"), "");
}
