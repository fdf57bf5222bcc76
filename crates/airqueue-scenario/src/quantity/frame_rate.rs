//! Rates of data frames: in bits per second, or by the name of a scheme of 802.11n and later.

use super::{Quantity, Rate};
use airqueue_wifi::phy::SchemeName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

const EXAMPLE: &str = "HE-MCS7-2SS-80MHz-0.8us";

/// Rate of a data frame.
#[derive(Clone, Debug)]
pub(crate) enum FrameRate {
    /// A rate of DSSS or OFDM.
    Legacy(Quantity<Rate>),
    /// A scheme of 802.11n and later.
    Scheme(SchemeName),
}

impl FrameRate {
    fn parse(text: &str) -> Result<FrameRate, String> {
        if !SchemeName::is_meant(text) {
            return Quantity::parse(text).map(FrameRate::Legacy);
        }
        SchemeName::parse(text).map(FrameRate::Scheme).ok_or_else(|| {
            format!(
                "{text:?} is no name of a scheme, such as {EXAMPLE:?}: format and MCS, and if wanted \
                 streams (not with HT), width and guard interval"
            )
        })
    }
}

struct FrameRateVisitor;

impl Visitor<'_> for FrameRateVisitor {
    type Value = FrameRate;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a rate, such as \"11 Mb/s\", or a scheme, such as {EXAMPLE:?}")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FrameRate, E> {
        FrameRate::parse(text).map_err(E::custom)
    }
    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<FrameRate, E> {
        Quantity::deserialize(n.into_deserializer()).map(FrameRate::Legacy)
    }
    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<FrameRate, E> {
        Quantity::deserialize(n.into_deserializer()).map(FrameRate::Legacy)
    }
    fn visit_f64<E: serde::de::Error>(self, n: f64) -> Result<FrameRate, E> {
        Quantity::deserialize(n.into_deserializer()).map(FrameRate::Legacy)
    }
}

impl<'de> Deserialize<'de> for FrameRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FrameRate, D::Error> {
        deserializer.deserialize_any(FrameRateVisitor)
    }
}

impl JsonSchema for FrameRate {
    fn schema_name() -> Cow<'static, str> {
        "FrameRate".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A rate with its unit, or a scheme of 802.11n and later",
            "anyOf": [
                generator.subschema_for::<Quantity<Rate>>(),
                {"type": "string", "pattern": SchemeName::pattern()},
            ],
            "examples": ["11 Mb/s", "HT-MCS7", EXAMPLE],
        })
    }
}
