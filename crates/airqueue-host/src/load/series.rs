//! What a client records about its load.

use super::tcp::TcpInfo;
use airqueue_core::Time;
use airqueue_probe::client::Direction;

/// Marks a round-trip time that is not known.
pub const MISSING_NS: i64 = i64::MIN;

/// One interval of a load: what it carried, and the state of its connections at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRow {
    /// The end of the interval, on `CLOCK_MONOTONIC`.
    pub at: Time,
    /// Bytes that arrived over connections that download, in whatever order, without headers.
    pub down_bytes: u64,
    /// Bytes of connections that upload that the server has acknowledged, selectively too, without headers.
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

/// Bytes that a connection has carried, in whatever order.
///
/// Bytes in order come in jumps, whenever a lost segment arrives at last: those of some seconds would make the rate of
/// a slow path wrong by a tenth. A sender knows what was acknowledged beyond a loss. A receiver counts segments while
/// they come out of order, and bytes again as soon as they do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    direction: Direction,
    /// When the load began: request and answer do not count.
    began: TcpInfo,
    last: TcpInfo,
    total: u64,
}

impl Carried {
    /// From the kernel's state when the load began.
    pub(super) fn since(info: TcpInfo, direction: Direction) -> Carried {
        Carried { direction, began: info, last: info, total: 0 }
    }

    /// Bytes since the last call.
    pub(super) fn more(&mut self, info: TcpInfo) -> u64 {
        let total = match self.direction {
            Direction::Up => {
                let acked = info.bytes_acked.saturating_sub(self.began.bytes_acked);
                acked + u64::from(info.sacked) * u64::from(info.snd_mss)
            }
            Direction::Down => self.arrived(info),
        };
        self.last = info;
        let more = total.saturating_sub(self.total);
        self.total += more;
        more
    }

    fn arrived(&self, info: TcpInfo) -> u64 {
        let in_order = |now: TcpInfo| now.bytes_received.saturating_sub(self.began.bytes_received);
        let segments = |now: TcpInfo| u64::from(now.arrived.wrapping_sub(self.began.arrived));
        if info.out_of_order == self.last.out_of_order {
            return in_order(info);
        }
        // As long as segments were so far.
        let bytes = match segments(self.last) {
            0 => u64::from(info.rcv_mss),
            before => self.total / before,
        };
        in_order(info).max(self.total + (segments(info) - segments(self.last)) * bytes)
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
    fn what_an_upload_carried_is_acknowledged_selectively_too() {
        let at = |bytes_acked, sacked| TcpInfo {
            bytes_acked,
            sacked,
            snd_mss: 10,
            ..TcpInfo::default()
        };
        let mut carried = Carried::since(at(37, 0), Direction::Up);
        let seen = [(40, 0), (40, 0), (39, 0), (40, 2), (60, 1), (1037, 0)];
        assert_eq!(seen.map(|(b, s)| carried.more(at(b, s))), [3, 0, 0, 20, 10, 967]);
    }

    #[test]
    fn what_a_download_carried_does_not_wait_for_a_lost_segment() {
        let at = |bytes_received, arrived, out_of_order| TcpInfo {
            bytes_received,
            arrived,
            out_of_order,
            rcv_mss: 10,
            ..TcpInfo::default()
        };
        let mut carried = Carried::since(at(1, 1, 0), Direction::Down);
        let mut more = |bytes, arrived, late| carried.more(at(bytes, arrived, late));
        assert_eq!(more(41, 5, 0), 40);
        // The next one is lost, and three behind it arrive; then it arrives, with one that is behind the three.
        assert_eq!(more(41, 8, 3), 30);
        assert_eq!(more(91, 10, 3), 20);
        // Nothing is lost, and the segments are short.
        assert_eq!(more(100, 13, 3), 9);
    }
}
