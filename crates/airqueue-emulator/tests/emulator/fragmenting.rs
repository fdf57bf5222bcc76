//! Routers that fragment packets of IPv4 for a narrow link: each fragment is a packet of its own from there on.

use crate::common;
use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::{Emulation, Refusal};
use airqueue_scenario::Scenario;
use std::net::{IpAddr, Ipv4Addr};

/// phone - air - ap - isp (1400 B) - core (1280 B) - server (1500 B). The link to the core is slow.
const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": true}],
    "hosts": [
        {"name": "isp", "link": "ap", "delay": "5 ms", "mtu": "1400 B", "rate": "20 Mb/s"},
        {"name": "core", "link": "isp", "delay": "5 ms", "mtu": "1280 B", "rate": "1 Mb/s", "queue": {"limit": "50 packets"}},
        {"name": "server", "link": "core", "delay": "5 ms", "real": true}
    ]
}"#;
const PHONE: usize = 0;
const SERVER: usize = 1;

fn start(real: &[&str]) -> Emulation {
    let real: Vec<String> = real.iter().map(|name| (*name).to_owned()).collect();
    let emulated = Scenario::emulated(CELL, &real).unwrap();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    for place in 0..emulated.nodes.len() + emulated.routers.len() {
        emulation.set_address(place, IpAddr::V4(common::address(place)));
    }
    emulation
}

/// A datagram with this hop limit that routers may fragment.
fn datagram(from: usize, to: usize, hop_limit: u8, size: usize) -> Vec<u8> {
    let mut packet = common::datagram(from, to, 1000, 0, size);
    (packet[6], packet[8]) = (0, hop_limit);
    packet[28..].iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8);
    packet[10..12].fill(0);
    let words = packet[..20].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet
}

type Left = Vec<(usize, Vec<u8>, Time)>;

fn send(emulation: &mut Emulation, from: usize, packet: &[u8]) -> (Result<(), Refusal>, Left) {
    let (now, mut left) = (emulation.now(), Vec::new());
    let done = emulation.arrive(from, packet, now, &mut |of| {
        left.push((of.to, of.bytes.to_vec(), of.due));
    });
    while emulation.step(now + Span::from_secs(1), &mut |of| {
        left.push((of.to, of.bytes.to_vec(), of.due));
    }) {}
    assert_eq!(emulation.packets_held(), 0);
    (done, left)
}

/// More fragments, offset in bytes, bytes of data.
fn place(packet: &[u8]) -> (bool, usize, usize) {
    let offset = 8 * usize::from(u16::from_be_bytes([packet[6] & 0x1f, packet[7]]));
    (packet[6] & 0x20 != 0, offset, packet.len() - 20)
}

#[test]
fn each_router_fragments_for_its_link() {
    let mut emulation = start(&[]);
    let whole = datagram(PHONE, SERVER, 64, 1500);
    let (done, left) = send(&mut emulation, PHONE, &whole);
    assert_eq!(done, Ok(()));
    // 1480 bytes of data: 1376 and 104 behind the access point, where 1380 have room; of the first of these 1256 and 120
    // behind the provider's router, where 1260 have room.
    let places: Vec<_> = left.iter().map(|(_, bytes, _)| place(bytes)).collect();
    assert_eq!(places, [(true, 0, 1256), (true, 1256, 120), (false, 1376, 104)]);
    let data: Vec<u8> = left.iter().flat_map(|(_, bytes, _)| bytes[20..].to_vec()).collect();
    assert_eq!(data, whole[20..]);
    for (to, bytes, _) in &left {
        // Three routers.
        assert_eq!((*to, bytes[8], &bytes[4..6]), (SERVER, 61, &whole[4..6]));
    }
    // Each waits for those before it: 140 and 124 bytes take 1.12 and 0.992 ms at 1 Mb/s.
    let gaps: Vec<f64> =
        left.windows(2).map(|two| (two[1].2 - two[0].2).as_secs_f64() * 1e3).collect();
    assert!((gaps[0] - 1.12).abs() < 1e-3 && (gaps[1] - 0.992).abs() < 1e-3, "{gaps:?}");
    // The fragments take the packet's place in the figures of the pair.
    let (_, _, pair) = emulation.pairs().find(|(from, ..)| from.name == "phone").unwrap();
    assert_eq!((pair.offered.packets, pair.offered.bytes), (3, 1480 + 3 * 20));
    assert_eq!(pair.delivered, pair.offered);
    assert_eq!(emulation.refused().map(|(_, count)| count.packets).sum::<u64>(), 0);
}

#[test]
fn fragments_of_the_other_way_and_of_a_real_router() {
    let mut emulation = start(&[]);
    // From the server the narrow link comes first: its fragments fit everywhere.
    let (done, left) = send(&mut emulation, SERVER, &datagram(SERVER, PHONE, 64, 1500));
    let places: Vec<_> = left.iter().map(|(_, bytes, _)| place(bytes)).collect();
    assert_eq!((done, &places[..]), (Ok(()), &[(true, 0, 1256), (false, 1256, 224)][..]));
    // In the order of the file: phone, isp, server.
    let mut emulation = start(&["isp"]);
    let (done, left) = send(&mut emulation, 0, &datagram(0, 2, 64, 1500));
    assert_eq!((done, left.len()), (Ok(()), 3));
    assert!(left.iter().all(|(to, bytes, _)| (*to, bytes[8]) == (2, 61)));
    // What the real router's own pair has is what its programs have sent.
    let of_router = emulation.pairs().filter(|(from, ..)| from.name == "isp");
    assert!(of_router.into_iter().all(|(_, _, pair)| pair.offered.packets == 0));
}

#[test]
fn a_packet_that_fits_and_one_that_must_not_be_fragmented_are_as_before() {
    let mut emulation = start(&[]);
    let (done, left) = send(&mut emulation, PHONE, &datagram(PHONE, SERVER, 64, 1280));
    assert_eq!((done, left.len(), place(&left[0].1)), (Ok(()), 1, (false, 0, 1260)));
    let big = common::datagram(PHONE, SERVER, 1000, 0, 1500);
    let (done, left) = send(&mut emulation, PHONE, &big);
    assert_eq!((done, left.len()), (Err(Refusal::Oversize), 1));
    assert_eq!((left[0].0, &left[0].1[20..22]), (PHONE, &[3, 4][..]));
    // A packet that the sender's own link does not carry, the sender would have had to fragment.
    let (done, left) = send(&mut emulation, PHONE, &datagram(PHONE, SERVER, 64, 1600));
    assert_eq!((done, left.len()), (Err(Refusal::Oversize), 0));
}

#[test]
fn a_hop_limit_that_ends_behind_the_narrow_link_is_told_once() {
    let mut emulation = start(&[]);
    let (done, left) = send(&mut emulation, PHONE, &datagram(PHONE, SERVER, 3, 1500));
    assert_eq!(done, Err(Refusal::HopLimit));
    // The core's router answers the first fragment alone (RFC 792).
    let [(PHONE, bytes, _)] = &left[..] else { panic!("{left:?}") };
    let core = emulation.routers().iter().position(|name| name == "core").unwrap() + 2;
    assert_eq!(bytes[12..16], Ipv4Addr::octets(&common::address(core)));
    assert_eq!(bytes[20..22], [11, 0]);
    let quoted = &bytes[28..];
    assert_eq!((quoted[6] & 0x20, quoted[8], &quoted[2..4]), (0x20, 1, &1276u16.to_be_bytes()[..]));
    assert_eq!(emulation.answered(Refusal::HopLimit), 1);
    let (_, _, pair) = emulation.pairs().next().unwrap();
    assert_eq!(pair.offered.packets, 0);
}

#[test]
fn lost_fragments_are_lost_packets_of_the_pair() {
    // 2000 packets at once: the queues before the slow link are full.
    let mut emulation = start(&[]);
    let whole = datagram(PHONE, SERVER, 64, 1500);
    let mut left = 0;
    for at in 0..2000 {
        let now = Time::ZERO + Span::from_micros(400 * at);
        emulation.arrive(PHONE, &whole, now, &mut |_| left += 1).unwrap();
    }
    while emulation.step(Time::ZERO + Span::from_secs(60), &mut |_| left += 1) {}
    let (_, _, pair) = emulation.pairs().find(|(from, ..)| from.name == "phone").unwrap();
    let gone = pair.delivered.packets + pair.dropped.packets + pair.lost.packets;
    assert_eq!((pair.offered.packets, pair.delivered.packets), (gone, left));
    assert!(pair.dropped.packets > 0 && left > 100, "{pair:?}");
    assert_eq!(emulation.packets_held(), 0);
}
