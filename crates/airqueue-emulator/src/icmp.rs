//! What routers say of packets that they do not forward: ICMP (RFC 792, RFC 1191, RFC 1812) and ICMPv6 (RFC 4443).

use etherparse::{
    IpNumber, IpSlice, Ipv4Header, Ipv4HeaderSlice, Ipv6ExtensionSlice, PacketBuilder,
};
use std::net::IpAddr;

/// Hop limit of packets that routers send.
const HOP_LIMIT: u8 = 64;
/// Errors have precedence 6, internetwork control (RFC 1812, section 4.3.2.5): DSCP CS6.
const INTERNETWORK_CONTROL: u8 = 48;
/// Length of the fixed part of an ICMP message.
const ICMP_BYTES: usize = 8;
/// Largest error, in IP bytes (RFC 1812, section 4.3.2.3).
const MOST_BYTES: usize = 576;
/// Largest error of IPv6, the smallest MTU (RFC 4443, section 2.4 c).
const MOST_BYTES_6: usize = 1280;
/// Types of errors, and of the redirect (RFC 1122, section 3.2.2).
const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
/// The first type of ICMPv6 that is no error (RFC 4443, section 2.1).
const FIRST_INFORMATIONAL_6: u8 = 128;
const REDIRECT_6: u8 = 137;
const DESTINATION_UNREACHABLE: u8 = 3;
const DESTINATION_UNREACHABLE_6: u8 = 1;

/// Why a router does not forward a packet, or does not accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The packet is larger than the next link allows, in IP bytes.
    TooBig {
        /// The largest packet of that link.
        mtu: u32,
    },
    /// The hop limit has run out.
    TimeExceeded,
    /// There is no route to the destination's network.
    NoRoute,
    /// Nobody in the network has the address.
    NoSuchAddress,
    /// The packet is for the router, which has no such port.
    NoSuchPort,
}

impl Problem {
    /// Type, code, and what follows the checksum.
    fn v4(self) -> (u8, u8, [u8; 4]) {
        match self {
            // RFC 1191, section 4.
            Problem::TooBig { mtu } => {
                let [high, low] = u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes();
                (DESTINATION_UNREACHABLE, 4, [0, 0, high, low])
            }
            Problem::TimeExceeded => (11, 0, [0; 4]),
            Problem::NoRoute => (DESTINATION_UNREACHABLE, 0, [0; 4]),
            Problem::NoSuchAddress => (DESTINATION_UNREACHABLE, 1, [0; 4]),
            Problem::NoSuchPort => (DESTINATION_UNREACHABLE, 3, [0; 4]),
        }
    }

    fn v6(self) -> (u8, u8, [u8; 4]) {
        match self {
            Problem::TooBig { mtu } => (2, 0, mtu.to_be_bytes()),
            Problem::TimeExceeded => (3, 0, [0; 4]),
            Problem::NoRoute => (DESTINATION_UNREACHABLE_6, 0, [0; 4]),
            Problem::NoSuchAddress => (DESTINATION_UNREACHABLE_6, 3, [0; 4]),
            Problem::NoSuchPort => (DESTINATION_UNREACHABLE_6, 4, [0; 4]),
        }
    }
}

/// The error with which a router answers a whole packet, from that address of the router. `None`: routers do not answer
/// such a packet.
pub fn error(problem: Problem, router: IpAddr, packet: &[u8]) -> Option<Vec<u8>> {
    let ip = IpSlice::from_slice(packet).ok()?;
    if !answerable(&ip, problem) {
        return None;
    }
    match (router, ip.source_addr()) {
        (IpAddr::V4(router), IpAddr::V4(to)) => {
            let (of, code, rest) = problem.v4();
            let quoted = packet.len().min(MOST_BYTES - Ipv4Header::MIN_LEN - ICMP_BYTES);
            let mut error = Vec::with_capacity(MOST_BYTES);
            PacketBuilder::ipv4(router.octets(), to.octets(), HOP_LIMIT)
                .icmpv4_raw(of, code, rest)
                .write(&mut error, &packet[..quoted])
                .ok()?;
            super::header::set_dscp(&mut error, INTERNETWORK_CONTROL);
            Some(error)
        }
        (IpAddr::V6(router), IpAddr::V6(to)) => {
            let (of, code, rest) = problem.v6();
            let quoted = packet.len().min(MOST_BYTES_6 - 40 - ICMP_BYTES);
            let mut error = Vec::with_capacity(MOST_BYTES_6);
            PacketBuilder::ipv6(router.octets(), to.octets(), HOP_LIMIT)
                .icmpv6_raw(of, code, rest)
                .write(&mut error, &packet[..quoted])
                .ok()?;
            Some(error)
        }
        _ => None,
    }
}

/// Whether a router answers a packet (RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 e): not an error, not a fragment
/// other than the first, not a packet from or to more than one node. An IPv4 packet that may be fragmented is not too big.
fn answerable(ip: &IpSlice<'_>, problem: Problem) -> bool {
    if !is_single(ip.source_addr()) || !is_single(ip.destination_addr()) {
        return false;
    }
    let payload = ip.payload();
    let of = payload.payload.first();
    match ip {
        IpSlice::Ipv4(slice) => {
            let too_big = matches!(problem, Problem::TooBig { .. });
            let is_error =
                payload.ip_number == IpNumber::ICMP && of.is_none_or(|of| ERRORS.contains(of));
            slice.header().fragments_offset().value() == 0
                && !is_error
                && (!too_big || slice.header().dont_fragment())
        }
        IpSlice::Ipv6(slice) => {
            let later = |part| match part {
                Ipv6ExtensionSlice::Fragment(header) => header.fragment_offset().value() > 0,
                _ => false,
            };
            let is_error = payload.ip_number == IpNumber::IPV6_ICMP
                && of.is_none_or(|&of| of < FIRST_INFORMATIONAL_6 || of == REDIRECT_6);
            !slice.extensions().clone().into_iter().any(later) && !is_error
        }
    }
}

/// Whether an address may be that of one node.
pub fn is_single(address: IpAddr) -> bool {
    let broadcast = match address {
        // Class E, and the limited broadcast (RFC 1812, section 5.3.7).
        IpAddr::V4(address) => address.octets()[0] >= 240 || address.octets()[0] == 0,
        IpAddr::V6(_) => false,
    };
    !(broadcast || address.is_unspecified() || address.is_multicast() || address.is_loopback())
}

/// What a router answers to a whole packet that is for the router itself: an echo reply (RFC 1812, section 4.3.3.6; RFC
/// 4443, section 4.2), or an error for UDP. Routers here have no TCP, and are silent about all else.
pub fn answer(packet: &[u8]) -> Option<Answer> {
    let ip = IpSlice::from_slice(packet).ok()?;
    let payload = ip.payload();
    if payload.fragmented {
        return None;
    }
    let (request, reply) = match (payload.ip_number, ip.destination_addr()) {
        (IpNumber::UDP, _) => return Some(Answer::Error(Problem::NoSuchPort)),
        (IpNumber::ICMP, IpAddr::V4(_)) => (8, 0),
        (IpNumber::IPV6_ICMP, IpAddr::V6(_)) => (128, 129),
        _ => return None,
    };
    let (head, data) = payload.payload.split_at_checked(ICMP_BYTES)?;
    if head[..2] != [request, 0] {
        return None;
    }
    let rest = [head[4], head[5], head[6], head[7]];
    let mut out = Vec::with_capacity(packet.len());
    match (ip.destination_addr(), ip.source_addr()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let builder = PacketBuilder::ipv4(from.octets(), to.octets(), HOP_LIMIT);
            builder.icmpv4_raw(reply, 0, rest).write(&mut out, data).ok()?;
            // The type of service of the request (RFC 1122, section 3.2.2.6).
            super::header::set_dscp(
                &mut out,
                Ipv4HeaderSlice::from_slice(packet).ok()?.dcp().value(),
            );
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let builder = PacketBuilder::ipv6(from.octets(), to.octets(), HOP_LIMIT);
            builder.icmpv6_raw(reply, 0, rest).write(&mut out, data).ok()?;
        }
        _ => return None,
    }
    Some(Answer::Reply(out))
}

/// What a router sends because of a packet for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A packet.
    Reply(Vec<u8>),
    /// An error.
    Error(Problem),
}
