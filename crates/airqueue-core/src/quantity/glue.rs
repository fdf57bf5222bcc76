//! A quantity as the value of a key, and its schema for editors.

use super::{Dimension, bare, examples};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A number with its unit.
#[derive(Clone)]
pub struct Quantity<D: Dimension> {
    /// The value.
    pub value: D::Value,
    /// The text as written.
    pub text: String,
}

impl<D: Dimension> Quantity<D> {
    /// Reads `text`.
    ///
    /// # Errors
    ///
    /// The problem, in one sentence.
    pub fn parse(text: &str) -> Result<Quantity<D>, String> {
        super::parse::<D>(text).map(|value| Quantity { value, text: text.trim().to_owned() })
    }

    /// A quantity in the program's source.
    ///
    /// # Panics
    ///
    /// If the text is not a valid quantity.
    pub fn of(text: &str) -> Quantity<D> {
        Quantity::parse(text).expect("a default that can be parsed")
    }
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
        Err(E::custom(bare::<D>(&number.to_string())))
    }
}

impl<D: Dimension> Visitor<'_> for QuantityVisitor<D> {
    type Value = Quantity<D>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, {}", D::WHAT, examples::<D>())
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
        json_schema!({
            "type": "string",
            "description": format!("{}{}, with its unit", D::WHAT[..1].to_uppercase(), &D::WHAT[1..]),
            "pattern": super::pattern::<D>(),
            "examples": [D::EXAMPLES[0]],
        })
    }
}
