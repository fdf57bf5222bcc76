use super::*;
use etherparse::{PacketBuilder, TcpOptionElement};
use proptest::prelude::*;

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn segment_frame(vlans: u8, six: bool, payload: usize) -> Vec<u8> {
    let link = PacketBuilder::ethernet2(ROUTER, STATION);
    let options =
        [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(7, 9)];
    macro_rules! finish {
        ($step:expr) => {{
            let tcp = $step.tcp(443, 50_000, 1000, 64_000).ack(77).options(&options).unwrap();
            let mut frame = Vec::new();
            tcp.write(&mut frame, &vec![0; payload]).unwrap();
            frame
        }};
    }
    let (four, to_four) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (of_six, to_six) = ([1; 16], [2; 16]);
    match (vlans, six) {
        (0, false) => finish!(link.ipv4(four, to_four, 64)),
        (0, true) => finish!(link.ipv6(of_six, to_six, 64)),
        (1, false) => finish!(link.single_vlan(7.try_into().unwrap()).ipv4(four, to_four, 64)),
        (1, true) => finish!(link.single_vlan(7.try_into().unwrap()).ipv6(of_six, to_six, 64)),
        (_, _) => finish!(
            link.double_vlan(7.try_into().unwrap(), 8.try_into().unwrap()).ipv4(four, to_four, 64)
        ),
    }
}

#[test]
fn headers_tell_of_flows_through_vlans_and_in_both_versions_of_ip() {
    for (vlans, six) in [(0, false), (0, true), (1, false), (1, true), (2, false)] {
        let frame = segment_frame(vlans, six, 1200);
        // As a tap cuts it.
        let packet = Packet::of_frame(&frame[..128], frame.len() as u32).unwrap();
        assert_eq!((packet.source.port, packet.destination.port), (443, 50_000));
        assert_eq!(packet.source.address.is_ipv6(), six);
        assert_eq!(packet.payload_bytes, 1200, "{vlans} {six}");
        assert_eq!((packet.source_mac, packet.destination_mac), (Some(ROUTER), Some(STATION)));
        let segment = packet.segment.unwrap();
        assert_eq!((segment.sequence, segment.acknowledged), (1000, Some(77)));
        assert_eq!(segment.timestamps, Some(Timestamps { value: 7, echo: 9 }));
    }
}

#[test]
fn packets_that_the_kernel_joined_beyond_64_kb_have_the_length_of_the_frame() {
    for six in [false, true] {
        let mut frame = segment_frame(0, six, 1000);
        let length = if six { 18..20 } else { 16..18 };
        frame[length].fill(0);
        let wire = 180_000 + frame.len() as u32;
        let packet = Packet::of_frame(&frame[..128], wire).unwrap();
        assert_eq!(packet.payload_bytes, 181_000, "{six}");
    }
}

/// Else a small frame would make its flow an active one.
#[test]
fn a_packet_has_no_more_bytes_than_its_frame() {
    for six in [false, true] {
        let mut frame = segment_frame(0, six, 40);
        let length = if six { 18..20 } else { 16..18 };
        frame[length].fill(0xff);
        let packet = Packet::of_frame(&frame, frame.len() as u32).unwrap();
        assert_eq!(packet.payload_bytes, 40, "{six}");
    }
}

#[test]
fn datagrams_are_packets_and_fragments_are_none() {
    let mut frame = Vec::new();
    let datagram = PacketBuilder::ethernet2(ROUTER, STATION).ipv4([1; 4], [2; 4], 9).udp(53, 54);
    datagram.write(&mut frame, &[0; 99]).unwrap();
    let packet = Packet::of_frame(&frame, frame.len() as u32).unwrap();
    assert_eq!((packet.protocol, packet.payload_bytes), (Protocol::Udp, 99));
    // More fragments; then the second one.
    for (byte, bits) in [(20, 0x20), (21, 0x10)] {
        let mut fragment = frame.clone();
        fragment[byte] = bits;
        assert_eq!(Packet::of_frame(&fragment, fragment.len() as u32), None);
    }
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), wire: u32) {
        let _ = Packet::of_frame(&bytes, wire);
    }

    #[test]
    fn no_damage_is_a_panic(
        cut in 0usize..200, damage in prop::collection::vec((0usize..200, any::<u8>()), 0..8), six: bool, wire: u32
    ) {
        let mut frame = segment_frame(u8::from(six), six, 100);
        for (at, byte) in damage {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        frame.truncate(cut);
        if let Some(packet) = Packet::of_frame(&frame, wire) {
            prop_assert!(packet.payload_bytes <= wire);
        }
    }
}
