//! Hostile packets: each is refused and counted, or carried and accounted for.

use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;
use etherparse::PacketBuilder;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap", "real": true}, {"name": "phone", "real": true}]
}"#;
/// `AIRQUEUE_HOSTILE_PACKETS` overrides this number.
const PACKETS: u64 = 50_000;

/// A whole packet of either family, with extension headers now and then.
fn whole(random: &mut RandomStream) -> Vec<u8> {
    let payload = vec![0; random.below(1600) as usize];
    let mut packet = Vec::new();
    if random.bernoulli(0.5) {
        let builder = PacketBuilder::ipv4([10, 0, 0, 0], [10, 0, 0, 1], 64).udp(1, 2);
        builder.write(&mut packet, &payload).unwrap();
    } else {
        let builder = PacketBuilder::ipv6([0; 16], [1; 16], 64).udp(1, 2);
        builder.write(&mut packet, &payload).unwrap();
    }
    packet
}

/// A packet with random bytes changed, cut, or added: fragments, wrong lengths and versions, broken chains of headers.
fn hostile(random: &mut RandomStream) -> Vec<u8> {
    let mut packet = whole(random);
    match random.below(5) {
        0 => {}
        1 => packet.truncate(random.below(packet.len() as u64 + 1) as usize),
        2 => packet.extend((0..random.below(40)).map(|n| n as u8)),
        3 => packet.iter_mut().for_each(|byte| *byte = random.next_u64() as u8),
        _ => {
            // Headers alone: what follows them means nothing to the network.
            let headers = packet.len().min(48) as u64;
            for _ in 0..=random.below(4) {
                packet[random.below(headers) as usize] = random.next_u64() as u8;
            }
        }
    }
    packet
}

#[test]
fn every_packet_is_accounted_for() {
    let emulated = Scenario::emulated(CELL, &[]).unwrap();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    for node in 0..2 {
        emulation.set_address(node, IpAddr::V4(Ipv4Addr::from([10, 0, 0, node as u8])));
        emulation.set_address(node, IpAddr::V6(Ipv6Addr::from([node as u8; 16])));
    }
    let given = std::env::var("AIRQUEUE_HOSTILE_PACKETS");
    let packets = given.map_or(PACKETS, |text| text.parse().expect("a number of packets"));
    let mut random = Seed(1).stream("hostile");
    let (mut now, mut arrived) = (Time::ZERO, 0);
    for _ in 0..packets {
        let packet = hostile(&mut random);
        now += Span::from_micros(200);
        let _ = emulation.arrive(0, &packet, now, &mut |_| arrived += 1);
    }
    while emulation.step(now + Span::from_secs(10), &mut |_| arrived += 1) {}
    let refused: u64 = emulation.refused().map(|(_, count)| count.packets).sum();
    let (_, _, counters) = emulation.pairs().next().unwrap();
    assert_eq!(refused + counters.offered.packets, packets);
    let gone = counters.delivered.packets + counters.dropped.packets + counters.lost.packets;
    assert_eq!((counters.offered.packets, emulation.packets_held()), (gone, 0));
    assert_eq!(counters.delivered.packets, arrived);
    // The test is to see packets of both fates.
    assert!(
        refused > packets / 10 && arrived > packets / 10,
        "{refused} refused, {arrived} arrived"
    );
}

#[test]
fn bytes_of_which_no_packet_can_be_made_are_counted() {
    let emulated = Scenario::emulated(CELL, &[]).unwrap();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    let now = Time::ZERO + Span::from_millis(1);
    emulation.refuse(0, &[0; 70], now);
    assert_eq!(emulation.now(), now);
    let refused: Vec<_> = emulation.refused().filter(|(_, count)| count.packets > 0).collect();
    let [(why, count)] = refused[..] else { panic!("{refused:?}") };
    assert_eq!((why.name(), count.packets, count.bytes), ("malformed", 1, 70));
}
