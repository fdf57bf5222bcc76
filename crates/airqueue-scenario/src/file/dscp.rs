//! The `dscp` of a flow.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A differentiated services codepoint, by its name in RFCs 2474, 2597, 3246, 5865 and 8622 or by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dscp(pub(crate) u8);

const EXPECTED: &str =
    "expected CS0 to CS7, AF11 to AF43, EF, VA, LE or DF, or a number of 0 to 63";

/// The codepoint of a name. Class selectors are multiples of 8; AFxy is 8 x + 2 y.
fn named(name: &str) -> Option<u8> {
    match (name, name.as_bytes()) {
        ("DF", _) => Some(0),
        ("LE", _) => Some(1),
        ("VA", _) => Some(44),
        ("EF", _) => Some(46),
        (_, [b'C', b'S', class @ b'0'..=b'7']) => Some(8 * (class - b'0')),
        (_, [b'A', b'F', class @ b'1'..=b'4', drop @ b'1'..=b'3']) => {
            Some(8 * (class - b'0') + 2 * (drop - b'0'))
        }
        _ => None,
    }
}

struct DscpVisitor;

impl Visitor<'_> for DscpVisitor {
    type Value = Dscp;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a codepoint such as \"EF\" or 46")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Dscp, E> {
        named(text).map(Dscp).ok_or_else(|| E::custom(format!("found {text:?}, {EXPECTED}")))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Dscp, E> {
        let small = u8::try_from(number).ok().filter(|&number| number < 64);
        small.map(Dscp).ok_or_else(|| E::custom(format!("found {number}, {EXPECTED}")))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Dscp, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom(format!("found {number}, {EXPECTED}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dscp, D::Error> {
        deserializer.deserialize_any(DscpVisitor)
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A differentiated services codepoint, by its name or by its number of 0 to 63.",
            "anyOf": [
                {"type": "string", "pattern": "^(CS[0-7]|AF[1-4][1-3]|EF|VA|LE|DF)$"},
                {"type": "integer", "minimum": 0, "maximum": 63},
            ]
        })
    }
}
