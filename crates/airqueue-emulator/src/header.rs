//! The IP headers of real packets: what the network must know of a packet, and what routers and queues change.

use airqueue_core::Ecn;
use etherparse::{IpHeadersSlice, IpNumber, IpSlice};
use std::net::IpAddr;

/// What the network knows of a real packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Length of the packet, in IP bytes.
    pub size: u32,
    /// Differentiated services codepoint (RFC 2474).
    pub dscp: u8,
    /// ECN field (RFC 3168).
    pub ecn: Ecn,
    /// Time to live, or hop limit.
    pub hop_limit: u8,
    /// A digest of addresses, protocol and ports; of fragments, which have no ports, of addresses and protocol.
    pub flow: u64,
}

/// Reads the headers of a packet; `None`: the bytes are not exactly one IP packet.
pub fn read(packet: &[u8]) -> Option<Header> {
    let ip = IpSlice::from_slice(packet).ok()?;
    let payload = ip.payload();
    let ports = ports(payload.ip_number, payload.fragmented, payload.payload);
    let (size, tos, hop_limit) = match ip.header() {
        IpHeadersSlice::Ipv4(header, _) => {
            let tos = header.dcp().value() << 2 | header.ecn().value();
            (u32::from(header.total_len()), tos, header.ttl())
        }
        IpHeadersSlice::Ipv6(header, _) => {
            let size = header.slice().len() as u32 + u32::from(header.payload_length());
            (size, header.traffic_class(), header.hop_limit())
        }
    };
    if size as usize != packet.len() {
        return None;
    }
    let (source, destination) = (ip.source_addr(), ip.destination_addr());
    Some(Header {
        source,
        destination,
        size,
        dscp: tos >> 2,
        ecn: Ecn::of(tos),
        hop_limit,
        flow: digest(source, destination, payload.ip_number, ports),
    })
}

/// What the network knows of a fragment of IPv4 that a router has made of a packet that was read before.
pub fn of_fragment(packet: &[u8]) -> Header {
    let address = |at: usize| {
        let bytes: [u8; 4] = packet[at..at + 4].try_into().expect("four bytes");
        IpAddr::from(bytes)
    };
    let (source, destination) = (address(12), address(16));
    Header {
        source,
        destination,
        size: packet.len() as u32,
        dscp: packet[1] >> 2,
        ecn: Ecn::of(packet[1]),
        hop_limit: packet[8],
        flow: digest(source, destination, IpNumber(packet[9]), [0; 4]),
    }
}

/// The source and destination ports of an unfragmented packet of a protocol that has them, as four bytes.
fn ports(protocol: IpNumber, fragmented: bool, payload: &[u8]) -> [u8; 4] {
    let with_ports =
        [IpNumber::TCP, IpNumber::UDP, IpNumber::SCTP, IpNumber::DCCP, IpNumber::UDP_LITE];
    match payload.first_chunk() {
        Some(ports) if !fragmented && with_ports.contains(&protocol) => *ports,
        _ => [0; 4],
    }
}

/// FNV-1a, 64 bits.
fn digest(source: IpAddr, destination: IpAddr, protocol: IpNumber, ports: [u8; 4]) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => add(&address.octets()),
            IpAddr::V6(address) => add(&address.octets()),
        }
    }
    add(&[protocol.0]);
    add(&ports);
    digest
}

/// Marks a packet that was read before: congestion experienced.
pub fn mark_ce(packet: &mut [u8]) {
    match packet[0] >> 4 {
        4 => set_word(packet, 0, |word| word | 3),
        // The lowest two bits of the traffic class.
        _ => packet[1] |= 0x30,
    }
}

/// Lowers the hop limit of a packet that was read before; the hop limit must exceed `routers`.
pub fn pass_routers(packet: &mut [u8], routers: u8) {
    match packet[0] >> 4 {
        4 => set_word(packet, 8, |word| word - (u16::from(routers) << 8)),
        _ => packet[7] -= routers,
    }
}

/// Sets the codepoint of an IPv4 packet that was read before.
pub fn set_dscp(packet: &mut [u8], dscp: u8) {
    set_word(packet, 0, |word| word & 0xff03 | u16::from(dscp) << 2);
}

/// Changes a word of an IPv4 header, and the checksum with the word (RFC 1624, equation 3).
fn set_word(packet: &mut [u8], at: usize, change: impl FnOnce(u16) -> u16) {
    const CHECKSUM: usize = 10;
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let before = word(packet, at);
    let after = change(before);
    let sum = u32::from(!word(packet, CHECKSUM)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4HeaderSlice, PacketBuilder};
    use proptest::prelude::*;

    fn v4(tos: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], ttl).udp(1000, 2000);
        builder.write(&mut packet, payload).unwrap();
        set_word(&mut packet, 0, |word| word | u16::from(tos));
        packet
    }

    fn v6(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(1000, 2000);
        builder.write(&mut packet, payload).unwrap();
        packet
    }

    fn checksum_is_right(packet: &[u8]) -> bool {
        let header = Ipv4HeaderSlice::from_slice(packet).unwrap();
        header.to_header().calc_header_checksum() == header.header_checksum()
    }

    #[test]
    fn headers_of_both_families_are_read() {
        let of_v4 = read(&v4(46 << 2 | 1, 9, b"abc")).unwrap();
        assert_eq!((of_v4.size, of_v4.dscp, of_v4.ecn, of_v4.hop_limit), (31, 46, Ecn::Ect, 9));
        assert_eq!(of_v4.destination, "10.0.0.2".parse::<IpAddr>().unwrap());
        let of_v6 = read(&v6(b"abc")).unwrap();
        assert_eq!((of_v6.size, of_v6.dscp, of_v6.ecn, of_v6.hop_limit), (51, 0, Ecn::NotEct, 64));
    }

    #[test]
    fn ports_tell_flows_apart_and_payload_does_not() {
        let mut other = v4(0, 9, b"abc");
        other[21] ^= 1;
        assert_ne!(read(&other).unwrap().flow, read(&v4(0, 9, b"abc")).unwrap().flow);
        assert_eq!(read(&v4(0, 9, b"xyz")).unwrap().flow, read(&v4(0, 9, b"abc")).unwrap().flow);
    }

    #[test]
    fn marks_keep_the_rest_of_a_packet() {
        let mut packet = v6(b"abc");
        mark_ce(&mut packet);
        let marked = read(&packet).unwrap();
        assert_eq!((marked.ecn, marked.dscp), (Ecn::Ce, 0));
        let mut before = v6(b"abc");
        before[1] |= 0x30;
        assert_eq!(packet, before);
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        for packet in [v4(0, 9, b"abc"), v6(b"abc")] {
            assert!(read(&packet).is_some());
            assert!(read(&packet[..packet.len() - 1]).is_none());
            assert!(read(&[&packet[..], &[0]].concat()).is_none());
            assert!(read(&[]).is_none());
        }
    }

    proptest! {
        #[test]
        fn changed_headers_have_right_checksums(tos: u8, ttl in 2u8.., routers in 0u8..2, payload in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut packet = v4(tos, ttl, &payload);
            prop_assert!(checksum_is_right(&packet));
            pass_routers(&mut packet, routers);
            mark_ce(&mut packet);
            prop_assert!(checksum_is_right(&packet));
            let header = read(&packet).unwrap();
            prop_assert_eq!((header.ecn, header.hop_limit, header.dscp), (Ecn::Ce, ttl - routers, tos >> 2));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..120), version in prop::sample::select(vec![0x45u8, 0x46, 0x4f, 0x60, 0x6f])) {
            read(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = version;
            }
            // Random lengths are hardly ever right.
            let size = bytes.len();
            if size >= 40 {
                let at = if version >> 4 == 4 { 2 } else { 4 };
                let length = if version >> 4 == 4 { size } else { size - 40 };
                bytes[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
            }
            if let Some(header) = read(&bytes) {
                prop_assert_eq!(header.size as usize, bytes.len());
                if header.hop_limit > 1 {
                    pass_routers(&mut bytes, 1);
                }
                mark_ce(&mut bytes);
                prop_assert_eq!(read(&bytes).unwrap().ecn, Ecn::Ce);
            }
        }
    }
}
