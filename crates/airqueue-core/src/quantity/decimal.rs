//! Exact decimal numbers: 0.1 has no exact `f64`, but ten steps of 0.1 from 0 must end at 1.

use std::cmp::Ordering;
use std::fmt;

/// Significant digits that are kept. Further digits change no `f64`, and products with any unit fit into 128 bits.
const DIGITS: u32 = 30;
const LARGEST: i128 = 10i128.pow(DIGITS);
/// Number of digits that fit into the type.
const MOST_DIGITS: u32 = 37;
/// Far beyond the exponents of `f64`, and far from the end of the type.
const FARTHEST: i32 = 100_000;

/// `mantissa` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    mantissa: i128,
    exponent: i32,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal { mantissa: 0, exponent: 0 };
    /// One.
    pub const ONE: Decimal = Decimal { mantissa: 1, exponent: 0 };

    /// The number at the beginning of `text`, and the rest of the text.
    pub fn split(text: &str) -> Option<(Decimal, &str)> {
        let bytes = text.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let whole = sign(0);
        let mut end = whole + digits(whole);
        let mut fraction = end..end;
        if bytes.get(end) == Some(&b'.') {
            fraction = end + 1..end + 1 + digits(end + 1);
        }
        // ".", "-" and the like have no digits and are not numbers.
        if end == whole && fraction.is_empty() {
            return None;
        }
        let mut number = Decimal::ZERO;
        let figures = text[whole..end].bytes().map(|b| (b, false));
        for (digit, behind) in figures.chain(text[fraction.clone()].bytes().map(|b| (b, true))) {
            number.push(digit - b'0', behind);
        }
        if text.starts_with('-') {
            number.mantissa = -number.mantissa;
        }
        if bytes.get(end) == Some(&b'.') {
            end = fraction.end.max(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let power = end + 1 + sign(end + 1);
            let length = digits(power);
            if length > 0 {
                let size = text[power..power + length].parse().unwrap_or(FARTHEST).min(FARTHEST);
                let down = bytes[end + 1] == b'-';
                number.exponent += if down { -size } else { size };
                end = power + length;
            }
        }
        Some((number, &text[end..]))
    }

    /// Reads `text` if the whole text is a number.
    pub fn parse(text: &str) -> Option<Decimal> {
        Decimal::split(text).and_then(|(number, rest)| rest.is_empty().then_some(number))
    }

    /// The shortest decimal number that is read as `value`, which is finite.
    pub fn of(value: f64) -> Decimal {
        Decimal::parse(&format!("{value:e}")).unwrap_or(Decimal::ZERO)
    }

    fn push(&mut self, digit: u8, behind: bool) {
        let room = self.mantissa < LARGEST / 10;
        if room {
            self.mantissa = self.mantissa * 10 + i128::from(digit);
        }
        self.exponent = (self.exponent + i32::from(!room) - i32::from(behind)).max(-FARTHEST);
    }

    /// The nearest `f64`; infinite if the number is too large.
    pub fn to_f64(self) -> f64 {
        format!("{}e{}", self.mantissa, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Times ten to the power of `power`.
    pub fn shifted(self, power: i32) -> Decimal {
        Decimal { exponent: self.exponent.saturating_add(power), ..self }
    }

    /// The number without trailing zeros in the mantissa.
    pub fn reduced(mut self) -> Decimal {
        if self.mantissa == 0 {
            return Decimal::ZERO;
        }
        while self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        self
    }

    /// Number of significant digits.
    pub fn digits(self) -> u32 {
        self.reduced().mantissa.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.reduced().exponent >= 0
    }

    /// Whether it is above zero, below, or zero.
    pub fn sign(self) -> Ordering {
        self.mantissa.cmp(&0)
    }

    /// The absolute value.
    pub fn abs(self) -> Decimal {
        Decimal { mantissa: self.mantissa.abs(), ..self }
    }

    /// Mantissas over one exponent, if they fit.
    fn aligned(self, other: Decimal) -> Option<(i128, i128, i32)> {
        let (a, b) = (self.reduced(), other.reduced());
        let exponent = match (a.mantissa, b.mantissa) {
            (0, _) => b.exponent,
            (_, 0) => a.exponent,
            _ => a.exponent.min(b.exponent),
        };
        let over = |number: Decimal| {
            let power =
                u32::try_from(number.exponent - exponent).ok().filter(|_| number.mantissa != 0);
            match power {
                None => Some(0),
                Some(power) => 10i128.checked_pow(power)?.checked_mul(number.mantissa),
            }
        };
        Some((over(a)?, over(b)?, exponent))
    }

    /// The sum; if the magnitudes differ by more than all digits, the nearest `f64` of the sum.
    pub fn plus(self, other: Decimal) -> Decimal {
        let sum = self.aligned(other).and_then(|(a, b, exponent)| {
            a.checked_add(b).map(|mantissa| Decimal { mantissa, exponent })
        });
        sum.unwrap_or_else(|| Decimal::of(finite(self.to_f64() + other.to_f64())))
    }

    /// The difference, as [`Decimal::plus`].
    pub fn minus(self, other: Decimal) -> Decimal {
        self.plus(Decimal { mantissa: -other.mantissa, ..other })
    }

    /// The product, to [`DIGITS`] digits.
    pub fn times(self, other: Decimal) -> Decimal {
        let (a, b) = (self.reduced(), other.reduced());
        let exponent = a.exponent.saturating_add(b.exponent);
        match a.mantissa.checked_mul(b.mantissa) {
            Some(mantissa) => Decimal { mantissa, exponent },
            None => {
                // As many digits as the product can hold, more of the longer number.
                let (short, long) = if a.digits() < b.digits() { (a, b) } else { (b, a) };
                let short = short.rounded(MOST_DIGITS / 2);
                long.rounded(MOST_DIGITS - short.digits()).times(short)
            }
        }
    }

    /// The quotient to eighteen digits at least; `other` is not zero.
    pub fn over(self, other: Decimal) -> Decimal {
        let (mut a, b) = (self.reduced(), other.rounded(18));
        while a.mantissa != 0 && a.mantissa.abs() < i128::MAX / 10 {
            a.mantissa *= 10;
            a.exponent -= 1;
        }
        Decimal { mantissa: a.mantissa / b.mantissa, exponent: a.exponent - b.exponent }
            .rounded(DIGITS)
    }

    /// The quotient by `step`, which is not zero, rounded towards zero.
    pub fn times_in(self, step: Decimal) -> f64 {
        match self.aligned(step) {
            Some((a, b, _)) => (a / b) as f64,
            None => (self.to_f64() / step.to_f64()).trunc(),
        }
    }

    /// Rounded to this many significant digits, half to even.
    pub fn rounded(self, digits: u32) -> Decimal {
        let reduced = self.reduced();
        reduced.without(reduced.digits().saturating_sub(digits))
    }

    /// Rounded to a whole number, half to even.
    pub fn to_whole(self) -> Decimal {
        let reduced = self.reduced();
        reduced.without(reduced.exponent.min(0).unsigned_abs())
    }

    /// Rounded without this many of the last digits.
    fn without(self, digits: u32) -> Decimal {
        let Some(unit) = 10i128.checked_pow(digits) else { return Decimal::ZERO };
        let (quotient, rest) = (self.mantissa / unit, (self.mantissa % unit).abs());
        let up = match rest.cmp(&(unit - rest)) {
            Ordering::Less => false,
            Ordering::Equal => quotient % 2 != 0,
            Ordering::Greater => true,
        };
        let mantissa = quotient + i128::from(up) * self.mantissa.signum();
        Decimal { mantissa, exponent: self.exponent.saturating_add_unsigned(digits) }.reduced()
    }
}

/// Clamps a sum outside the range to the largest finite value.
fn finite(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        match self.aligned(*other) {
            Some((a, b, _)) => Some(a.cmp(&b)),
            None => self.to_f64().partial_cmp(&other.to_f64()),
        }
    }
}

impl From<u32> for Decimal {
    fn from(whole: u32) -> Decimal {
        Decimal { mantissa: i128::from(whole), exponent: 0 }
    }
}

/// Displays short numbers plainly, others with an exponent.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decimal { mantissa, exponent } = self.reduced();
        let figures = mantissa.unsigned_abs().to_string();
        let sign = if mantissa < 0 { "-" } else { "" };
        let before = figures.len() as i32 + exponent;
        match (exponent, before) {
            (0.., ..=21) => write!(f, "{sign}{figures}{}", "0".repeat(exponent as usize)),
            (..0, 1..) => {
                let (whole, fraction) = figures.split_at(before as usize);
                write!(f, "{sign}{whole}.{fraction}")
            }
            (..0, -6..=0) => write!(f, "{sign}0.{}{figures}", "0".repeat(-before as usize)),
            _ => {
                let (first, rest) = figures.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                write!(f, "{sign}{first}{point}{rest}e{}", before - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn numbers_end_where_they_end() {
        for (text, value, rest) in [
            ("54mbit", 54.0, "mbit"),
            ("5e", 5.0, "e"),
            ("5e3s", 5e3, "s"),
            ("+.5 s", 0.5, " s"),
            ("5. s", 5.0, " s"),
            ("-1.25E-2x", -0.0125, "x"),
            ("1e999", f64::INFINITY, ""),
            ("1e-99999999999", 0.0, ""),
        ] {
            let (found, left) = Decimal::split(text).unwrap();
            assert_eq!((found.to_f64(), left), (value, rest), "{text}");
        }
        for text in ["", ".", "-", "e5", "+.e3", "٣"] {
            assert!(Decimal::split(text).is_none(), "{text}");
        }
    }

    #[test]
    fn arithmetic_is_exact_in_decimals() {
        let sum = (0..10).fold(Decimal::ZERO, |sum, _| sum.plus(number("0.1")));
        assert_eq!(sum, Decimal::ONE);
        assert_eq!(number("81").over(number("3")).to_f64(), 27.0);
        assert_eq!(number("1").over(number("3")).to_f64(), 1.0 / 3.0);
        assert_eq!(number("0.3").over(number("10")).to_f64(), 0.03);
        assert_eq!(number("1").minus(number("0.1")).times_in(number("0.3")), 3.0);
        assert!(number("1e300") > number("1e-300"));
        assert!(number("2.0").is_whole() && !number("2.5").is_whole());
        assert_eq!(number("0.5").to_whole().to_f64(), 0.0);
        assert_eq!(number("-1.5").to_whole().to_f64(), -2.0);
        assert_eq!(number("0.51").to_whole().to_f64(), 1.0);
        assert_eq!(number("-0.05").to_whole().to_f64(), 0.0);
        assert_eq!(number("21.544").to_whole().to_f64(), 22.0);
        assert_eq!(number("1234567").rounded(6).to_f64(), 1_234_570.0);
    }

    proptest! {
        #[test]
        fn displayed_numbers_are_read_back(value in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            let shown = Decimal::of(value).to_string();
            prop_assert_eq!(shown.parse::<f64>().unwrap(), value, "{}", &shown);
            prop_assert_eq!(number(&shown).to_f64(), value, "{}", &shown);
        }

        #[test]
        fn numbers_are_those_of_the_standard_library(text in "[+-]?[0-9]{1,25}(\\.[0-9]{0,25})?(e[+-]?[0-9]{1,3})?") {
            let ours = number(&text).to_f64();
            let theirs: f64 = text.parse().unwrap();
            prop_assert!(ours == theirs || (ours - theirs).abs() <= theirs.abs() * 2e-16, "{} {}", ours, theirs);
        }

        #[test]
        fn sums_and_products_are_those_of_whole_numbers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000) {
            let (x, y) = (number(&a.to_string()), number(&b.to_string()));
            prop_assert_eq!(x.plus(y).to_f64(), (a + b) as f64);
            prop_assert_eq!(x.times(y).to_f64(), (a * b) as f64);
            prop_assert_eq!(x < y, a < b);
            if b != 0 {
                prop_assert_eq!(x.over(y).to_f64(), a as f64 / b as f64);
            }
        }
    }
}
