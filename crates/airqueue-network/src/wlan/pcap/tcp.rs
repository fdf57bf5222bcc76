//! TCP headers (RFC 9293, section 3.1), with the options that the model's segments have.

use super::packet::{IPV4_BYTES, Origin, TCP, TcpDirection, connection_port, flow_port};
use crate::wlan::tap::SegmentSent;
use airqueue_core::{Span, Time};
use airqueue_transport::tcp::{HeaderSize, Opening, Segment, TcpSpec, Timestamps};

/// Length of a header with the longest options.
const MOST_BYTES: usize = 60;
/// Length of the IPv4 and TCP headers without options.
const PLAIN_BYTES: u32 = 40;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

const NO_OPERATION: u8 = 1;
/// Kind and length: RFC 9293, section 3.2; RFC 7323, section 2.2; RFC 2018, section 2; RFC 7323, section 3.2.
const MAXIMUM_SEGMENT_SIZE: [u8; 2] = [2, 4];
const WINDOW_SCALE: [u8; 2] = [3, 3];
const SACK_PERMITTED: [u8; 2] = [4, 2];
const TIMESTAMPS: [u8; 2] = [8, 10];
/// RFC 2018, section 3; its length depends on the blocks.
const SACK: u8 = 5;

/// RFC 7323, section 2.3.
const MOST_SHIFT: u8 = 14;

/// The header of a segment, and the identification of the IPv4 header in front of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    bytes: [u8; MOST_BYTES],
    length: u8,
    identification: u16,
}

impl Header {
    /// The header of a segment in one direction of its flow.
    pub(super) fn new(origin: &Origin, leg: &TcpDirection, sent: &SegmentSent) -> Header {
        let SegmentSent { packet, connection, ref segment } = *sent;
        let spec = &leg.spec;
        let ends = [connection_port(connection), flow_port(origin.flow)];
        let [from, to] = if leg.back { [ends[1], ends[0]] } else { ends };
        let mut bytes = Vec::with_capacity(MOST_BYTES);
        bytes.extend(from.to_be_bytes());
        bytes.extend(to.to_be_bytes());
        bytes.extend(number(segment.seq, connection).to_be_bytes());
        bytes.extend(segment.ack.map_or(0, |ack| number(ack, connection)).to_be_bytes());
        bytes.extend([0, flags(segment)]);
        bytes.extend(window(spec, segment).to_be_bytes());
        bytes.extend([0; 4]); // checksum and urgent pointer
        options(spec, segment, connection, &mut bytes);
        // Headers of a fixed size may have room left, filled with end-of-options bytes.
        let room = (segment.header_bytes - IPV4_BYTES) as usize;
        bytes.resize((room / 4 * 4).clamp(bytes.len(), MOST_BYTES), 0);
        bytes[12] = (bytes.len() / 4) as u8 * 16;
        let checksum = origin.checksum(TCP, packet.size, &bytes);
        bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
        let mut header = Header {
            bytes: [0; MOST_BYTES],
            length: bytes.len() as u8,
            identification: packet.id as u16,
        };
        header.bytes[..bytes.len()].copy_from_slice(&bytes);
        header
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    pub(super) fn identification(&self) -> u16 {
        self.identification
    }
}

/// The sequence number of an octet. The SYN's number depends on the connection: a port that is used again starts at
/// another number.
fn number(octet: u64, connection: u32) -> u32 {
    (octet as u32).wrapping_add(connection)
}

fn flags(segment: &Segment) -> u8 {
    let flags = [
        (segment.fin, FIN),
        (segment.syn, SYN),
        (segment.psh, PSH),
        (segment.ack.is_some(), ACK),
        (segment.ece, ECE),
        (segment.cwr, CWR),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag)
}

/// Whether segments have options; headers of a fixed size have none.
fn has_options(spec: &TcpSpec) -> bool {
    spec.header == HeaderSize::Options
}

/// The window field: the offered window, rounded up where scaled, because an offered window must not shrink.
fn window(spec: &TcpSpec, segment: &Segment) -> u16 {
    // Without SYNs there is no window scale, and the window of a SYN itself is never scaled (RFC 7323, section 2.2).
    let is_scaled = has_options(spec) && spec.opening != Opening::Open && !segment.syn;
    let scale = 1 << if is_scaled { shift(spec) } else { 0 };
    let offered = most_window_bytes(spec).min(segment.window_bytes.into());
    offered.div_ceil(scale).min(u16::MAX.into()) as u16
}

/// The largest window of the connection.
fn most_window_bytes(spec: &TcpSpec) -> u64 {
    let segments = u64::from(spec.sender.window_segments) * u64::from(spec.mss_bytes);
    segments.min(spec.receiver.most_window_bytes().unwrap_or(u64::MAX))
}

/// The smallest shift with which the window fits in the field, otherwise the largest allowed shift.
fn shift(spec: &TcpSpec) -> u8 {
    let fits = |&shift: &u8| most_window_bytes(spec).div_ceil(1 << shift) <= u16::MAX.into();
    (0..MOST_SHIFT).find(fits).unwrap_or(MOST_SHIFT)
}

/// Options in the layout of RFC 7323, appendix A, the layout that the model counts.
fn options(spec: &TcpSpec, segment: &Segment, connection: u32, out: &mut Vec<u8>) {
    if !has_options(spec) {
        return;
    }
    if segment.syn {
        // The MSS of the largest packets: options take their part of the MSS (RFC 6691, section 2).
        let largest = spec.mss_bytes + spec.data_header_bytes() - PLAIN_BYTES;
        out.extend(MAXIMUM_SEGMENT_SIZE);
        out.extend((largest as u16).to_be_bytes());
    }
    let stamps = segment.timestamps.zip(spec.timestamps);
    if segment.syn && spec.sack {
        out.extend(SACK_PERMITTED);
    } else if segment.syn || stamps.is_some() {
        out.extend([NO_OPERATION; 2]);
    }
    if let Some((stamps, clock)) = stamps {
        timestamps(stamps, clock, out);
    } else if segment.syn {
        out.extend([NO_OPERATION; 2]);
    }
    if segment.syn {
        out.push(NO_OPERATION);
        out.extend(WINDOW_SCALE);
        out.push(shift(spec));
    }
    sack(segment, connection, out);
}

fn timestamps(stamps: Timestamps, clock: Span, out: &mut Vec<u8>) {
    let ticks = |time: Time| (time.as_nanos() / clock.as_nanos()) as u32;
    out.extend(TIMESTAMPS);
    out.extend(ticks(stamps.value).to_be_bytes());
    out.extend(stamps.echo.map_or(0, ticks).to_be_bytes());
}

fn sack(segment: &Segment, connection: u32, out: &mut Vec<u8>) {
    let blocks = segment.sack.as_slice();
    if blocks.is_empty() {
        return;
    }
    out.extend([NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * blocks.len() as u8]);
    for edge in blocks.iter().flat_map(|block| [block.start, block.end]) {
        out.extend(number(edge, connection).to_be_bytes());
    }
}
