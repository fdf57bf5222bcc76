//! Routers between real nodes: what they stop, what they answer, and what they fragment, by the RFCs.

use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::{Emulation, Refusal};
use airqueue_scenario::Scenario;
use airqueue_scenario::emulated::Emulated;
use etherparse::{IpSlice, PacketBuilder};
use std::net::IpAddr;

/// phone - air - ap - isp (1400 B) - server, and a guest at the access point.
const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": true}, {"name": "guest", "real": true}],
    "hosts": [
        {"name": "isp", "link": "ap", "delay": "5 ms", "mtu": "1400 B"},
        {"name": "server", "link": "isp", "delay": "20 ms", "real": true}
    ]
}"#;
const PHONE: usize = 0;
const GUEST: usize = 1;
const SERVER: usize = 2;
const AP: usize = 3;
const ISP: usize = 4;

fn address(place: usize, v6: bool) -> IpAddr {
    let text = match v6 {
        false => format!("10.213.0.{}", place + 1),
        true => format!("fd00::{}", place + 1),
    };
    text.parse().unwrap()
}

fn emulated() -> Emulated {
    Scenario::emulated(CELL, &[]).unwrap()
}

fn start() -> Emulation {
    let emulated = emulated();
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    for place in 0..emulated.nodes.len() + emulated.routers.len() {
        for v6 in [false, true] {
            emulation.set_address(place, address(place, v6));
        }
    }
    emulation.add_prefix("10.213.0.0".parse().unwrap(), 16);
    emulation.add_prefix("fd00::".parse().unwrap(), 64);
    emulation
}

fn datagram(from: IpAddr, to: IpAddr, hop_limit: u8, size: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            PacketBuilder::ipv4(from.octets(), to.octets(), hop_limit)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            PacketBuilder::ipv6(from.octets(), to.octets(), hop_limit)
        }
        _ => panic!("one family"),
    };
    let headers = if from.is_ipv4() { 28 } else { 48 };
    builder.udp(1000, 33434).write(&mut packet, &vec![7; size - headers]).unwrap();
    packet
}

/// The sum of 16-bit words is 0xffff where the checksum is right (RFC 1071).
fn sums_up(parts: &[&[u8]]) -> bool {
    let bytes = parts.concat();
    let words =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

/// An ICMP message: source, type, code, bytes 5 to 8, and the packet inside. Checks lengths and checksums.
#[derive(Debug, PartialEq)]
struct Message {
    from: IpAddr,
    to: IpAddr,
    kind: (u8, u8),
    rest: u32,
    inside: Vec<u8>,
}

fn message(packet: &[u8]) -> Message {
    let ip = IpSlice::from_slice(packet).unwrap();
    let icmp = ip.payload().payload;
    let pseudo = match (ip.source_addr(), ip.destination_addr()) {
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let length = (icmp.len() as u32).to_be_bytes();
            [&from.octets()[..], &to.octets(), &length, &[0, 0, 0, 58]].concat()
        }
        _ => {
            assert!(sums_up(&[&packet[..20]]), "the header's checksum");
            assert_eq!(packet[1], 48 << 2, "internetwork control");
            Vec::new()
        }
    };
    assert!(sums_up(&[&pseudo, icmp]), "the checksum of ICMP");
    Message {
        from: ip.source_addr(),
        to: ip.destination_addr(),
        kind: (icmp[0], icmp[1]),
        rest: u32::from_be_bytes(icmp[4..8].try_into().unwrap()),
        inside: icmp[8..].to_vec(),
    }
}

type Left = Vec<(usize, Vec<u8>, Time)>;

/// A node sends a packet; what leaves the network in the second after.
fn send(emulation: &mut Emulation, from: usize, packet: &[u8]) -> (Result<(), Refusal>, Left) {
    let (now, mut left) = (emulation.now(), Vec::new());
    let done = emulation.arrive(from, packet, now, &mut |of| {
        left.push((of.to, of.bytes.to_vec(), of.due));
    });
    let until = now + Span::from_secs(1);
    while emulation.step(until, &mut |of| left.push((of.to, of.bytes.to_vec(), of.due))) {}
    let _ = emulation.arrive(from, &[], until, &mut |_| {});
    assert_eq!(emulation.packets_held(), 0);
    (done, left)
}

fn hop_limit(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[8] } else { packet[7] }
}

#[test]
fn routers_forward_from_and_to_wires_and_bridges_over_the_air() {
    let emulated = emulated();
    assert_eq!(emulated.routers, ["ap", "isp"]);
    let mtus: Vec<u32> = emulated.nodes.iter().map(|node| node.mtu_bytes).collect();
    assert_eq!(mtus, [1500; 3]);
    let routers = |from, to| -> Vec<(usize, u32)> {
        let pair = emulated.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to)).unwrap();
        pair.routers.iter().map(|passage| (passage.router, passage.mtu_bytes)).collect()
    };
    assert_eq!(routers(PHONE, SERVER), [(AP, 1400), (ISP, 1500)]);
    assert_eq!(routers(SERVER, PHONE), [(ISP, 1400), (AP, 1500)]);
    assert_eq!(routers(PHONE, GUEST), []);
    assert_eq!(routers(PHONE, ISP), [(AP, 1400)]);
    assert_eq!(routers(ISP, PHONE), [(AP, 1500)]);
    assert_eq!(routers(AP, PHONE), []);
}

#[test]
fn a_host_behind_a_narrow_link_has_a_device_with_its_mtu() {
    let text = CELL.replace(r#""delay": "20 ms","#, r#""delay": "20 ms", "mtu": "1280 B","#);
    let emulated = Scenario::emulated(&text, &["isp".to_owned()]).unwrap();
    let mtus: Vec<(String, u32)> =
        emulated.nodes.iter().map(|node| (node.name.clone(), node.mtu_bytes)).collect();
    let expected = [("phone", 1500), ("guest", 1500), ("isp", 1280), ("server", 1280)];
    assert_eq!(mtus, expected.map(|(name, mtu)| (name.to_owned(), mtu)));
    assert_eq!(emulated.routers, ["ap"]);
}

#[test]
fn every_router_says_that_time_is_exceeded_and_the_delay_is_that_of_its_place() {
    for v6 in [false, true] {
        let mut emulation = start();
        let ways = [(1, AP, (0.0, 0.002)), (2, ISP, (0.010, 0.012))];
        for (hops, router, delay_s) in ways {
            let packet = datagram(address(PHONE, v6), address(SERVER, v6), hops, 100);
            let began = emulation.now();
            let (done, left) = send(&mut emulation, PHONE, &packet);
            assert_eq!(done, Err(Refusal::HopLimit));
            let [(to, bytes, due)] = &left[..] else { panic!("{left:?}") };
            let found = message(bytes);
            assert_eq!(
                (*to, found.from, found.to),
                (PHONE, address(router, v6), address(PHONE, v6))
            );
            assert_eq!(found.kind, if v6 { (3, 0) } else { (11, 0) });
            // The packet as it came to the router, whose last hop is used up there.
            assert_eq!((found.rest, hop_limit(&found.inside)), (0, 1));
            let at = if v6 { 40 } else { 20 };
            assert_eq!(found.inside[at..], packet[at..]);
            assert_eq!(hop_limit(bytes), 64 - (hops - 1));
            let passed = (*due - began).as_secs_f64();
            assert!(delay_s.0 < passed && passed < delay_s.1, "{router}: {passed} s");
        }
        let packet = datagram(address(PHONE, v6), address(SERVER, v6), 3, 100);
        let (done, left) = send(&mut emulation, PHONE, &packet);
        assert_eq!((done, left.len(), hop_limit(&left[0].1)), (Ok(()), 1, 1));
        assert_eq!(emulation.answered(Refusal::HopLimit), 2);
    }
}

#[test]
fn packets_that_are_too_big_are_answered_with_the_mtu_of_the_next_link() {
    for v6 in [false, true] {
        let mut emulation = start();
        // From the phone the access point stops the packet, from the server the provider's router does.
        for (from, to, router) in [(PHONE, SERVER, AP), (SERVER, PHONE, ISP)] {
            let big = datagram(address(from, v6), address(to, v6), 64, 1401);
            let (done, left) = send(&mut emulation, from, &big);
            assert_eq!(done, Err(Refusal::Oversize));
            let [(_, bytes, _)] = &left[..] else { panic!("{left:?}") };
            let found = message(bytes);
            assert_eq!((found.from, found.rest), (address(router, v6), 1400));
            assert_eq!(found.kind, if v6 { (2, 0) } else { (3, 4) });
            // As much of the packet as fits into 576 and 1280 bytes.
            let (most, least) = if v6 { (1280, 1240) } else { (576, 548) };
            assert!((least..=most).contains(&bytes.len()), "{}", bytes.len());
            assert_eq!(found.inside, big[..found.inside.len()]);
            let fits = datagram(address(from, v6), address(to, v6), 64, 1400);
            let (done, left) = send(&mut emulation, from, &fits);
            assert_eq!((done, left.len()), (Ok(()), 1));
        }
    }
}

#[test]
fn a_packet_too_big_for_its_own_link_is_answered_at_once_where_there_is_a_router() {
    let mut emulation = start();
    let big = datagram(address(PHONE, false), address(SERVER, false), 64, 1600);
    let (done, left) = send(&mut emulation, PHONE, &big);
    assert_eq!(done, Err(Refusal::Oversize));
    let found = message(&left[0].1);
    assert_eq!((found.kind, found.rest, found.from), ((3, 4), 1500, address(AP, false)));
    // A bridge has no words for that (IEEE 802.1Q drops the frame).
    let big = datagram(address(PHONE, false), address(GUEST, false), 64, 1600);
    assert_eq!(send(&mut emulation, PHONE, &big), (Err(Refusal::Oversize), vec![]));
}

#[test]
fn addresses_that_nobody_has_are_unreachable() {
    let cases = [
        ("10.213.9.9", (3, 1)),
        ("192.0.2.1", (3, 0)),
        ("fd00::99", (1, 3)),
        ("2001:db8::1", (1, 0)),
    ];
    for (nobody, kind) in cases {
        let nobody: IpAddr = nobody.parse().unwrap();
        let v6 = nobody.is_ipv6();
        for (from, router) in [(PHONE, AP), (SERVER, ISP)] {
            let mut emulation = start();
            let packet = datagram(address(from, v6), nobody, 64, 100);
            let (done, left) = send(&mut emulation, from, &packet);
            assert_eq!(done, Err(Refusal::NoSuchNode));
            let found = message(&left[0].1);
            assert_eq!((found.kind, found.from), (kind, address(router, v6)));
            assert_eq!(found.inside, packet);
        }
    }
    for silent in ["10.213.255.255", "255.255.255.255", "224.0.0.1", "ff02::1"] {
        let silent: IpAddr = silent.parse().unwrap();
        let packet = datagram(address(PHONE, silent.is_ipv6()), silent, 64, 100);
        let (done, left) = send(&mut start(), PHONE, &packet);
        assert_eq!((done, left), (Err(Refusal::NoSuchNode), vec![]), "{silent}");
    }
}

#[test]
fn errors_and_later_fragments_are_never_answered() {
    let [phone, nobody] = [address(PHONE, false), "10.213.9.9".parse().unwrap()];
    let [phone6, nobody6] = [address(PHONE, true), "fd00::99".parse().unwrap()];
    let icmp = |kind: u8| {
        let mut packet = datagram(phone, nobody, 64, 100);
        (packet[9], packet[20]) = (1, kind);
        packet
    };
    let icmp6 = |kind: u8| {
        let mut packet = datagram(phone6, nobody6, 64, 100);
        (packet[6], packet[40]) = (58, kind);
        packet
    };
    let mut later = datagram(phone, nobody, 64, 100);
    later[7] = 1;
    let mut first = datagram(phone, nobody, 64, 100);
    first[6] = 0x20;
    // A fragment header: UDP follows, and the offset is 8 bytes or none.
    let fragment6 = |offset: u8| {
        let mut packet = datagram(phone6, nobody6, 64, 100);
        packet[6] = 44;
        packet[40..48].copy_from_slice(&[17, 0, 0, offset << 3 | 1, 0, 0, 0, 1]);
        packet
    };
    let mut cases =
        vec![(later, false), (first, true), (fragment6(0), true), (fragment6(1), false)];
    cases.extend([3, 4, 5, 11, 12].map(|kind| (icmp(kind), false)));
    cases.extend([0, 8, 13].map(|kind| (icmp(kind), true)));
    cases.extend([1, 2, 3, 4, 127, 137].map(|kind| (icmp6(kind), false)));
    cases.extend([128, 129].map(|kind| (icmp6(kind), true)));
    for (packet, answered) in cases {
        let mut emulation = start();
        let (done, left) = send(&mut emulation, PHONE, &packet);
        assert_eq!(
            (done, left.len()),
            (Err(Refusal::NoSuchNode), usize::from(answered)),
            "{packet:?}"
        );
        assert_eq!(emulation.answered(Refusal::NoSuchNode), u64::from(answered));
    }
}

#[test]
fn a_flood_is_answered_ten_times_and_then_ten_times_a_second() {
    let mut emulation = start();
    let packet = datagram(address(PHONE, false), address(SERVER, false), 1, 100);
    let mut answers = Vec::new();
    for ms in 0..2000 {
        let now = Time::ZERO + Span::from_millis(ms);
        let _ = emulation.arrive(PHONE, &packet, now, &mut |of| answers.push(of.to));
    }
    while emulation.step(Time::ZERO + Span::from_secs(3), &mut |of| answers.push(of.to)) {}
    assert!((28..=30).contains(&answers.len()), "{}", answers.len());
    assert_eq!(emulation.answered(Refusal::HopLimit), answers.len() as u64);
    let refused = emulation.refused().find(|(refusal, _)| *refusal == Refusal::HopLimit).unwrap();
    assert_eq!(refused.1.packets, 2000);
    // The other node is not limited by this.
    let other = datagram(address(GUEST, false), address(SERVER, false), 1, 100);
    assert_eq!(send(&mut emulation, GUEST, &other).1.len(), 1);
}

#[test]
fn routers_answer_pings_and_have_no_ports() {
    for v6 in [false, true] {
        let mut emulation = start();
        let (phone, isp) = (address(PHONE, v6), address(ISP, v6));
        let mut ping = Vec::new();
        match (phone, isp) {
            (IpAddr::V4(phone), IpAddr::V4(isp)) => {
                let builder = PacketBuilder::ipv4(phone.octets(), isp.octets(), 64);
                builder.icmpv4_echo_request(7, 9).write(&mut ping, b"data").unwrap();
            }
            (IpAddr::V6(phone), IpAddr::V6(isp)) => {
                let builder = PacketBuilder::ipv6(phone.octets(), isp.octets(), 64);
                builder.icmpv6_echo_request(7, 9).write(&mut ping, b"data").unwrap();
            }
            _ => unreachable!(),
        }
        let (done, left) = send(&mut emulation, PHONE, &ping);
        assert_eq!((done, left.len()), (Ok(()), 1));
        let reply = IpSlice::from_slice(&left[0].1).unwrap();
        assert_eq!((reply.source_addr(), reply.destination_addr()), (isp, phone));
        let icmp = reply.payload().payload;
        assert_eq!((icmp[0], &icmp[4..]), (if v6 { 129 } else { 0 }, &b"\0\x07\0\x09data"[..]));
        let (_, left) = send(&mut emulation, PHONE, &datagram(phone, isp, 64, 100));
        assert_eq!(message(&left[0].1).kind, if v6 { (1, 4) } else { (3, 3) });
    }
}

#[test]
fn a_router_that_is_real_answers_by_its_own_address() {
    let emulated = Scenario::emulated(CELL, &["ap".to_owned()]).unwrap();
    assert_eq!(emulated.routers, ["isp"]);
    let mut emulation = Emulation::new(&emulated, Seed(1)).unwrap();
    for place in 0..5 {
        emulation.set_address(place, address(place, false));
    }
    // Real nodes in the order of the file: ap, phone, guest, server.
    let packet = datagram(address(1, false), address(3, false), 1, 100);
    let (done, left) = send(&mut emulation, 1, &packet);
    assert_eq!((done, left.len()), (Err(Refusal::HopLimit), 1));
    assert_eq!((left[0].0, message(&left[0].1).from), (1, address(0, false)));
    // Neither the packet nor the answer is one of the pairs of real nodes.
    assert!(emulation.pairs().all(|(_, _, counters)| counters.offered.packets == 0));
    assert!(emulation.pairs().all(|(_, _, counters)| counters.delivered.packets == 0));
}

#[test]
fn any_bytes_get_at_most_one_answer_that_is_a_whole_packet() {
    let mut emulation = start();
    let mut random = Seed(1).stream("any");
    let (mut now, mut left, mut sent) = (Time::ZERO, Vec::new(), 0);
    for _ in 0..20_000 {
        let v6 = random.bernoulli(0.5);
        let size = 60 + random.below(1500) as usize;
        let to = address(random.below(8) as usize, v6);
        let mut packet = datagram(address(PHONE, v6), to, random.below(5) as u8, size);
        for _ in 0..random.below(3) {
            let at = random.below(60) as usize;
            packet[at] = random.next_u64() as u8;
        }
        now += Span::from_millis(20);
        sent += 1;
        let _ =
            emulation.arrive(PHONE, &packet, now, &mut |of| left.push((of.to, of.bytes.to_vec())));
    }
    while emulation.step(now + Span::from_secs(9), &mut |of| left.push((of.to, of.bytes.to_vec())))
    {
    }
    let delivered: u64 = emulation.pairs().map(|(_, _, of)| of.delivered.packets).sum();
    let answers = left.iter().filter(|(to, _)| *to == PHONE).count() as u64;
    assert!(answers > sent / 10, "{answers} answers");
    assert_eq!(left.len() as u64, delivered + answers);
    assert!(answers <= sent);
    for (_, bytes) in left.iter().filter(|(to, _)| *to == PHONE) {
        assert_eq!(
            IpSlice::from_slice(bytes).unwrap().destination_addr(),
            address(PHONE, bytes[0] >> 4 == 6)
        );
    }
    assert_eq!(emulation.packets_held(), 0);
}
