//! Where the headers of IP, TCP and UDP are in a packet, and the fields that differ between segments.

use crate::checksum::Sum;
use etherparse::{IpHeadersSlice, IpNumber, IpSlice};

/// Places in TCP's header (RFC 9293, section 3.1).
pub mod tcp {
    pub const SEQUENCE: usize = 4;
    pub const OFFSET: usize = 12;
    pub const FLAGS: usize = 13;
    pub const CHECKSUM: usize = 16;
    pub const LEAST_BYTES: usize = 20;
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const PSH: u8 = 8;
    pub const URG: u8 = 0x20;
    pub const CWR: u8 = 0x80;
}
/// Places in UDP's header (RFC 768).
pub mod udp {
    pub const LENGTH: usize = 4;
    pub const CHECKSUM: usize = 6;
    pub const BYTES: usize = 8;
}

/// A protocol whose packets can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

/// The headers of a whole packet of TCP or UDP that is no fragment.
#[derive(Clone, Copy, Debug)]
pub struct Headers {
    /// 4 or 6, of IP.
    pub version: u8,
    pub transport: Transport,
    /// Where the header of TCP or UDP begins.
    pub transport_at: usize,
    /// Where the data begin.
    pub data_at: usize,
}

impl Headers {
    /// Finds the headers; `None`: the bytes are another packet, or not exactly one.
    pub fn find(packet: &[u8]) -> Option<Headers> {
        let ip = IpSlice::from_slice(packet).ok()?;
        let payload = ip.payload();
        let (version, size) = match ip.header() {
            IpHeadersSlice::Ipv4(header, _) => (4, usize::from(header.total_len())),
            IpHeadersSlice::Ipv6(header, _) => (6, 40 + usize::from(header.payload_length())),
        };
        if size != packet.len() || payload.fragmented {
            return None;
        }
        let header = payload.payload;
        let (transport, bytes) = match payload.ip_number {
            IpNumber::TCP => (Transport::Tcp, usize::from(*header.get(tcp::OFFSET)? >> 4) * 4),
            IpNumber::UDP => (Transport::Udp, udp::BYTES),
            _ => return None,
        };
        let whole = transport == Transport::Udp || bytes >= tcp::LEAST_BYTES;
        let transport_at = packet.len() - header.len();
        (whole && bytes <= header.len()).then_some(Headers {
            version,
            transport,
            transport_at,
            data_at: transport_at + bytes,
        })
    }

    /// Where the checksum of TCP or UDP is.
    pub fn checksum_at(&self) -> usize {
        self.transport_at
            + match self.transport {
                Transport::Tcp => tcp::CHECKSUM,
                Transport::Udp => udp::CHECKSUM,
            }
    }

    /// Where the source and the destination address are.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        if self.version == 4 { 12..20 } else { 8..40 }
    }

    /// The sum of the pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub fn pseudo_sum(&self, packet: &[u8]) -> Sum {
        let protocol = match self.transport {
            Transport::Tcp => IpNumber::TCP,
            Transport::Udp => IpNumber::UDP,
        };
        let size = (packet.len() - self.transport_at) as u16;
        Sum::default().add(&packet[self.addresses()]).add_word(u16::from(protocol.0)).add_word(size)
    }

    /// Whether the checksum of TCP or UDP is right.
    pub fn checksum_is_right(&self, packet: &[u8]) -> bool {
        self.pseudo_sum(packet).add(&packet[self.transport_at..]).is_right()
    }

    /// Writes the length of a packet of at most 65 535 bytes behind its first header, and the checksum of IPv4's header.
    pub fn set_length(&self, packet: &mut [u8]) {
        let size = packet.len();
        if self.version == 4 {
            packet[2..4].copy_from_slice(&(size as u16).to_be_bytes());
            let header = usize::from(packet[0] & 0xf) * 4;
            packet[10..12].fill(0);
            let checksum = Sum::default().add(&packet[..header]).checksum();
            packet[10..12].copy_from_slice(&checksum);
        } else {
            packet[4..6].copy_from_slice(&((size - 40) as u16).to_be_bytes());
        }
    }
}

/// A word of a packet as a number.
pub fn word(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// Four bytes of a packet as a number.
pub fn long(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}
