//! The bytes of frames (IEEE 802.11-2016, 9.2 and 9.3).

use crate::wlan::spec::WlanSpec;
use airqueue_wifi::mac::{Frame, FrameKind};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames::{
    BLOCK_ACK_256_BYTES, FCS_BYTES, FOUR_ADDRESS_HEADER_BYTES, FOUR_ADDRESS_QOS_HEADER_BYTES,
    HEADER_BYTES, LLC_SNAP_BYTES, QOS_HEADER_BYTES,
};
use std::collections::HashSet;

/// Length of the FCS, as an index.
pub(super) const FCS: usize = FCS_BYTES as usize;
/// Association ids are 1 to 2007 (9.4.1.8).
pub(super) const MOST_ASSOCIATIONS: u16 = 2007;
/// Sequence numbers have 12 bits.
pub(super) const SEQUENCES: u16 = 1 << 12;

/// The next number of a sequence.
pub(super) fn count_on(next: &mut u16) -> u16 {
    let sequence = *next;
    *next = (sequence + 1) % SEQUENCES;
    sequence
}

/// The broadcast address.
pub(super) const BROADCAST: [u8; 6] = [0xff; 6];
/// First byte of Frame Control: version 0, type, subtype.
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const CF_END: u8 = 0xe4;
const PS_POLL: u8 = 0xa4;
/// The two last bits of a field with an association id: the Duration/ID of a PS-Poll (9.2.4.2), and the field AID (9.4.1.8).
const ID: u16 = 0xc000;
const BLOCK_ACK_REQUEST: u8 = 0x84;
const BLOCK_ACK: u8 = 0x94;
pub(super) const DATA: u8 = 0x08;
pub(super) const QOS_DATA: u8 = 0x88;
/// Second byte of Frame Control: To DS and From DS, which means four addresses.
const FOUR_ADDRESSES: u8 = 0x03;
const RETRY: u8 = 0x08;
const POWER_MANAGEMENT: u8 = 0x10;
const MORE_DATA: u8 = 0x20;

/// The address of the network of stations without access points: locally administered, and not a station's.
const INDEPENDENT: [u8; 6] = [0x02, 0xff, 0xff, 0xff, 0xff, 0xff];
/// The LLC/SNAP header of RFC 1042, with the type of IPv4.
const LLC_SNAP: [u8; LLC_SNAP_BYTES as usize] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// The stations that send beacons, whose addresses are those of their networks.
#[derive(Clone, Debug)]
pub(super) struct AccessPoints(HashSet<StationId>);

impl AccessPoints {
    pub(super) fn new(spec: &WlanSpec) -> AccessPoints {
        AccessPoints(spec.beacons.iter().map(|of| of.station).collect())
    }

    /// The BSSID of a frame's network (4.3.2 and 9.2.4.3.4): of two access points, the sender's.
    pub(super) fn bssid(&self, frame: &Frame) -> [u8; 6] {
        let mut ends = [frame.from, frame.to].into_iter();
        ends.find(|end| self.0.contains(end)).map_or(INDEPENDENT, address)
    }
}

/// The headers of a data frame in front of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    header_bytes: u32,
    /// Without LLC/SNAP a packet cannot be recognised in the frame, and the frame's body is zero.
    pub(super) llc_snap: bool,
}

impl Layout {
    /// The layout that adds `overhead_bytes` to a packet, if there is one.
    pub(super) fn of(overhead_bytes: u32) -> Option<Layout> {
        const HEADERS: [u32; 4] = [
            HEADER_BYTES,
            QOS_HEADER_BYTES,
            FOUR_ADDRESS_HEADER_BYTES,
            FOUR_ADDRESS_QOS_HEADER_BYTES,
        ];
        let with = |llc_snap, bytes| {
            let header_bytes = overhead_bytes.checked_sub(FCS_BYTES + bytes)?;
            HEADERS.contains(&header_bytes).then_some(Layout { header_bytes, llc_snap })
        };
        with(true, LLC_SNAP_BYTES).or_else(|| with(false, 0))
    }

    pub(super) fn is_qos(self) -> bool {
        matches!(self.header_bytes, QOS_HEADER_BYTES | FOUR_ADDRESS_QOS_HEADER_BYTES)
    }

    fn has_four_addresses(self) -> bool {
        matches!(self.header_bytes, FOUR_ADDRESS_HEADER_BYTES | FOUR_ADDRESS_QOS_HEADER_BYTES)
    }
}

/// Header fields of a data frame that [`Frame`] does not have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) layout: Layout,
    pub(super) priority: u8,
    pub(super) sequence: u16,
    /// Whether a frame with this sequence number was on the air before.
    pub(super) retry: bool,
    pub(super) bssid: [u8; 6],
}

impl Data {
    /// Appends the headers in front of the packet.
    pub(super) fn write(&self, frame: &Frame, out: &mut Vec<u8>) {
        let (qos, four) = (self.layout.is_qos(), self.layout.has_four_addresses());
        let (to, from) = (receiver(frame), address(frame.from));
        let flags = if four { FOUR_ADDRESSES } else { 0 } | if self.retry { RETRY } else { 0 };
        let flags = flags | power_flags(frame);
        begin(if qos { QOS_DATA } else { DATA }, flags, frame, out);
        out.extend(to);
        out.extend(from);
        out.extend(if four { to } else { self.bssid });
        out.extend((self.sequence << 4).to_le_bytes());
        if four {
            out.extend(from);
        }
        if qos {
            out.extend(qos_control(self.priority, frame));
        }
        if self.layout.llc_snap {
            out.extend(LLC_SNAP);
        }
    }
}

/// Appends a frame that carries no packet, without its FCS.
pub(super) fn control(frame: &Frame, bssid: [u8; 6], out: &mut Vec<u8>) {
    let kind = match frame.kind {
        FrameKind::Rts => RTS,
        FrameKind::Cts => CTS,
        FrameKind::Ack | FrameKind::Data => ACK,
        FrameKind::CfEnd => CF_END,
        FrameKind::BlockAck => BLOCK_ACK,
        FrameKind::BlockAckRequest => BLOCK_ACK_REQUEST,
        FrameKind::PsPoll => PS_POLL,
        FrameKind::Beacon | FrameKind::Null | FrameKind::QosNull | FrameKind::Handshake(_) => {
            unreachable!("they are no control frames")
        }
    };
    begin(kind, power_flags(frame), frame, out);
    if frame.kind == FrameKind::CfEnd {
        out.extend(BROADCAST);
    } else {
        out.extend(if frame.kind == FrameKind::PsPoll { bssid } else { address(frame.to) });
    }
    if !matches!(frame.kind, FrameKind::Cts | FrameKind::Ack) {
        out.extend(address(frame.from));
    }
}

/// The content of a block ack or block ack request after its addresses (9.3.1.8 and 9.3.1.9).
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    pub(super) priority: u8,
    /// The starting sequence number.
    pub(super) start: u16,
    /// The receiver's scoreboard from `start` on, one bit per sequence number.
    pub(super) bitmap: [u8; 32],
}

impl Score {
    /// Appends the fields that this kind of frame has.
    pub(super) fn write(&self, frame: &Frame, out: &mut Vec<u8>) {
        const COMPRESSED: u16 = 2 << 1;
        /// In place of the fragment number: a bitmap of 256 bits.
        const BITS_256: u16 = 4;
        let bitmap = match (frame.kind, frame.bytes) {
            (FrameKind::BlockAckRequest, _) => &[][..],
            (_, BLOCK_ACK_256_BYTES) => &self.bitmap[..],
            _ => &self.bitmap[..8],
        };
        let length = if bitmap.len() == self.bitmap.len() { BITS_256 } else { 0 };
        out.extend((COMPRESSED | u16::from(self.priority) << 12).to_le_bytes());
        out.extend((self.start << 4 | length).to_le_bytes());
        out.extend(bitmap);
    }
}

/// QoS Control: the priority, and EOSP (9.2.4.5).
pub(super) fn qos_control(priority: u8, frame: &Frame) -> [u8; 2] {
    const EOSP: u8 = 0x10;
    [priority | if frame.ends_service { EOSP } else { 0 }, 0]
}

/// Power Management and More Data of Frame Control.
pub(super) fn power_flags(frame: &Frame) -> u8 {
    let power = if frame.power { POWER_MANAGEMENT } else { 0 };
    power | if frame.more { MORE_DATA } else { 0 }
}

/// The association id of a station.
pub(super) fn association(station: StationId) -> u16 {
    (station.0 % u32::from(MOST_ASSOCIATIONS)) as u16 + 1
}

/// A field with the association id of a station.
pub(super) fn association_field(station: StationId) -> u16 {
    association(station) | ID
}

/// The address of a frame's receiver.
fn receiver(frame: &Frame) -> [u8; 6] {
    if frame.to == frame.from { BROADCAST } else { address(frame.to) }
}

/// Frame Control and Duration.
pub(super) fn begin(kind: u8, flags: u8, frame: &Frame, out: &mut Vec<u8>) {
    let field = match (frame.kind, frame.field) {
        (FrameKind::PsPoll, _) => association_field(frame.from),
        (_, 0) => (frame.nav.as_nanos() / 1_000) as u16,
        (_, field) => field,
    };
    out.extend([kind, flags]);
    out.extend(field.to_le_bytes());
}

/// A station's address: locally administered, with the station's id in the last four bytes.
pub(super) fn address(station: StationId) -> [u8; 6] {
    let [a, b, c, d] = station.0.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// The frame check sequence (9.2.4.8): the CRC of Ethernet, lowest byte first.
pub(super) fn fcs(frame: &[u8]) -> u32 {
    crc32fast::hash(frame)
}
