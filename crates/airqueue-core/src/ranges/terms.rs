//! The values of lists and ranges.

use crate::quantity::{Decimal, Kind, Measure, Scale, shown};
use std::fmt;

/// Above this, `f64` does not distinguish adjacent whole numbers.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The type of the values of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number without a unit.
    Number,
    /// A whole number.
    Whole,
    /// A quantity; its values are in the base unit.
    Of(Kind),
    /// A number, a quantity of any kind or a word, as the keys of a scenario have them; quantities stay text.
    Any,
}

/// A value as it is passed on.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Absent,
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// A word, or a quantity with its unit.
    Text(String),
}

/// A value as written.
#[derive(Clone, Debug)]
pub struct Term {
    content: Content,
    element: Element,
    /// Whether the value is a whole number, of a kind with only whole numbers or without a unit.
    whole: bool,
}

#[derive(Clone, Debug)]
enum Content {
    Number(Decimal),
    Measure(Measure),
    Word(String),
}

impl Element {
    /// Reads `text`; the error is one sentence.
    pub fn read(self, text: &str) -> Result<Term, String> {
        let text = text.trim();
        let term = |content, whole| Term { content, element: self, whole };
        match self {
            Element::Number => number(text).map(|n| term(Content::Number(n), false)),
            Element::Whole => {
                let n = number(text)?;
                whole(n)?;
                Ok(term(Content::Number(n), true))
            }
            Element::Of(kind) => {
                kind.parse(text)?;
                Ok(term(Content::Measure(kind.measure(text)?), kind.whole()))
            }
            Element::Any => any(text).map(|(content, whole)| term(content, whole)),
        }
    }
}

fn number(text: &str) -> Result<Decimal, String> {
    let Some(number) = Decimal::parse(text) else {
        return Err(format!("{} is not a number; write for example 10, 2.5 or 1e-3", shown(text)));
    };
    if number.to_f64().is_infinite() {
        return Err(format!("{} is too large", shown(text)));
    }
    Ok(number)
}

fn whole(number: Decimal) -> Result<i64, String> {
    let value = number.to_f64();
    if !number.is_whole() {
        return Err(format!("{number} is not a whole number"));
    }
    if value.abs() > LARGEST_WHOLE {
        return Err(format!("{number} is too large"));
    }
    Ok(value as i64)
}

/// A number, a quantity or a word, and whether it is a whole number.
fn any(text: &str) -> Result<(Content, bool), String> {
    if Decimal::parse(text).is_some() {
        // As in TOML, 1.0 is not a whole number.
        let whole = text.bytes().all(|b| b.is_ascii_digit() || b"+-".contains(&b));
        return number(text).map(|n| (Content::Number(n), whole));
    }
    if let Some(measure) = Measure::of_any_kind(text) {
        let whole = measure.kind.whole() && base(&measure).is_whole();
        return Ok((Content::Measure(measure), whole));
    }
    let in_word = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if text.starts_with(char::is_alphabetic) && text.chars().all(in_word) {
        return Ok((Content::Word(text.to_owned()), false));
    }
    Err(format!("{} is no number, no quantity such as \"5.5 Mb/s\", and no word", shown(text)))
}

/// The number in the base unit; a level in dBm stays in dBm.
fn base(measure: &Measure) -> Decimal {
    match measure.scale {
        Scale::Ten(power) => measure.number.shifted(power),
        Scale::Times(count) => measure.number.times(Decimal::from(count)),
        Scale::Dbm => measure.number,
    }
}

impl Term {
    /// A number in the program's source; `whole`: written as a whole number.
    pub fn of(value: f64, whole: bool) -> Term {
        Term { content: Content::Number(Decimal::of(value)), element: Element::Any, whole }
    }

    /// Whether the value is a whole number.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether the default step is one: for numbers, bytes and packets.
    pub(super) fn counts(&self) -> bool {
        match &self.content {
            Content::Number(_) => true,
            Content::Measure(measure) => measure.kind.whole(),
            Content::Word(_) => false,
        }
    }

    /// Whether the value is a level in dBm.
    pub(super) fn is_level(&self) -> bool {
        matches!(&self.content, Content::Measure(measure) if matches!(measure.scale, Scale::Dbm))
    }

    /// Whether two values can be ends of one range.
    pub(super) fn comparable(&self, other: &Term) -> bool {
        match (&self.content, &other.content) {
            (Content::Number(_), Content::Number(_)) => true,
            (Content::Measure(a), Content::Measure(b)) => {
                a.kind == b.kind && self.is_level() == other.is_level()
            }
            _ => false,
        }
    }

    /// The number, in the base unit; a level in dBm stays in dBm.
    pub(super) fn base(&self) -> Decimal {
        match &self.content {
            Content::Number(number) => *number,
            Content::Measure(measure) => base(measure),
            Content::Word(_) => Decimal::ZERO,
        }
    }

    /// The value as it is passed on.
    pub(super) fn value(&self) -> Result<Value, String> {
        match &self.content {
            Content::Word(word) => Ok(Value::Text(word.clone())),
            _ => self.value_of(self.base()),
        }
    }

    /// A value of this kind with another number.
    pub(super) fn value_of(&self, base: Decimal) -> Result<Value, String> {
        match (&self.content, self.element) {
            (Content::Measure(measure), Element::Any) => {
                let number = match measure.scale {
                    Scale::Ten(power) => base.shifted(-power),
                    Scale::Times(count) => base.over(Decimal::from(count)),
                    Scale::Dbm => base,
                };
                Ok(Value::Text(format!("{number} {}", measure.unit)))
            }
            (_, Element::Any) if self.whole && base.is_whole() => whole(base).map(Value::Whole),
            (_, Element::Any) => Ok(Value::Number(base.to_f64())),
            _ if self.whole => whole(base).map(Value::Whole),
            _ => Ok(Value::Number(base.to_f64())),
        }
    }
}

/// Displays the value as written.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::Number(number) => write!(f, "{number}"),
            Content::Measure(measure) => write!(f, "{} {}", measure.number, measure.unit),
            Content::Word(word) => write!(f, "{word:?}"),
        }
    }
}
