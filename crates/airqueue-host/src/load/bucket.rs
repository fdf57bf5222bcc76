//! A token bucket (RFC 2697, without marking) over bytes of IP packets.

use airqueue_core::{Span, Time};

/// Time whose bytes may leave at once.
const DEPTH: Span = Span::from_millis(10);
/// Least depth in bytes: two full packets.
const LEAST_DEPTH: i64 = 3000;
/// An empty bucket is waited for until it holds the bytes of this time, so that writes are not tiny.
const REST: Span = Span::from_millis(2);
/// More than this is always worth a write: a packet of the usual size.
const WHOLE: i64 = 1500;

/// Bytes that may pass now; below zero after a packet that was larger than the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    bytes_per_s: i64,
    tokens: i64,
    at: Time,
}

impl Bucket {
    pub(super) fn new(bits_per_s: u64, now: Time) -> Bucket {
        let bytes_per_s = i64::try_from(bits_per_s / 8).unwrap_or(i64::MAX).max(1);
        let mut bucket = Bucket { bytes_per_s, tokens: 0, at: now };
        bucket.tokens = bucket.depth();
        bucket
    }

    fn in_time(&self, span: Span) -> i64 {
        let bytes = i128::from(self.bytes_per_s) * i128::from(span.as_nanos()) / 1_000_000_000;
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    fn depth(&self) -> i64 {
        self.in_time(DEPTH).max(LEAST_DEPTH)
    }

    /// Bytes that may pass now; 0: none.
    pub(super) fn allowance(&mut self, now: Time) -> usize {
        let more = self.in_time((now - self.at).max(Span::ZERO));
        if more > 0 {
            // Time that is too short for a byte is not lost: it counts the next time.
            self.at = now;
            self.tokens = self.tokens.saturating_add(more).min(self.depth());
        }
        // A packet, or the rest of a slow bucket: writes of a few bytes would be segments of a few bytes.
        let least = self.in_time(REST).clamp(1, WHOLE);
        if self.tokens < least { 0 } else { usize::try_from(self.tokens).unwrap_or(0) }
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.tokens = self.tokens.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// When an empty bucket is worth another look.
    pub(super) fn next(&self) -> Time {
        let missing = self.in_time(REST).max(1).saturating_sub(self.tokens).max(0);
        let ns = i128::from(missing) * 1_000_000_000 / i128::from(self.bytes_per_s);
        self.at + Span::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX / 4)) + Span::from_nanos(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_gets_more_than_rate_and_depth() {
        for rate in [8_000u64, 1_000_000, 50_000_000, 10_000_000_000] {
            let mut now = Time::from_nanos(7);
            let mut bucket = Bucket::new(rate, now);
            let (begin, mut passed) = (now, 0u64);
            while now < begin + Span::from_secs(3) {
                let allowed = bucket.allowance(now);
                if allowed > 0 {
                    let packet = allowed.clamp(1, 1500);
                    bucket.take(packet);
                    passed += packet as u64;
                    now += Span::from_micros(1);
                } else {
                    let next = bucket.next();
                    assert!(next > now, "waiting must not be a busy loop");
                    now = next;
                }
            }
            let fair = (rate / 8) as f64 * (now - begin).as_secs_f64();
            let depth = ((rate / 800) as f64).max(LEAST_DEPTH as f64);
            assert!(passed as f64 <= fair + depth + 1.0, "{rate}: {passed} of {fair}");
            assert!(passed as f64 >= 0.99 * fair, "{rate}: {passed} of {fair}");
        }
    }

    #[test]
    fn a_pause_saves_up_the_depth_at_most() {
        let mut bucket = Bucket::new(8_000_000, Time::from_nanos(1));
        let all = bucket.allowance(Time::from_nanos(1));
        bucket.take(all);
        assert_eq!(bucket.allowance(Time::from_nanos(3_600_000_000_001)), 10_000);
    }
}
