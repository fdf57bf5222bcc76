//! A traffic plan: all packets of one run, agreed before the first packet leaves.

use crate::schedule::Packets;
use airqueue_core::{Span, Time};

/// Evenly spaced packets of one flow: packet `k` of `count` leaves at `start + k * duration / count`.
/// A duration of zero is a back-to-back train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The flow of the packets, with its own five-tuple.
    pub flow: u8,
    /// Offset of the first packet from the start of the run.
    pub start: Span,
    /// Time over which the packets are spread.
    pub duration: Span,
    /// Number of packets.
    pub count: u32,
    /// Size of each packet in bytes, IP header included.
    pub size: u16,
    /// The traffic class of each packet as its sender writes it: the field of that name of IPv6 (RFC 8200, section 7), the
    /// TOS octet of IPv4. Six bits of DSCP (RFC 2474), then two bits of ECN (RFC 3168, section 5).
    pub traffic_class: u8,
}

/// One packet of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPacket {
    /// Position in the order of sending, over all flows: the packet's number on the wire.
    pub seq: u32,
    /// Offset from the start of the run.
    pub at: Span,
    /// Flow.
    pub flow: u8,
    /// IP packet size in bytes.
    pub size: u16,
    /// Traffic class.
    pub traffic_class: u8,
}

/// Segments that overlap freely; packets are numbered in the order in which they leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The parts.
    pub segments: Vec<Segment>,
}

impl Segment {
    /// The differentiated services codepoint of the packets, 0 to 63.
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }

    /// Offset of packet `k` from the start of the run.
    pub fn packet_at(&self, k: u32) -> Span {
        let shift =
            i128::from(self.duration.as_nanos()) * i128::from(k) / i128::from(self.count.max(1));
        self.start + Span::from_nanos(shift as i64)
    }
}

impl Plan {
    /// All packets in the order of sending; ties keep the order of the segments.
    pub fn packets(&self) -> Packets {
        Packets::new(self.segments.clone())
    }

    /// Number of packets.
    pub fn packet_count(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.count)).sum()
    }

    /// Offset of the end of the last segment.
    pub fn end(&self) -> Span {
        self.segments.iter().map(|s| s.start + s.duration).max().unwrap_or(Span::ZERO)
    }

    /// The absolute time of a packet of a run that started at `epoch`.
    pub fn due(epoch: Time, packet: &PlannedPacket) -> Time {
        epoch + packet.at
    }
}
