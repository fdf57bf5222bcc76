//! What the headers of a packet tell of its flow.

use etherparse::{LaxNetSlice, LaxSlicedPacket, LinkSlice, TcpOptionElement, TransportSlice};
use std::net::IpAddr;

/// A MAC address.
pub type Mac = [u8; 6];

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP, QUIC included.
    Udp,
}

/// Timestamps of a segment (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the clock of the segment that is answered.
    pub echo: u32,
}

/// What a TCP header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte.
    pub sequence: u32,
    /// Number of the byte that is expected next, if the segment acknowledges.
    pub acknowledged: Option<u32>,
    /// Whether it opens the connection.
    pub syn: bool,
    /// Whether its sender has no more bytes (FIN).
    pub fin: bool,
    /// Whether it resets the connection (RST).
    pub rst: bool,
    /// Its timestamps, if it has them.
    pub timestamps: Option<Timestamps>,
}

/// A packet of TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it comes from.
    pub source: End,
    /// Where it goes to.
    pub destination: End,
    /// The protocol.
    pub protocol: Protocol,
    /// The frame's sender, if there is a frame.
    pub source_mac: Option<Mac>,
    /// The frame's receiver.
    pub destination_mac: Option<Mac>,
    /// Bytes after the transport header, of all packets that the kernel has joined (GRO, TSO).
    pub payload_bytes: u32,
    /// The TCP header.
    pub segment: Option<Segment>,
}

impl Packet {
    /// Reads an Ethernet frame that may be cut, as it came from a tap. `wire_bytes`: the length of the whole frame. None for
    /// packets of other protocols, for fragments, and for what is damaged.
    pub fn of_frame(frame: &[u8], wire_bytes: u32) -> Option<Packet> {
        let sliced = LaxSlicedPacket::from_ethernet(frame).ok()?;
        let link = match &sliced.link {
            Some(LinkSlice::Ethernet2(link)) => Some((link.source(), link.destination())),
            _ => None,
        };
        let (addresses, ip, ip_bytes) = match sliced.net.as_ref()? {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                let ends = (header.source_addr().into(), header.destination_addr().into());
                (ends, header.slice(), u32::from(header.total_len()))
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let ends = (header.source_addr().into(), header.destination_addr().into());
                // 0 for jumbograms, which the kernel makes by GRO and TSO alone.
                let payload = u32::from(header.payload_length());
                (ends, header.slice(), if payload == 0 { 0 } else { 40 + payload })
            }
            _ => return None,
        };
        let at = |part: &[u8]| part.as_ptr() as usize - frame.as_ptr() as usize;
        // No packet has more bytes than its frame, whatever its sender claims.
        let most = wire_bytes.saturating_sub(u32::try_from(at(ip)).ok()?);
        let ip_bytes = if ip_bytes == 0 { most } else { ip_bytes.min(most) };
        let payload = |transport: &[u8], header: usize| {
            let before = at(transport) - at(ip) + header;
            ip_bytes.saturating_sub(u32::try_from(before).unwrap_or(u32::MAX))
        };
        let (ports, protocol, payload_bytes, segment) = match sliced.transport.as_ref()? {
            TransportSlice::Tcp(tcp) => {
                let header = tcp.header_slice();
                let ports = (tcp.source_port(), tcp.destination_port());
                (ports, Protocol::Tcp, payload(header, header.len()), Some(segment(tcp)))
            }
            TransportSlice::Udp(udp) => {
                let ports = (udp.source_port(), udp.destination_port());
                (ports, Protocol::Udp, payload(udp.slice(), 8), None)
            }
            _ => return None,
        };
        Some(Packet {
            source: End { address: addresses.0, port: ports.0 },
            destination: End { address: addresses.1, port: ports.1 },
            protocol,
            source_mac: link.map(|(source, _)| source),
            destination_mac: link.map(|(_, destination)| destination),
            payload_bytes,
            segment,
        })
    }
}

fn segment(tcp: &etherparse::TcpSlice) -> Segment {
    // What follows a damaged option is not read.
    let options = tcp.options_iterator().map_while(Result::ok);
    let timestamps = options.into_iter().find_map(|option| match option {
        TcpOptionElement::Timestamp(value, echo) => Some(Timestamps { value, echo }),
        _ => None,
    });
    Segment {
        sequence: tcp.sequence_number(),
        acknowledged: tcp.ack().then(|| tcp.acknowledgment_number()),
        syn: tcp.syn(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        timestamps,
    }
}

#[cfg(test)]
mod tests;
