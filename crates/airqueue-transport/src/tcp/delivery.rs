//! Samples of the delivery rate: draft-cheng-iccrg-delivery-rate-estimation-00, as in Linux's `tcp_rate.c`. Used only
//! for controllers that request samples.

use super::congestion::RateSample;
use super::ranges::Range;
use airqueue_core::{Span, Time};
use std::collections::VecDeque;

/// Records what was delivered at which time. The memory for segments is kept.
#[derive(Debug)]
pub(super) struct DeliveryRates {
    /// The outstanding segments, in the order of their octets.
    outstanding: VecDeque<Departure>,
    /// C.delivered, in bytes.
    delivered: u64,
    /// C.delivered_time
    delivered_at: Time,
    /// C.first_sent_time
    first_sent: Time,
    /// C.app_limited: the connection is application-limited until more than this is delivered.
    limited_until: Option<u64>,
    least_rtt: Option<Span>,
    /// The segment sent last among the segments that the present acknowledgement delivers.
    newest: Option<Departure>,
    /// Bytes that the present acknowledgement delivers.
    fresh: u64,
}

/// A segment's departure, and the connection's counters at that time: section 3.1.2 of the draft.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// The octet after the segment.
    end: u64,
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    app_limited: bool,
}

/// The deliveries that an acknowledgement reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delivered {
    pub(super) bytes: u64,
    pub(super) sample: Option<RateSample>,
}

impl DeliveryRates {
    pub(super) fn new() -> DeliveryRates {
        DeliveryRates {
            outstanding: VecDeque::new(),
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            limited_until: None,
            least_rtt: None,
            newest: None,
            fresh: 0,
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn delivered_at(&self) -> Time {
        self.delivered_at
    }

    pub(super) fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// Samples up to the last octet in flight underestimate the capacity of the path (`tcp_rate_check_app_limited`).
    pub(super) fn limit(&mut self, in_flight: u64) {
        self.limited_until = Some((self.delivered + in_flight).max(1));
    }

    /// Takes a round-trip sample `rtt`. Intervals shorter than the shortest round-trip time give no rate sample.
    pub(super) fn on_rtt(&mut self, rtt: Span) {
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Section 3.2: these octets are sent, for the first time if `new`.
    pub(super) fn on_sent(&mut self, range: Range, new: bool, now: Time) {
        if self.outstanding.is_empty() {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let departure = Departure {
            end: range.end,
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.is_limited(),
        };
        if new {
            self.outstanding.push_back(departure);
        } else if let Some(before) = self.find(range.end) {
            *before = departure;
        }
    }

    fn find(&mut self, end: u64) -> Option<&mut Departure> {
        let at = self.outstanding.partition_point(|departure| departure.end < end);
        self.outstanding.get_mut(at).filter(|departure| departure.end == end)
    }

    /// `tcp_rate_skb_delivered`: a segment has arrived. If an acknowledgement delivers several segments, the segment
    /// sent last counts.
    pub(super) fn on_arrival(&mut self, range: Range) {
        self.delivered += range.bytes();
        self.fresh += range.bytes();
        let Some(&mut departure) = self.find(range.end) else { return };
        let order = |of: &Departure| (of.sent, of.end);
        if self.newest.is_none_or(|newest| order(&departure) > order(&newest)) {
            self.newest = Some(departure);
            self.first_sent = departure.sent;
        }
    }

    /// `tcp_rate_gen`: all arrivals of an acknowledgement of everything before `una` have been reported.
    pub(super) fn on_ack(&mut self, una: u64, now: Time) -> Delivered {
        while self.outstanding.front().is_some_and(|first| first.end <= una) {
            self.outstanding.pop_front();
        }
        // All data sent before the application paused has arrived.
        self.limited_until = self.limited_until.filter(|&until| self.delivered <= until);
        let bytes = std::mem::take(&mut self.fresh);
        if bytes > 0 {
            self.delivered_at = now;
        }
        let sample = self.newest.take().and_then(|newest| self.sample(&newest, now));
        Delivered { bytes, sample }
    }

    /// Section 3.3. An interval shorter than the shortest round-trip time belongs to a segment that was retransmitted
    /// while its first copy was arriving.
    fn sample(&self, newest: &Departure, now: Time) -> Option<RateSample> {
        let sending = newest.sent - newest.first_sent;
        let acknowledging = now - newest.delivered_at;
        let interval = sending.max(acknowledging);
        let shortest = self.least_rtt.unwrap_or(Span::ZERO).max(Span::from_nanos(1));
        (interval >= shortest).then_some(RateSample {
            delivered: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Segment `number` from 1 on, of 100 octets.
    fn segment(number: u64) -> Range {
        Range { start: 100 * number - 99, end: 100 * number + 1 }
    }

    fn send(rates: &mut DeliveryRates, numbers: std::ops::RangeInclusive<u64>, ms: i64) {
        numbers.for_each(|number| rates.on_sent(segment(number), true, at(ms)));
    }

    fn ack(rates: &mut DeliveryRates, arrived: &[u64], una: u64, ms: i64) -> Delivered {
        arrived.iter().for_each(|&number| rates.on_arrival(segment(number)));
        rates.on_ack(100 * una + 1, at(ms))
    }

    fn sampled(delivered: u64, ms: i64, prior_delivered: u64, app_limited: bool) -> RateSample {
        RateSample { delivered, interval: Span::from_millis(ms), prior_delivered, app_limited }
    }

    /// Four segments at 0 over a path of 100 ms that delivers one segment each 10 ms. The first sample is one segment
    /// in 110 ms. The fifth is sent at 110 ms, when 100 octets had been delivered; its acknowledgement at 220 ms
    /// reports four segments in the 110 ms since, and the four were sent within 110 ms too.
    #[test]
    fn a_sample_spans_the_flight_of_a_segment() {
        let mut rates = DeliveryRates::new();
        send(&mut rates, 1..=4, 0);
        let first = ack(&mut rates, &[1], 1, 110);
        assert_eq!(first, Delivered { bytes: 100, sample: Some(sampled(100, 110, 0, false)) });
        send(&mut rates, 5..=5, 110);
        for (number, ms) in [(2, 120), (3, 130), (4, 140)] {
            let sample = ack(&mut rates, &[number], number, ms).sample;
            assert_eq!(sample, Some(sampled(100 * number, ms, 0, false)));
        }
        let fifth = ack(&mut rates, &[5], 5, 220).sample.unwrap();
        assert_eq!(fifth, sampled(400, 110, 100, false));
        assert_eq!(fifth.bytes_per_sec(), 3636);
    }

    /// Ten segments, sent 10 ms apart, are acknowledged at once: they took 100 ms to arrive, and 90 ms to be sent. So
    /// do the next ten, but their acknowledgements arrive 20 ms after the last: sending took longer.
    #[test]
    fn the_longer_one_of_sending_and_acknowledging_counts() {
        let mut rates = DeliveryRates::new();
        (1..=10).for_each(|number| rates.on_sent(segment(number), true, at(10 * number as i64)));
        let all: Vec<u64> = (1..=10).collect();
        let sample = ack(&mut rates, &all[..9], 9, 150).sample;
        assert_eq!(sample, Some(sampled(900, 140, 0, false)));
        (11..=20)
            .for_each(|number| rates.on_sent(segment(number), true, at(50 + 10 * number as i64)));
        assert_eq!(ack(&mut rates, &[10], 10, 260).sample, Some(sampled(1000, 250, 0, false)));
        let rest: Vec<u64> = (11..=20).collect();
        // The twentieth left at 250 ms when 900 octets had been delivered, the latest of them at 150 ms and sent at 90 ms.
        assert_eq!(ack(&mut rates, &rest, 20, 270).sample, Some(sampled(1100, 160, 900, false)));
    }

    /// Octets acknowledged out of order count once, by the time of sending and not by position.
    #[test]
    fn a_retransmission_counts_from_when_it_left_again() {
        let mut rates = DeliveryRates::new();
        send(&mut rates, 1..=3, 0);
        assert_eq!(ack(&mut rates, &[2, 3], 0, 100).sample, Some(sampled(200, 100, 0, false)));
        rates.on_sent(segment(1), false, at(100));
        let last = ack(&mut rates, &[1], 3, 205);
        assert_eq!(last, Delivered { bytes: 100, sample: Some(sampled(100, 105, 200, false)) });
    }

    /// A segment retransmitted at 100 ms whose first copy arrives at 121 ms: the send interval of 100 ms is not a
    /// delivery rate of a network whose shortest round trip is 120 ms.
    #[test]
    fn an_interval_below_the_shortest_round_trip_is_none() {
        let mut rates = DeliveryRates::new();
        rates.on_rtt(Span::from_millis(120));
        send(&mut rates, 1..=2, 0);
        assert!(ack(&mut rates, &[2], 0, 120).sample.is_some());
        rates.on_sent(segment(1), false, at(100));
        assert_eq!(ack(&mut rates, &[1], 2, 121), Delivered { bytes: 100, sample: None });
    }

    /// Section 3.4: segments sent while the application limits the connection are marked, until more has arrived than
    /// was in flight at that time. Sending with nothing outstanding restarts the clocks.
    #[test]
    fn an_idle_application_marks_samples() {
        let mut rates = DeliveryRates::new();
        send(&mut rates, 1..=2, 0);
        rates.limit(200);
        send(&mut rates, 3..=3, 10);
        assert_eq!(ack(&mut rates, &[1, 2], 2, 100).sample, Some(sampled(200, 100, 0, false)));
        assert!(rates.is_limited());
        assert_eq!(ack(&mut rates, &[3], 3, 110).sample, Some(sampled(300, 110, 0, true)));
        assert!(!rates.is_limited());
        send(&mut rates, 4..=4, 5000);
        assert_eq!(ack(&mut rates, &[4], 4, 5100).sample, Some(sampled(100, 100, 300, false)));
    }
}
