//! The time until the sender hears that segments have arrived, for statistics only; timeouts and pacing use the times that the
//! connection's own options can measure.

use super::ranges::Range;
use airqueue_core::{Span, Time};
use std::collections::VecDeque;

/// The outstanding segments, in order.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    outstanding: VecDeque<Outstanding>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// The octet after the segment.
    end: u64,
    /// When the segment was sent; `None`: more than once.
    sent: Option<Time>,
    /// Whether a block of SACK has reported that the segment has arrived.
    is_reported: bool,
}

impl RoundTrips {
    /// Forgets all segments. The memory for segments is kept for another connection.
    pub(super) fn forget(&mut self) {
        self.outstanding.clear();
    }

    /// A new segment is sent, after all others.
    pub(super) fn on_new(&mut self, end: u64, now: Time) {
        self.outstanding.push_back(Outstanding { end, sent: Some(now), is_reported: false });
    }

    /// The octets from `start` to `end` - 1 are sent again.
    pub(super) fn on_again(&mut self, start: u64, end: u64) {
        let first = self.outstanding.partition_point(|segment| segment.end <= start);
        for segment in self.outstanding.range_mut(first..) {
            segment.sent = None;
            if segment.end >= end {
                break;
            }
        }
    }

    /// When the first outstanding segment was sent; `None`: more than once, or nothing is outstanding.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.outstanding.front()?.sent
    }

    /// The round trip that an acknowledgement shows: the time since the newest of the segments was sent that it is the first
    /// to report. `None` if it reports none, or if one of those below `ack` was sent more than once: the others may have waited
    /// behind the gap (Karn's rule: RFC 6298, section 3; `tcp_clean_rtx_queue` of Linux).
    pub(super) fn on_ack(&mut self, ack: u64, blocks: &[Range], now: Time) -> Option<Span> {
        let (mut newest, mut is_clear) = (None, true);
        while let Some(segment) = self.outstanding.front().filter(|segment| segment.end <= ack) {
            is_clear &= segment.sent.is_some() || segment.is_reported;
            newest = if segment.is_reported { newest } else { segment.sent };
            self.outstanding.pop_front();
        }
        for block in blocks {
            newest = newest.max(self.on_block(*block));
        }
        newest.filter(|_| is_clear).map(|sent| now - sent)
    }

    /// A block of SACK: when the newest of the segments was sent that it is the first to report. A block grows at its ends.
    fn on_block(&mut self, block: Range) -> Option<Time> {
        let after = self.outstanding.partition_point(|segment| segment.end <= block.end);
        let first = self.outstanding.partition_point(|segment| segment.end <= block.start);
        // A segment of which the block has the end alone is not whole.
        let first = first + usize::from(self.start(first) < block.start);
        if first >= after {
            return None;
        }
        let new = |segment: &&mut Outstanding| !segment.is_reported;
        let mut newest = None;
        for segment in self.outstanding.range_mut(first..after).rev().take_while(new) {
            segment.is_reported = true;
            newest = newest.max(segment.sent);
        }
        for segment in self.outstanding.range_mut(first..after).take_while(new) {
            segment.is_reported = true;
            newest = newest.max(segment.sent);
        }
        newest
    }

    /// The first octet of a segment, by its place; of the first one 0: its beginning is not known.
    fn start(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(0, |before| self.outstanding[before].end)
    }
}

#[cfg(test)]
mod tests {
    use super::{Range, RoundTrips};
    use airqueue_core::{Span, Time};

    fn ms(ms: i64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Four segments of 100 octets from 1 on, one every millisecond.
    fn four() -> RoundTrips {
        let mut trips = RoundTrips::default();
        for i in 1..=4 {
            trips.on_new(1 + 100 * i, ms(i as i64));
        }
        trips
    }

    /// An acknowledgement without SACK.
    fn on_ack(trips: &mut RoundTrips, ack: u64, now: Time) -> Option<Span> {
        trips.on_ack(ack, &[], now)
    }

    #[test]
    fn the_newest_segment_counts() {
        let mut trips = four();
        assert_eq!(on_ack(&mut trips, 201, ms(10)), Some(Span::from_millis(8)));
        assert_eq!(on_ack(&mut trips, 201, ms(11)), None);
        // Half of the next.
        assert_eq!(on_ack(&mut trips, 251, ms(11)), None);
        assert_eq!(on_ack(&mut trips, 401, ms(12)), Some(Span::from_millis(8)));
    }

    #[test]
    fn retransmitted_segments_give_no_sample() {
        let mut trips = four();
        trips.on_again(1, 101);
        assert_eq!(on_ack(&mut trips, 101, ms(10)), None);
        // All that a new cut touches.
        trips.on_again(250, 350);
        assert_eq!(on_ack(&mut trips, 201, ms(10)), Some(Span::from_millis(8)));
        assert_eq!(on_ack(&mut trips, 301, ms(11)), None);
        assert_eq!(on_ack(&mut trips, 401, ms(12)), None);
    }

    #[test]
    fn the_wait_behind_a_gap_does_not_count() {
        let mut trips = four();
        trips.on_again(1, 101);
        // Without SACK nobody knows when the others arrived.
        assert_eq!(on_ack(&mut trips, 401, ms(50)), None);
        trips.on_new(501, ms(51));
        assert_eq!(on_ack(&mut trips, 501, ms(60)), Some(Span::from_millis(9)));
    }

    #[test]
    fn a_block_reports_a_segment_once() {
        let mut trips = four();
        let block = |start, end| [Range { start, end }];
        assert_eq!(trips.on_ack(1, &block(101, 201), ms(10)), Some(Span::from_millis(8)));
        assert_eq!(trips.on_ack(1, &block(101, 201), ms(11)), None);
        // A part of a segment is none.
        assert_eq!(trips.on_ack(1, &block(101, 250), ms(11)), None);
        assert_eq!(trips.on_ack(1, &block(101, 401), ms(12)), Some(Span::from_millis(8)));
        trips.on_again(1, 101);
        assert_eq!(on_ack(&mut trips, 401, ms(50)), None);
    }

    #[test]
    fn segments_that_overtook_others_are_not_late() {
        let mut trips = four();
        let later = [Range { start: 201, end: 401 }];
        assert_eq!(trips.on_ack(1, &later, ms(10)), Some(Span::from_millis(6)));
        // The first two come by themselves: the second of them counts, not the fourth.
        assert_eq!(on_ack(&mut trips, 401, ms(12)), Some(Span::from_millis(10)));
    }

    #[test]
    fn blocks_of_what_is_not_outstanding_report_nothing() {
        let mut trips = four();
        on_ack(&mut trips, 201, ms(10));
        let blocks = [(1, 101), (1, 201), (401, 501), (450, 501)];
        let blocks = blocks.map(|(start, end)| Range { start, end });
        assert_eq!(trips.on_ack(201, &blocks, ms(11)), None);
        on_ack(&mut trips, 401, ms(12));
        assert_eq!(trips.on_ack(401, &blocks, ms(13)), None);
    }
}
