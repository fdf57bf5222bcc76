//! Segments that arrive at one instant, merged as by the generic receive offload (GRO) of Linux.
//!
//! A Wi-Fi driver hands the MPDUs of an A-MPDU to `napi_gro_receive` in one NAPI poll (`ieee80211_rx_napi` in mac80211).
//! GRO merges consecutive segments of a connection, and the receiver processes a merged segment like one segment.

use super::segment::Segment;

/// Largest IP packet that GRO makes, in bytes, plus one: `gro_max_size`.
const TOO_LONG_BYTES: u32 = 65_536;

/// One segment, or consecutive segments that GRO has merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merged {
    /// The headers of the first segment, with the data of all, and FIN and PSH of the last segment.
    pub(super) segment: Segment,
    /// Number of segments.
    pub(super) count: u32,
    /// Bytes of data in the first segment. Only the last segment may have fewer.
    size_bytes: u32,
    /// No segment can follow.
    complete: bool,
}

impl Merged {
    /// One segment.
    pub(super) fn of(segment: &Segment) -> Merged {
        let last = segment.syn || segment.fin || segment.psh;
        let complete = last || segment.payload_bytes == 0;
        Merged { segment: *segment, count: 1, size_bytes: segment.payload_bytes, complete }
    }

    /// Appends the next segment, if GRO merges the two: `tcp_gro_receive`, `inet_gro_receive` and `skb_gro_receive`. The
    /// segment must continue the data, be no longer than the first segment, and agree in the acknowledgement, the
    /// timestamps, the flags except FIN and PSH, and the ECN field. A segment with CWR begins a new merged segment. A
    /// shorter segment, FIN and PSH are the last that is merged.
    pub(super) fn merge(&mut self, next: &Segment) -> bool {
        let (first, bytes) = (&self.segment, next.payload_bytes);
        let continues = !self.complete && next.seq == first.end();
        let same_headers = next.ack == first.ack
            && next.timestamps == first.timestamps
            && next.sack == first.sack
            && (next.syn, next.ece, next.ecn) == (first.syn, first.ece, first.ecn)
            && !next.cwr;
        let fits = (1..=self.size_bytes).contains(&bytes)
            && u64::from(first.size_bytes()) + u64::from(bytes) < u64::from(TOO_LONG_BYTES);
        if !(continues && same_headers && fits) {
            return false;
        }
        self.segment.payload_bytes += bytes;
        (self.segment.fin, self.segment.psh) = (next.fin, next.psh);
        self.count += 1;
        self.complete = next.fin || next.psh || bytes < self.size_bytes;
        true
    }

    /// Number of segments to which `octets` octets of these belong, if the segments with them are adjacent: none for no
    /// octet, at most all.
    pub(super) fn segments_in(&self, octets: u64) -> u32 {
        let segments = octets.div_ceil(u64::from(self.size_bytes.max(1)));
        segments.min(u64::from(self.count)) as u32
    }
}
