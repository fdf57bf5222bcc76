//! Rates of data frames: in bits per second, or by the name of a scheme of 802.11n and later.

use super::{Quantity, Rate};
use airqueue_wifi::phy::{Format, GuardInterval, Width};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};
use std::borrow::Cow;
use std::fmt;

const EXAMPLE: &str = "HE-MCS7-2SS-80MHz-0.8us";

/// Rate of a data frame.
#[derive(Clone, Debug)]
pub(crate) enum FrameRate {
    /// Of DSSS or OFDM.
    Legacy(Quantity<Rate>),
    /// Of 802.11n and later.
    Scheme(SchemeName),
}

/// The name of a scheme. What is left out, the layer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchemeName {
    pub(crate) format: Format,
    /// The standard's number: of HT it tells the streams, too.
    pub(crate) number: u8,
    pub(crate) streams: Option<u8>,
    pub(crate) width: Option<Width>,
    pub(crate) guard: Option<GuardInterval>,
}

impl SchemeName {
    /// As [`airqueue_wifi::phy::Mcs`] is shown, where everything behind the number may be missing.
    fn parse(text: &str) -> Option<SchemeName> {
        let mut parts = text.split('-');
        let format = match parts.next()? {
            "HT" => Format::Ht,
            "VHT" => Format::Vht,
            "HE" => Format::He,
            _ => return None,
        };
        let number = parts.next()?.strip_prefix("MCS")?.parse().ok()?;
        let mut name = SchemeName { format, number, streams: None, width: None, guard: None };
        let mut parts = parts.peekable();
        if format != Format::Ht
            && let Some(streams) = parts.peek().and_then(|part| part.strip_suffix("SS"))
        {
            name.streams = Some(streams.parse().ok()?);
            parts.next();
        }
        name.width = next_shown(&mut parts, &Width::ALL);
        name.guard = next_shown(&mut parts, &GuardInterval::ALL);
        parts.next().is_none().then_some(name)
    }
}

/// The one of `all` that is shown as the next part, which is taken if there is one.
fn next_shown<'a, T: Copy + fmt::Display>(
    parts: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    all: &[T],
) -> Option<T> {
    let part = *parts.peek()?;
    let found = all.iter().find(|one| one.to_string() == part)?;
    parts.next();
    Some(*found)
}

impl FrameRate {
    fn parse(text: &str) -> Result<FrameRate, String> {
        if !["HT-", "VHT-", "HE-"].iter().any(|format| text.starts_with(format)) {
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
        let widths = Width::ALL.map(|width| width.to_string()).join("|");
        let guards = GuardInterval::ALL.map(|guard| guard.to_string()).join("|");
        let shape = format!("(-({widths}))?(-({}))?", guards.replace('.', r"\."));
        json_schema!({
            "description": "A rate with its unit, or a scheme of 802.11n and later",
            "anyOf": [
                generator.subschema_for::<Quantity<Rate>>(),
                {
                    "type": "string",
                    "pattern": format!("^(HT-MCS[0-9]+|(VHT|HE)-MCS[0-9]+(-[1-8]SS)?){shape}$"),
                },
            ],
            "examples": ["11 Mb/s", "HT-MCS7", EXAMPLE],
        })
    }
}
