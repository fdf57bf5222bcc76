//! CAKE's shaper, which has no token bucket: a packet may leave when the transmission times of all packets before it
//! are over.

use airqueue_core::{Span, Time};

/// Slower rates count as this rate, in bytes per second (`cake_set_rate`).
const LEAST_RATE: u64 = 64;

/// The time that a byte takes, as a fraction whose denominator is a power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    numerator: u64,
    shift: u32,
}

/// When the next packet may leave.
///
/// Linux has a second clock besides, at two thirds of the rate, which only the ingress mode charges: without this mode
/// the second clock never decides anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shaper {
    pace: Pace,
    next: Time,
}

impl Pace {
    /// The pace of `rate` bytes per second; 0: bytes take no time. The numerator has as many bits as a product with a
    /// length allows (`cake_set_rate`).
    pub(super) fn new(rate: u64) -> Pace {
        if rate == 0 {
            return Pace::default();
        }
        let mut pace =
            Pace { numerator: (1_000_000_000u64 << 34) / rate.max(LEAST_RATE), shift: 34 };
        while pace.numerator >> 34 != 0 {
            pace.numerator >>= 1;
            pace.shift -= 1;
        }
        pace
    }

    /// The time that `bytes` bytes take.
    pub(super) fn time_for(self, bytes: u32) -> Span {
        let time = (u128::from(bytes) * u128::from(self.numerator)) >> self.shift;
        Span::from_nanos(i64::try_from(time).unwrap_or(i64::MAX))
    }
}

impl Shaper {
    pub(super) fn new(rate: u64) -> Shaper {
        Shaper { pace: Pace::new(rate), ..Shaper::default() }
    }

    /// Whether there is no rate.
    pub(super) fn is_unlimited(&self) -> bool {
        self.pace == Pace::default()
    }

    /// A packet arrives at an empty CAKE: time that passed without packets is lost (`cake_enqueue`).
    pub(super) fn restart(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// When the next packet may leave, if this time is later than `now`.
    pub(super) fn holds_until(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// A packet leaves (`cake_advance_shaper`).
    pub(super) fn charge(&mut self, bytes: u32) {
        self.next = self.next.saturating_add(self.pace.time_for(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 10 Mb/s: 800 ns a byte.
    #[test]
    fn a_packet_takes_its_time() {
        let pace = Pace::new(1_250_000);
        assert_eq!(pace.time_for(1514), Span::from_nanos(1_211_200));
        assert_eq!(Pace::new(0).time_for(1514), Span::ZERO);
        // 64 bytes a second are the least.
        assert_eq!(Pace::new(1).time_for(64), Span::from_secs(1));
    }

    proptest! {
        /// The pace is never faster by rounding than a nanosecond a packet, and slower by none.
        #[test]
        fn paces_are_exact(rate in 64u64..12_500_000_000, bytes in 1u32..100_000) {
            let time = Pace::new(rate).time_for(bytes).as_nanos();
            let exact = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
            prop_assert!(time as u128 <= exact);
            // 33 bits or more of the numerator are kept.
            let error = exact as f64 * 2f64.powi(-32) + f64::from(bytes) * 2f64.powi(-34) + 1.0;
            prop_assert!(exact as f64 - time as f64 <= error, "{time} for {exact}");
        }
    }
}
