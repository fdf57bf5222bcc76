//! Beacons (IEEE 802.11-2016, 9.3.3.3) and null frames, without and with QoS (9.3.2.1).

use super::bytes::{BROADCAST, FCS, address, association, begin, power_flags, qos_control};
use crate::wlan::tap::{TracedBeacon, TracedFrame};
use airqueue_wifi::mac::{Frame, FrameKind};

/// First byte of Frame Control: version 0, type, subtype.
const BEACON: u8 = 0x80;
const NULL: u8 = 0x48;
const QOS_NULL: u8 = 0xc8;

/// Element ids (9.4.2.1).
pub(super) const SSID: u8 = 0;
const TIM: u8 = 5;
pub(super) const VENDOR_SPECIFIC: u8 = 221;

pub(super) const NAME: &[u8; 8] = b"airqueue";
/// A time unit, in which the beacon interval is told, in nanoseconds.
const TIME_UNIT_NS: i64 = 1_024_000;
/// Capability Information: ESS.
pub(super) const ESS: u16 = 1;
/// Bytes of the longest partial virtual bitmap (9.4.2.6).
const LONGEST_BITMAP: usize = 251;

/// Appends a beacon or a null frame, without its FCS. `priority`: that of a QoS null frame.
pub(super) fn management(
    traced: &TracedFrame,
    (sequence, bssid): (u16, [u8; 6]),
    priority: u8,
    out: &mut Vec<u8>,
) {
    let frame = &traced.frame;
    let begins = out.len();
    let (kind, to) = match frame.kind {
        FrameKind::Beacon => (BEACON, BROADCAST),
        FrameKind::QosNull => (QOS_NULL, address(frame.to)),
        _ => (NULL, address(frame.to)),
    };
    begin(kind, power_flags(frame), frame, out);
    out.extend(to);
    out.extend(address(frame.from));
    out.extend(bssid);
    out.extend((sequence << 4).to_le_bytes());
    if frame.kind == FrameKind::QosNull {
        out.extend(qos_control(priority, frame));
    }
    if let Some(beacon) = &traced.beacon {
        let ends = begins + frame.bytes as usize - FCS;
        body(beacon, traced.begins.as_nanos() as u64 / 1_000, ends, out);
    }
}

/// Whether a frame is one of these, or one of an association.
pub(super) fn is_management(frame: &Frame) -> bool {
    matches!(
        frame.kind,
        FrameKind::Beacon | FrameKind::Null | FrameKind::QosNull | FrameKind::Handshake(_)
    )
}

/// The fields and elements of a beacon, up to `ends`. Vendor-specific elements make up its length.
fn body(beacon: &TracedBeacon, timestamp_us: u64, ends: usize, out: &mut Vec<u8>) {
    let units = (beacon.interval.as_nanos() + TIME_UNIT_NS / 2) / TIME_UNIT_NS;
    out.extend(timestamp_us.to_le_bytes());
    out.extend((units.clamp(1, u16::MAX.into()) as u16).to_le_bytes());
    out.extend(ESS.to_le_bytes());
    out.extend([SSID, NAME.len() as u8]);
    out.extend(NAME);
    traffic(beacon, ends, out);
    while ends > out.len() {
        let left = ends - out.len();
        // What is left for the next element has room for it: a vendor's element has five bytes at least.
        let length = match left - 2 {
            whole if whole <= 255 => whole,
            whole => 255.min(whole - 5),
        };
        out.extend([VENDOR_SPECIFIC, length as u8]);
        out.resize(out.len() + length, 0);
    }
}

/// The TIM, which is as long as it has to be, and longer where no other element would fit behind it. A beacon too short
/// for the whole bitmap has the beginning of it.
fn traffic(beacon: &TracedBeacon, ends: usize, out: &mut Vec<u8>) {
    let ids: Vec<usize> = beacon.traffic.iter().map(|&of| association(of).into()).collect();
    // The bitmap begins at an even byte (9.4.2.6).
    let first = ids.iter().min().map_or(0, |id| (id / 8) & !1);
    let last = ids.iter().max().map_or(0, |id| id / 8);
    let room = ends.saturating_sub(out.len() + 5);
    let mut bytes = (last + 1 - first).min(LONGEST_BITMAP).min(room.max(1));
    if (1..5).contains(&room.saturating_sub(bytes)) {
        bytes = if room <= LONGEST_BITMAP { room } else { bytes - 5 };
    }
    let mut bitmap = vec![0_u8; bytes];
    for id in ids {
        if let Some(byte) = bitmap.get_mut(id / 8 - first) {
            *byte |= 1 << (id % 8);
        }
    }
    let control = first as u8 | u8::from(beacon.group_follows);
    out.extend([TIM, bytes as u8 + 3, beacon.dtim_count as u8, beacon.dtim_period as u8, control]);
    out.extend(bitmap);
}
