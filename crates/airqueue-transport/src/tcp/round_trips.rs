//! The time until segments are acknowledged, for statistics only; timeouts and pacing use the times that the
//! connection's own options can measure.

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
}

impl RoundTrips {
    /// Forgets all segments. The memory for segments is kept for another connection.
    pub(super) fn forget(&mut self) {
        self.outstanding.clear();
    }

    /// A new segment is sent, after all others.
    pub(super) fn on_new(&mut self, end: u64, now: Time) {
        self.outstanding.push_back(Outstanding { end, sent: Some(now) });
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

    /// Time since the newest newly acknowledged segment was sent; `None` if this segment was sent more than once
    /// (Karn's rule: RFC 6298, section 3), or no segment is newly acknowledged.
    pub(super) fn on_ack(&mut self, ack: u64, now: Time) -> Option<Span> {
        let mut newest = None;
        while let Some(segment) = self.outstanding.front().filter(|segment| segment.end <= ack) {
            newest = segment.sent;
            self.outstanding.pop_front();
        }
        newest.map(|sent| now - sent)
    }
}

#[cfg(test)]
mod tests {
    use super::RoundTrips;
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

    #[test]
    fn the_newest_segment_counts() {
        let mut trips = four();
        assert_eq!(trips.on_ack(201, ms(10)), Some(Span::from_millis(8)));
        assert_eq!(trips.on_ack(201, ms(11)), None);
        // Half of the next.
        assert_eq!(trips.on_ack(251, ms(11)), None);
        assert_eq!(trips.on_ack(401, ms(12)), Some(Span::from_millis(8)));
    }

    #[test]
    fn retransmitted_segments_give_no_sample() {
        let mut trips = four();
        trips.on_again(1, 101);
        assert_eq!(trips.on_ack(101, ms(10)), None);
        // All that a new cut touches.
        trips.on_again(250, 350);
        assert_eq!(trips.on_ack(201, ms(10)), Some(Span::from_millis(8)));
        assert_eq!(trips.on_ack(301, ms(11)), None);
        assert_eq!(trips.on_ack(401, ms(12)), None);
    }

    #[test]
    fn the_wait_behind_a_gap_counts() {
        let mut trips = four();
        trips.on_again(1, 101);
        assert_eq!(trips.on_ack(401, ms(50)), Some(Span::from_millis(46)));
    }
}
