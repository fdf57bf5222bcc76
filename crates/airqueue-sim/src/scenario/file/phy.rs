//! The keys of a physical layer.

use crate::scenario::quantity::{Quantity, Rate};
use airqueue_wifi::phy::{Preamble, Slot};
use schemars::JsonSchema;
use serde::Deserialize;

/// A physical layer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct PhyTable {
    /// Which layer.
    pub(in crate::scenario) standard: Standard,
    /// Preamble of DSSS frames; 802.11b and 802.11g. The default is long.
    pub(in crate::scenario) preamble: Option<PreambleName>,
    /// Slot time; 802.11g. The default is short (9 µs); long (20 µs) where 802.11b stations are present.
    pub(in crate::scenario) slot: Option<SlotName>,
    /// Rate of data frames, unless a station or a flow says otherwise. The default is the layer's highest.
    pub(in crate::scenario) rate: Option<Quantity<Rate>>,
    /// Rate of every RTS, CTS and ACK. Without it they follow `basic_rates`.
    pub(in crate::scenario) control_rate: Option<Quantity<Rate>>,
    /// A frame is answered at the highest of these rates that does not exceed its own. The default is 1 and
    /// 2 Mb/s for 802.11b; 6, 12 and 24 Mb/s for 802.11a and 802.11g.
    pub(in crate::scenario) basic_rates: Option<Vec<Quantity<Rate>>>,
}

/// A physical layer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(in crate::scenario) enum Standard {
    /// OFDM at 5 GHz: 6 to 54 Mb/s, slot 9 µs, SIFS 16 µs.
    #[serde(rename = "802.11a")]
    A,
    /// DSSS and CCK: 1 to 11 Mb/s, slot 20 µs, SIFS 10 µs.
    #[serde(rename = "802.11b")]
    B,
    /// ERP-OFDM at 2.4 GHz: 6 to 54 Mb/s and the rates of 802.11b, SIFS 10 µs.
    #[serde(rename = "802.11g")]
    G,
}

/// PHY preamble and header of DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::scenario) enum PreambleName {
    /// 192 µs.
    Long,
    /// 96 µs; frames at 1 Mb/s have the long one all the same.
    Short,
}

/// Slot time of 802.11g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::scenario) enum SlotName {
    /// 9 µs.
    Short,
    /// 20 µs.
    Long,
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
