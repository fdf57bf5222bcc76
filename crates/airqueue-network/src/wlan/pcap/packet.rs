//! The packets in data frames: the headers of IPv4 (RFC 791) and UDP (RFC 768), in front of zeros.

use super::tcp;
use crate::FlowId;
use crate::wlan::spec::HopSpec;
use airqueue_core::{Ecn, Packet};
use airqueue_transport::tcp::TcpSpec;

pub(super) const IPV4_BYTES: u32 = 20;
const UDP_BYTES: u32 = 8;
const UDP: u8 = 17;
pub(super) const TCP: u8 = 6;
/// "Use for experimentation" (RFC 3692): for packets too small for UDP, and for segments unknown to the capture.
const EXPERIMENT: u8 = 253;
const TIME_TO_LIVE: u8 = 64;
/// Start of the dynamic ports (RFC 6335), used for flows. Connections use an equal number of ports below, in Linux's
/// ephemeral range.
const FLOW_PORTS: u16 = 49_152;
const CONNECTION_PORTS: u16 = 32_768;
const PORTS: u32 = 16_384;

/// The flow whose packets a hop over the air carries. The packets have the same addresses and ports on all hops of
/// their route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// The flow, which the port number identifies.
    pub flow: FlowId,
    /// Number of the source node: a station's id, or for a host a number that is not a station's.
    pub from: u32,
    /// Number of the destination node.
    pub to: u32,
    /// The TCP direction of the packets, if TCP governs the flow.
    pub tcp: Option<TcpDirection>,
}

/// One direction of the connections of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpDirection {
    /// Both ends.
    pub spec: TcpSpec,
    /// Whether segments go from the receiver to the sender.
    pub back: bool,
}

impl Origin {
    /// The origin of a flow that consists of one hop.
    pub(super) fn of_hop(flow: FlowId, hop: &HopSpec) -> Origin {
        Origin { flow, from: hop.from.0, to: hop.to.0, tcp: None }
    }

    /// Source and destination address.
    pub(super) fn addresses(&self) -> [u8; 8] {
        if self.from == self.to {
            // Packets to all stations: the local broadcast address (RFC 919).
            let [_, a, b, c] = self.from.wrapping_add(1).to_be_bytes();
            return [10, a, b, c, 255, 255, 255, 255];
        }
        let [[_, a, b, c], [_, d, e, f]] =
            [self.from, self.to].map(|at| at.wrapping_add(1).to_be_bytes());
        [10, a, b, c, 10, d, e, f]
    }

    /// Appends the headers of a packet; `tcp` is the header of its segment. The class selector (RFC 2474) is the
    /// priority, and the ECN field is as set by the queues (RFC 3168, section 5).
    pub(super) fn write(
        &self,
        packet: &Packet,
        priority: u8,
        tcp: Option<&tcp::Header>,
        out: &mut Vec<u8>,
    ) {
        let has_udp = self.tcp.is_none() && packet.size >= IPV4_BYTES + UDP_BYTES;
        let protocol = match tcp {
            Some(_) => TCP,
            None if has_udp => UDP,
            None => EXPERIMENT,
        };
        let ecn = match packet.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect => 0b10, // ECT(0)
            Ecn::Ce => 0b11,
        };
        let identification = tcp.map_or(packet.id as u16, tcp::Header::identification);
        let begins = out.len();
        // The flow's own DSCP; without one, the precedence of the access category.
        let dscp = if packet.dscp == 0 { priority << 3 } else { packet.dscp };
        out.extend([0x45, dscp << 2 | ecn]);
        out.extend((packet.size as u16).to_be_bytes());
        out.extend(identification.to_be_bytes());
        out.extend([0, 0, TIME_TO_LIVE, protocol, 0, 0]);
        out.extend(self.addresses());
        let checksum = !sum(&out[begins..]);
        out[begins + 10..begins + 12].copy_from_slice(&checksum.to_be_bytes());
        match tcp {
            Some(header) => out.extend(header.bytes()),
            None if has_udp => self.udp(packet, out),
            None => {}
        }
    }

    fn udp(&self, packet: &Packet, out: &mut Vec<u8>) {
        let length = ((packet.size - IPV4_BYTES) as u16).to_be_bytes();
        let port = flow_port(self.flow).to_be_bytes();
        let header = [port, port, length, [0, 0]].concat();
        let checksum = match self.checksum(UDP, packet.size, &header) {
            0 => u16::MAX,
            checksum => checksum,
        };
        out.extend(&header[..6]);
        out.extend(checksum.to_be_bytes());
    }

    /// The checksum of a packet with this header after the IPv4 header, followed by zeros. The checksum includes a
    /// pseudo header: addresses, protocol, length (RFC 768; RFC 9293, section 3.1).
    pub(super) fn checksum(&self, protocol: u8, size: u32, header: &[u8]) -> u16 {
        let length = ((size - IPV4_BYTES) as u16).to_be_bytes();
        !sum(&[&self.addresses()[..], &[0, protocol], &length, header].concat())
    }
}

/// The port of a flow; port numbers wrap around.
pub(super) fn flow_port(flow: FlowId) -> u16 {
    FLOW_PORTS + (flow.0 % PORTS) as u16
}

/// The port of a flow's connection, at the data sender; port numbers wrap around.
pub(super) fn connection_port(number: u32) -> u16 {
    CONNECTION_PORTS + (number % PORTS) as u16
}

/// The Internet checksum of an even number of bytes (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}
