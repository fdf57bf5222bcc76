//! The numbers of a range, exact in decimals.

use super::grouped;
use crate::quantity::Decimal;

/// Significant digits of computed values between two ends, unless they are whole numbers.
const DIGITS: u32 = 6;
/// Relative distance from the end at which the last factor counts as meeting it.
const NEAR: f64 = 1e-9;

/// Two ends, in the base unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progression {
    pub(super) first: Decimal,
    pub(super) last: Decimal,
}

impl Progression {
    /// first, first + step, ... up to last, which is included if a step meets it. In a falling range the step may be
    /// positive or negative.
    pub(super) fn by_steps(self, step: Decimal, most: usize) -> Result<Vec<Decimal>, String> {
        let Progression { first, last } = self;
        if step == Decimal::ZERO {
            return Err("the step is zero".to_owned());
        }
        let down = last < first;
        if step < Decimal::ZERO && last > first {
            return Err("the step goes down and the range up; leave out the minus sign".to_owned());
        }
        let step = step.abs();
        let distance = if down { first.minus(last) } else { last.minus(first) };
        let count = distance.times_in(step) + 1.0;
        check(count, most)?;
        let nth = |k: u32| {
            let moved = step.times(Decimal::from(k));
            if down { first.minus(moved) } else { first.plus(moved) }
        };
        Ok((0..count as u32).map(nth).collect())
    }

    /// first, first · factor, ... up to and including last, or down from first.
    pub(super) fn by_factor(self, factor: Decimal, most: usize) -> Result<Vec<Decimal>, String> {
        let Progression { first, last } = self;
        if first <= Decimal::ZERO || last <= Decimal::ZERO {
            return Err("a range by a factor starts and ends above zero".to_owned());
        }
        if factor <= Decimal::ZERO || factor == Decimal::ONE {
            return Err("the factor must be above zero and not 1".to_owned());
        }
        if factor < Decimal::ONE && last > first {
            return Err("the factor goes down and the range up; use one above 1".to_owned());
        }
        let ratio = libm::log(last.to_f64()) - libm::log(first.to_f64());
        let factors = ratio.abs() / libm::log(factor.to_f64()).abs();
        check(factors + 1.0, most)?;
        let divides = last < first && factor > Decimal::ONE;
        let (mut power, mut found) = (Decimal::ONE, Vec::new());
        for _ in 0..=(factors + 1e-6) as usize {
            found.push(if divides { first.over(power) } else { first.times(power) });
            power = power.times(factor);
        }
        if let Some(end) = found.last_mut()
            && (end.to_f64() / last.to_f64() - 1.0).abs() <= NEAR
        {
            *end = last;
        }
        Ok(found)
    }

    /// The value at a fraction of the range, 0 to 1, evenly or in even ratios.
    pub(super) fn at(self, share: Decimal, log: bool, whole: bool) -> Decimal {
        let Progression { first, last } = self;
        if share == Decimal::ZERO {
            return first;
        }
        if share == Decimal::ONE {
            return last;
        }
        let value = if log {
            let ratio = last.to_f64() / first.to_f64();
            Decimal::of(first.to_f64() * libm::pow(ratio, share.to_f64()))
        } else {
            first.plus(last.minus(first).times(share))
        };
        if whole {
            return value.to_whole();
        }
        // Rounding must not leave the range.
        let (low, high) = if first < last { (first, last) } else { (last, first) };
        let value = value.rounded(DIGITS);
        if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        }
    }
}

fn check(count: f64, most: usize) -> Result<(), String> {
    // Also if the count is NaN.
    if count <= most as f64 {
        return Ok(());
    }
    let shown = if count < 1e15 { grouped(count.floor()) } else { "far too many".to_owned() };
    Err(format!("{shown} values; the limit is {}, take larger steps", grouped(most as f64)))
}
