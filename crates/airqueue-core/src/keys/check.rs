//! Checks of single settings, for [`take`](crate::take). Errors say what was found and what was expected.

use crate::quantity::{Dimension, Quantity};
use std::ops::RangeInclusive;

/// A value, or the problem in one sentence.
pub type Checked<T> = Result<T, String>;

/// Any value of a quantity.
///
/// # Errors
///
/// None.
pub fn plain<D: Dimension>(given: &Quantity<D>) -> Checked<D::Value> {
    Ok(given.value)
}

/// Any value of a quantity, for an optional setting.
///
/// # Errors
///
/// None.
pub fn some<D: Dimension>(given: &Quantity<D>) -> Checked<Option<D::Value>> {
    Ok(Some(given.value))
}

/// Any value without a check: true, false, or a word.
///
/// # Errors
///
/// None.
pub fn any<T: Copy>(given: &T) -> Checked<T> {
    Ok(*given)
}

/// A quantity of at least `least`, which errors write as `written`.
pub fn least<D: Dimension>(
    least: D::Value,
    written: &str,
) -> impl Fn(&Quantity<D>) -> Checked<D::Value>
where
    D::Value: PartialOrd,
{
    move |given| {
        if given.value >= least {
            Ok(given.value)
        } else {
            Err(format!("found {:?}, expected at least {written:?}", given.text))
        }
    }
}

/// A quantity of at most `most`, which errors write as `written`.
pub fn most<D: Dimension>(
    most: D::Value,
    written: &str,
) -> impl Fn(&Quantity<D>) -> Checked<D::Value>
where
    D::Value: PartialOrd,
{
    move |given| {
        if given.value <= most {
            Ok(given.value)
        } else {
            Err(format!("found {:?}, expected at most {written:?}", given.text))
        }
    }
}

/// A number in a range.
pub fn within(range: RangeInclusive<f64>) -> impl Fn(&f64) -> Checked<f64> {
    move |given| {
        if range.contains(given) {
            Ok(*given)
        } else {
            Err(format!("found {given}, expected {} to {}", range.start(), range.end()))
        }
    }
}

/// A whole number, at most this.
pub fn at_most(most: u32) -> impl Fn(&u32) -> Checked<u32> {
    move |&given| {
        let fits = given <= most;
        fits.then_some(given).ok_or_else(|| format!("found {given}, expected at most {most}"))
    }
}

/// A whole number, at least one and at most this.
pub fn one_to(most: u32) -> impl Fn(&u32) -> Checked<u32> {
    move |&given| {
        let fits = (1..=most).contains(&given);
        fits.then_some(given).ok_or_else(|| format!("found {given}, expected 1 to {most}"))
    }
}
