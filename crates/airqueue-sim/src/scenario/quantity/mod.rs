//! Numbers with their units, as a scenario writes them: `"11 Mb/s"`, `"120 ms"`, `"50 packets"`.

mod frame_rate;
mod units;

pub(super) use frame_rate::{FrameRate, SchemeName};
pub(super) use units::{
    Bytes, Decibels, Duration, Frequency, Length, PacketRate, Packets, Power, QueueLimit, Rate,
    Size, TxopLimit,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A unit's name, and what so many of it are; the error says what would be possible.
type Unit<V> = (&'static str, fn(f64) -> Result<V, &'static str>);

/// A kind of quantity.
pub(in crate::scenario) trait Dimension: Clone {
    /// What a number of its units is.
    type Value: Copy + fmt::Debug + 'static;
    /// What it is called, with its article.
    const WHAT: &'static str;
    /// Its name in the schema.
    const NAME: &'static str;
    /// How one is written.
    const EXAMPLE: &'static str;
    /// Whether it can be below zero.
    const SIGNED: bool = false;
    /// Its units.
    const UNITS: &'static [Unit<Self::Value>];
    /// What is said without a number.
    const WORDS: &'static [(&'static str, Self::Value)] = &[];
}

/// A number with its unit.
#[derive(Clone)]
pub(in crate::scenario) struct Quantity<D: Dimension> {
    pub(in crate::scenario) value: D::Value,
    /// As it was written.
    pub(in crate::scenario) text: String,
}

impl<D: Dimension> Quantity<D> {
    /// What `text` says.
    pub(in crate::scenario) fn parse(text: &str) -> Result<Quantity<D>, String> {
        if let Some(&(_, value)) = D::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(Quantity { value, text: text.to_owned() });
        }
        let (number, unit) = split(text);
        let example = D::EXAMPLE;
        let Some(number) = number.filter(|n| D::SIGNED || !n.is_sign_negative()) else {
            let words: String = D::WORDS.iter().map(|(word, _)| format!(", or {word:?}")).collect();
            return Err(format!("{text:?} is not {}, such as {example:?}{words}", D::WHAT));
        };
        let Some((_, make)) = D::UNITS.iter().find(|(name, _)| *name == unit) else {
            let problem = match unit {
                "" => "has no unit".to_owned(),
                unit => format!("has the unit {unit:?}"),
            };
            let units = units::<D>();
            return Err(format!(
                "{text:?} {problem}; {} has {units}, such as {example:?}",
                D::WHAT
            ));
        };
        match make(number) {
            Ok(value) => Ok(Quantity { value, text: text.to_owned() }),
            Err(expected) => Err(format!("found {text:?}, expected {expected}")),
        }
    }

    /// A quantity of the program's own.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub(in crate::scenario) fn of(text: &str) -> Quantity<D> {
        Quantity::parse(text).expect("a default that can be parsed")
    }
}

/// All units of a kind, for a sentence.
fn units<D: Dimension>() -> String {
    let mut names: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        format!("the unit {last}")
    } else {
        format!("the units {} or {last}", names.join(", "))
    }
}

/// The number at the beginning, and what follows it and any spaces.
fn split(text: &str) -> (Option<f64>, &str) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let mut end = sign(0);
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let mantissa = end + 1 + sign(end + 1);
        if digits(mantissa) > 0 {
            end = mantissa + digits(mantissa);
        }
    }
    // Digits are missing in ".", "-" and the like, which no number is.
    (text[..end].parse().ok(), text[end..].trim_start_matches(' '))
}

impl<D: Dimension> fmt::Debug for Quantity<D> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl<D: Dimension> Serialize for Quantity<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

struct QuantityVisitor<D>(PhantomData<D>);

impl<D: Dimension> QuantityVisitor<D> {
    fn bare<E: serde::de::Error>(number: impl fmt::Display) -> Result<Quantity<D>, E> {
        let (units, example) = (units::<D>(), D::EXAMPLE);
        let what = D::WHAT;
        Err(E::custom(format!("{number} has no unit; {what} has {units}, such as {example:?}")))
    }
}

impl<D: Dimension> Visitor<'_> for QuantityVisitor<D> {
    type Value = Quantity<D>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, such as {:?}", D::WHAT, D::EXAMPLE)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity<D>, E> {
        Quantity::parse(text).map_err(E::custom)
    }
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<Quantity<D>, E> {
        Self::bare(n)
    }
}

impl<'de, D: Dimension> Deserialize<'de> for Quantity<D> {
    fn deserialize<De: Deserializer<'de>>(deserializer: De) -> Result<Quantity<D>, De::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}

impl<D: Dimension> JsonSchema for Quantity<D> {
    fn schema_name() -> Cow<'static, str> {
        D::NAME.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let sign = if D::SIGNED { "[+-]?" } else { "[+]?" };
        let names: Vec<&str> = D::UNITS.iter().map(|(name, _)| *name).collect();
        let number = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?";
        let words: String = D::WORDS.iter().map(|(word, _)| format!("{word}|")).collect();
        json_schema!({
            "type": "string",
            "description": format!("{}{}, with its unit", D::WHAT[..1].to_uppercase(), &D::WHAT[1..]),
            "pattern": format!("^({words}{sign}{number} *({}))$", names.join("|")),
            "examples": [D::EXAMPLE],
        })
    }
}
