//! The token bucket of the shaper, the policer and a capped host, in exact integer arithmetic.

use airqueue_core::{DataRate, Span, Time};

/// Tokens that flow in at a rate up to a depth. Amounts are in units of 10⁻⁹ bit, in which a rate times whole
/// nanoseconds is a whole number (see [`DataRate::work_in`]): rounding never loses a token.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: Option<DataRate>,
    depth: u128,
    level: u128,
    since: Time,
}

impl TokenBucket {
    /// A full bucket at time zero.
    pub fn new(rate: DataRate, depth: u128) -> TokenBucket {
        TokenBucket { rate: Some(rate), depth, level: depth, since: Time::ZERO }
    }

    /// Changes the rate from `now` on; `None`: no tokens flow in.
    pub fn set_rate(&mut self, rate: Option<DataRate>, now: Time) {
        self.refill(now);
        self.rate = rate;
    }

    /// Whether a full bucket would hold `amount`.
    pub fn can_ever_take(&self, amount: u128) -> bool {
        amount <= self.depth
    }

    /// Takes `amount` if the bucket holds as much at `now`.
    pub fn try_take(&mut self, amount: u128, now: Time) -> bool {
        self.refill(now);
        let there = amount <= self.level;
        if there {
            self.level -= amount;
        }
        there
    }

    /// When the bucket will hold `amount`, as seen at `now`; `None` if the present rate never fills the bucket that
    /// far.
    pub fn ready_at(&mut self, amount: u128, now: Time) -> Option<Time> {
        self.refill(now);
        if !self.can_ever_take(amount) {
            return None;
        }
        let missing = amount.saturating_sub(self.level);
        if missing == 0 {
            return Some(now);
        }
        self.rate.map(|rate| now + rate.time_for_work(missing))
    }

    fn refill(&mut self, now: Time) {
        let passed: Span = now - self.since;
        self.since = now;
        if let Some(rate) = self.rate {
            self.level = self.depth.min(self.level + rate.work_in(passed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::rate::work_for;
    use proptest::prelude::*;

    #[test]
    fn a_stall_brings_no_tokens() {
        let rate = DataRate::from_bps(8_000).unwrap();
        let mut bucket = TokenBucket::new(rate, work_for(1000));
        assert!(bucket.try_take(work_for(1000), Time::ZERO));
        bucket.set_rate(None, Time::ZERO);
        let later = Time::ZERO + Span::from_secs(10);
        assert_eq!(bucket.ready_at(work_for(1), later), None);
        bucket.set_rate(Some(rate), later);
        assert_eq!(bucket.ready_at(work_for(500), later), Some(later + Span::from_millis(500)));
        assert_eq!(bucket.ready_at(work_for(1001), later), None);
    }

    proptest! {
        /// RFC 2697: over any time t a bucket passes at most rate * t + depth, and a greedy sender gets all of this but
        /// less than one packet.
        #[test]
        fn passes_what_it_should(bps in 1_000u64..1_000_000_000, depth in 1500u32..100_000, sizes in prop::collection::vec(1u32..=1500, 1..300)) {
            let rate = DataRate::from_bps(bps).unwrap();
            let mut bucket = TokenBucket::new(rate, work_for(depth));
            let (mut now, mut passed) = (Time::ZERO, 0u128);
            for size in sizes {
                now = bucket.ready_at(work_for(size), now).unwrap();
                prop_assert!(bucket.try_take(work_for(size), now));
                passed += work_for(size);
                let inflow = rate.work_in(now - Time::ZERO);
                prop_assert!(passed <= inflow + work_for(depth));
                // Once the bucket is empty, the sender waits for the tokens of each nanosecond.
                if passed > work_for(depth) {
                    prop_assert!(inflow + work_for(depth) - passed < u128::from(bps) + 1);
                }
            }
        }
    }
}
