//! The keys of a physical layer.

use crate::quantity::{Duration, FrameRate, Frequency, Quantity, Rate};
use airqueue_wifi::phy::{self, GENERATIONS, Generation, Preamble, Slot, words};
use airqueue_wifi::rate_control::RateControlName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A physical layer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhyTable {
    /// The physical layer's name.
    pub(crate) standard: Standard,
    #[schemars(extend("description" = words::band()))]
    pub(crate) band: Option<BandName>,
    #[schemars(extend("description" = words::width()))]
    pub(crate) width: Option<Quantity<Frequency>>,
    #[schemars(
        range(min = 1),
        extend("description" = words::streams(), "maximum" = words::most_streams())
    )]
    pub(crate) streams: Option<u32>,
    #[schemars(extend("description" = words::guard_interval()))]
    pub(crate) guard_interval: Option<Quantity<Duration>>,
    /// Preamble of DSSS frames, for 802.11b, 802.11g, and later layers at 2.4 GHz. The default is long.
    pub(crate) preamble: Option<PreambleName>,
    /// Slot time, for 802.11g and later layers at 2.4 GHz. The default is short (9 µs); long (20 µs) where 802.11b
    /// stations are present.
    pub(crate) slot: Option<SlotName>,
    /// Coverage class of all stations: 3 µs each are added to the slot, and by it to DIFS, AIFS, EIFS and to the wait for a
    /// response. For links of `d` metres a class of at least d / 450 m, rounded up. The default is 0.
    #[schemars(range(max = phy::Phy::MOST_COVERAGE))]
    pub(crate) coverage_class: Option<u32>,
    /// Rate of data frames, unless a station or a flow overrides it: in Mb/s, or the name of a scheme of 802.11n and
    /// later. The default is the highest; from 802.11n on the highest scheme with `width`, `streams` and
    /// `guard_interval`.
    pub(crate) rate: Option<FrameRate>,
    /// Rate control of data frames, unless a station or a flow overrides it. The default is fixed: the given rate. All
    /// others choose among the rates of 802.11a, b or g, or from 802.11n on among all schemes with `guard_interval`, up
    /// to `width` and `streams`.
    pub(crate) rate_control: Option<RateControlName>,
    /// Rate of every RTS, CTS and ACK. The default follows from `basic_rates`.
    pub(crate) control_rate: Option<Quantity<Rate>>,
    /// The response to a frame has the highest of these rates that does not exceed the frame's rate. The default is 1
    /// and 2 Mb/s for 802.11b; 6, 12 and 24 Mb/s for all others.
    pub(crate) basic_rates: Option<Vec<Quantity<Rate>>>,
}

/// A physical layer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard(pub(crate) &'static Generation);

/// Their names, the shorter first.
fn standards() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mut names: Vec<_> = GENERATIONS.iter().map(|generation| generation.name).collect();
        names.sort_by_key(|name| (name.len(), *name));
        names
    });
    &NAMES
}

impl<'de> Deserialize<'de> for Standard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Standard, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Generation::named(&name);
        found.map(Standard).ok_or_else(|| D::Error::unknown_variant(&name, standards()))
    }
}

impl JsonSchema for Standard {
    fn schema_name() -> Cow<'static, str> {
        "Standard".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let described = |name: &&str| {
            let about = Generation::named(name).map(|generation| generation.about);
            json_schema!({"description": about, "type": "string", "const": name})
        };
        let names: Vec<_> = standards().iter().map(described).collect();
        json_schema!({"description": "A physical layer's name.", "oneOf": names})
    }
}

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum BandName {
    /// The band with the access timing of 802.11g, and the rates of 802.11b and 802.11g.
    #[serde(rename = "2.4 GHz")]
    Ghz2_4,
    /// The band with the access timing and the rates of 802.11a.
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// PHY preamble and header of DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PreambleName {
    /// 192 µs.
    Long,
    /// 96 µs; frames at 1 Mb/s have the long preamble in any case.
    Short,
}

/// Slot time at 2.4 GHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SlotName {
    /// 9 µs.
    Short,
    /// 20 µs.
    Long,
}

impl From<BandName> for phy::BandName {
    fn from(name: BandName) -> phy::BandName {
        match name {
            BandName::Ghz2_4 => phy::BandName::Ghz2_4,
            BandName::Ghz5 => phy::BandName::Ghz5,
        }
    }
}

impl From<PreambleName> for Preamble {
    fn from(name: PreambleName) -> Preamble {
        match name {
            PreambleName::Long => Preamble::Long,
            PreambleName::Short => Preamble::Short,
        }
    }
}

impl From<SlotName> for Slot {
    fn from(name: SlotName) -> Slot {
        match name {
            SlotName::Short => Slot::Short,
            SlotName::Long => Slot::Long,
        }
    }
}
