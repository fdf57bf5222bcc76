//! The average share of MPDUs that arrive at a rate.

/// Coefficients of the low-pass filter of second order by which the kernel averages (`minstrel_filter_avg_add`), for a
/// period of 16 intervals. With a = exp(-π √2 / 16) they are 2 a cos(√2 2π / 16) and -a²; the weight of the new share is
/// what is left to 1.
const OF_LAST: f64 = 1.287_4;
const OF_BEFORE: f64 = -0.573_9;
const OF_NEW: f64 = 1.0 - OF_LAST - OF_BEFORE;
/// The smallest average of a rate with results, a unit of the kernel's fractions (`MINSTREL_SCALE`).
const LEAST: f64 = 1.0 / 4096.0;

/// Average over intervals: each interval counts alike, however many MPDUs it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    /// 0: nothing is known.
    last: f64,
    before: f64,
    measured: bool,
}

impl Average {
    pub(super) fn share(&self) -> f64 {
        self.last
    }

    /// An interval has ended in which this share arrived.
    pub(super) fn add(&mut self, share: f64) {
        let share = share.max(LEAST);
        let known = self.last > 0.0;
        let next = match known {
            true => OF_NEW * share + OF_LAST * self.last + OF_BEFORE * self.before,
            false => share,
        };
        // The filter overshoots.
        let next = next.clamp(LEAST, 1.0);
        self.before = if known { self.last } else { next };
        self.last = next;
        self.measured = true;
    }

    /// Without results of its own a rate has at least the share of a faster rate. Returns the share at which slower
    /// rates of the group may be expected.
    pub(super) fn assume(&mut self, faster: f64) -> f64 {
        if !self.measured {
            self.last = self.last.max(faster);
        }
        self.last.max(faster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_are_those_of_the_formula() {
        use std::f64::consts::{PI, SQRT_2};
        let a = (-PI * SQRT_2 / 16.0).exp();
        assert!((OF_LAST - 2.0 * a * (SQRT_2 * 2.0 * PI / 16.0).cos()).abs() < 5e-5);
        assert!((OF_BEFORE + a * a).abs() < 5e-5);
    }

    /// The first share is the average; from then on the impulse response sums up to 1, and an interval does not decide.
    #[test]
    fn an_average_follows_slowly_and_overshoots() {
        let mut average = Average::default();
        average.add(0.5);
        assert_eq!(average.share(), 0.5);
        for _ in 0..100 {
            average.add(0.5);
        }
        assert!((average.share() - 0.5).abs() < 1e-9);
        average.add(0.0);
        assert!((average.share() - 0.5 * (1.0 - OF_NEW)).abs() < 1e-3);
        for _ in 0..3 {
            average.add(0.0);
        }
        assert_eq!(average.share(), LEAST, "the filter passes 0");
    }

    #[test]
    fn a_share_is_assumed_until_one_is_measured() {
        let mut average = Average::default();
        assert_eq!(average.assume(0.8), 0.8);
        assert_eq!(average.assume(0.3), 0.8);
        for _ in 0..20 {
            average.add(0.1);
        }
        let measured = average.share();
        assert_eq!(average.assume(0.9), 0.9);
        assert_eq!(average.share(), measured);
    }
}
