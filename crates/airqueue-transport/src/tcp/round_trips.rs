//! How long it takes until segments are acknowledged, for whoever asks afterwards; timeouts and pacing go by
//! what the connection's own options let it measure.

use airqueue_core::{Span, Time};
use std::collections::VecDeque;

/// Segments that are outstanding, in their order.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    outstanding: VecDeque<Outstanding>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// The octet after it.
    end: u64,
    /// When it was sent; `None`: more than once.
    sent: Option<Time>,
}

impl RoundTrips {
    /// Nothing is outstanding any more. The room for segments stays: another connection needs it.
    pub(super) fn forget(&mut self) {
        self.outstanding.clear();
    }

    /// A new segment, behind all others, leaves.
    pub(super) fn on_new(&mut self, end: u64, now: Time) {
        self.outstanding.push_back(Outstanding { end, sent: Some(now) });
    }

    /// What has been sent before leaves again, from an octet to the one before `end`.
    pub(super) fn on_again(&mut self, start: u64, end: u64) {
        let first = self.outstanding.partition_point(|segment| segment.end <= start);
        for segment in self.outstanding.range_mut(first..) {
            segment.sent = None;
            if segment.end >= end {
                break;
            }
        }
    }

    /// How long ago the newest of the segments was sent that are all acknowledged now; `None` if that was
    /// more than once (Karn's rule: RFC 6298, section 3), or no segment is.
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
    fn what_was_sent_twice_says_nothing() {
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
    fn what_waited_behind_a_gap_counts_with_its_wait() {
        let mut trips = four();
        trips.on_again(1, 101);
        assert_eq!(trips.on_ack(401, ms(50)), Some(Span::from_millis(46)));
    }
}
