//! Data rates, and the exact time that bytes take at them.

use crate::Span;
use std::fmt;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// A data rate in whole bits per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataRate(u64);

impl DataRate {
    /// The rate of `bps` bits per second; `None` for zero, at which no transmission would ever end.
    pub const fn from_bps(bps: u64) -> Option<DataRate> {
        if bps == 0 { None } else { Some(DataRate(bps)) }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// This rate times `factor`, to the nearest bit per second and never below one. `factor` is
    /// positive and finite; anything else gives one bit per second.
    pub fn scaled(self, factor: f64) -> DataRate {
        // A float-to-integer cast saturates and takes NaN to zero.
        DataRate(((self.0 as f64 * factor).round() as u64).max(1))
    }

    /// Time to send `bytes` bytes, rounded up to a whole nanosecond. For packets sent back to back
    /// use a [`Serializer`], which does not add up the rounding.
    pub fn time_for(self, bytes: u32) -> Span {
        let (ns, rest) = divide(work_for(bytes), self.0);
        Span::from_nanos(ns.saturating_add(i64::from(rest > 0)))
    }

    /// Bits that pass in `span` (nothing in a negative one), in units of 10⁻⁹ bit: the unit in
    /// which a rate times whole nanoseconds is a whole number.
    pub fn work_in(self, span: Span) -> u128 {
        u128::from(self.0) * u128::try_from(span.as_nanos()).unwrap_or(0)
    }

    /// The least whole number of nanoseconds that `work` (units of 10⁻⁹ bit) takes.
    pub fn time_for_work(self, work: u128) -> Span {
        let (ns, rest) = divide(work, self.0);
        Span::from_nanos(ns.saturating_add(i64::from(rest > 0)))
    }
}

impl fmt::Display for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

/// The work of sending `bytes` bytes, in units of 10⁻⁹ bit (see [`DataRate::work_in`]).
pub fn work_for(bytes: u32) -> u128 {
    u128::from(bytes) * 8 * NANOS_PER_SEC
}

/// Quotient in nanoseconds and remainder; in 64 bits where it fits, since 128-bit division is slow.
fn divide(work: u128, bps: u64) -> (i64, u64) {
    match u64::try_from(work) {
        Ok(small) => ((small / bps).try_into().unwrap_or(i64::MAX), small % bps),
        Err(_) => {
            let bps = u128::from(bps);
            ((work / bps).try_into().unwrap_or(i64::MAX), (work % bps) as u64)
        }
    }
}

/// Sends byte counts back to back at one rate. The fraction of a nanosecond that one packet leaves
/// over is charged to the next, so that the ends of n packets lie where exact arithmetic puts them,
/// rounded down, however large n is.
#[derive(Clone, Copy, Debug)]
pub struct Serializer {
    rate: DataRate,
    /// Numerator of the fraction owed, over `rate`, in nanoseconds.
    owed: u64,
}

impl Serializer {
    /// A serializer without a fraction owed.
    pub fn new(rate: DataRate) -> Serializer {
        Serializer { rate, owed: 0 }
    }

    /// The rate.
    pub fn rate(&self) -> DataRate {
        self.rate
    }

    /// Time that the next `bytes` bytes take.
    pub fn send(&mut self, bytes: u32) -> Span {
        let (ns, owed) = divide(work_for(bytes) + u128::from(self.owed), self.rate.0);
        self.owed = owed;
        Span::from_nanos(ns)
    }

    /// Forgets the fraction owed: the line has been idle.
    pub fn rest(&mut self) {
        self.owed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn time_for_rounds_up() {
        let rate = DataRate::from_bps(7_000_000).unwrap();
        // 1500 bytes: 12000 / 7e6 s = 1714285.714... ns
        assert_eq!(rate.time_for(1500), Span::from_nanos(1_714_286));
        assert_eq!(rate.time_for(0), Span::ZERO);
        assert_eq!(DataRate::from_bps(8).unwrap().time_for(1), Span::from_secs(1));
        assert_eq!(DataRate::from_bps(0), None);
    }

    #[test]
    fn scaling_never_stops_a_link() {
        let rate = DataRate::from_bps(1000).unwrap();
        assert_eq!(rate.scaled(0.5).as_bps(), 500);
        assert_eq!(rate.scaled(1e-9).as_bps(), 1);
        assert_eq!(rate.scaled(f64::NAN).as_bps(), 1);
    }

    proptest! {
        #[test]
        fn serializer_never_drifts(bps in 1u64..=u64::MAX, sizes in prop::collection::vec(0u32..=65_535, 1..200)) {
            let rate = DataRate::from_bps(bps).unwrap();
            let mut line = Serializer::new(rate);
            let mut total = 0i128;
            let mut work = 0u128;
            for size in sizes {
                total += i128::from(line.send(size).as_nanos());
                work += work_for(size);
                prop_assert_eq!(total, (work / u128::from(bps)) as i128);
            }
        }

        #[test]
        fn work_and_time_are_inverse(bps in 1u64..=u64::MAX, bytes in 0u32..=u32::MAX) {
            let rate = DataRate::from_bps(bps).unwrap();
            let time = rate.time_for_work(work_for(bytes));
            prop_assume!(time < Span::from_nanos(i64::MAX));
            prop_assert!(rate.work_in(time) >= work_for(bytes));
            if time > Span::ZERO {
                prop_assert!(rate.work_in(time - Span::from_nanos(1)) < work_for(bytes));
            }
        }
    }
}
