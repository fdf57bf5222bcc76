//! What a client records about its load.

use super::tcp::TcpInfo;
use airqueue_core::Time;

/// Marks a round-trip time that is not known.
pub const MISSING_NS: i64 = i64::MIN;

/// One interval of a load: what it carried, and the state of its connections at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRow {
    /// The end of the interval, on `CLOCK_MONOTONIC`.
    pub at: Time,
    /// Bytes that arrived over connections that download, without headers.
    pub down_bytes: u64,
    /// Bytes of connections that upload that the server has acknowledged, without headers.
    pub up_bytes: u64,
    /// Least and median of the round-trip times of connections that download, as the kernel estimates them from what
    /// arrives; [`MISSING_NS`] without one.
    pub down_rtt_ns: [i64; 2],
    /// Least and median of the smoothed round-trip times (RFC 6298) of connections that upload.
    pub up_rtt_ns: [i64; 2],
    /// Connections that carry the load.
    pub alive: u8,
}

/// All of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSeries {
    /// When the load began, on `CLOCK_MONOTONIC`: the beginning of the first interval.
    pub from: Time,
    /// One for each interval, without gaps; the last one may be shorter.
    pub rows: Vec<LoadRow>,
    /// Segments that connections that upload sent again.
    pub retransmitted: u64,
    /// Connections that died before the run ended, or were never there: a sentence each.
    pub died: Vec<String>,
}

/// Least and median of round-trip times in microseconds, in nanoseconds.
pub(super) fn least_and_median(times: impl Iterator<Item = u32>) -> [i64; 2] {
    let mut known: Vec<u32> = times.filter(|&us| us > 0).collect();
    known.sort_unstable();
    let ns = |us: &u32| i64::from(*us) * 1000;
    // Of an even number the lower of the two in the middle: a time that a connection had.
    let median = known.get(known.len().saturating_sub(1) / 2);
    [known.first().map_or(MISSING_NS, ns), median.map_or(MISSING_NS, ns)]
}

/// Bytes that a connection has had acknowledged since the answer to its request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    base: u64,
    counted: u64,
}

impl Acknowledged {
    /// From the kernel's state when the load began: the request does not count.
    pub(super) fn since(info: TcpInfo) -> Acknowledged {
        Acknowledged { base: info.bytes_acked, counted: 0 }
    }

    /// Bytes since the last call.
    pub(super) fn more(&mut self, info: TcpInfo) -> u64 {
        let total = info.bytes_acked.saturating_sub(self.base).max(self.counted);
        let more = total - self.counted;
        self.counted = total;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_times_that_are_not_known_do_not_count() {
        assert_eq!(least_and_median([].into_iter()), [MISSING_NS; 2]);
        assert_eq!(least_and_median([0].into_iter()), [MISSING_NS; 2]);
        assert_eq!(least_and_median([0, 9, 3, 5].into_iter()), [3000, 5000]);
        assert_eq!(least_and_median([4, 1].into_iter()), [1000, 1000]);
    }

    #[test]
    fn acknowledged_bytes_are_counted_once() {
        let at = |bytes_acked| TcpInfo { bytes_acked, ..TcpInfo::default() };
        let mut acked = Acknowledged::since(at(37));
        assert_eq!([40, 40, 39, 1037].map(|b| acked.more(at(b))), [3, 0, 0, 997]);
    }
}
