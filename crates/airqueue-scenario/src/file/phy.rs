//! The keys of a physical layer.

use crate::quantity::{Duration, FrameRate, Frequency, Quantity, Rate};
use airqueue_network::wlan::Algorithm;
use airqueue_wifi::phy::{Format, Preamble, Slot};
use schemars::JsonSchema;
use serde::Deserialize;

/// A physical layer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhyTable {
    /// Which layer.
    pub(crate) standard: Standard,
    /// Where 802.11n and 802.11ax are. The default is 5 GHz, where 802.11ac is.
    pub(crate) band: Option<BandName>,
    /// The widest channel of frames of 802.11n and later: 20 or 40 MHz; from 802.11ac on, at 5 GHz, 80 or
    /// 160 MHz too. The default is 80 MHz where that is possible, otherwise 20 MHz.
    pub(crate) width: Option<Quantity<Frequency>>,
    /// The most spatial streams of frames of 802.11n and later: 1 to 4 of 802.11n, to 8 of its successors.
    /// The default is 1.
    #[schemars(range(min = 1, max = 8))]
    pub(crate) streams: Option<u32>,
    /// Guard interval of schemes that do not name one: 0.4 or 0.8 µs, of 802.11ax 0.8, 1.6 or 3.2 µs. The
    /// default is 0.8 µs, also of older formats which have not the given one.
    pub(crate) guard_interval: Option<Quantity<Duration>>,
    /// Preamble of DSSS frames; 802.11b, 802.11g, and what is at 2.4 GHz. The default is long.
    pub(crate) preamble: Option<PreambleName>,
    /// Slot time; 802.11g, and what is at 2.4 GHz. The default is short (9 µs); long (20 µs) where 802.11b
    /// stations are present.
    pub(crate) slot: Option<SlotName>,
    /// Rate of data frames, unless a station or a flow says otherwise: in Mb/s, or the name of a scheme of
    /// 802.11n and later. The default is the highest; from 802.11n on the highest scheme with `width`,
    /// `streams` and `guard_interval`.
    pub(crate) rate: Option<FrameRate>,
    /// How stations find the rate of their data frames, unless a station or a flow says otherwise: the default is
    /// fixed, the one that is given. All others look among the rates of 802.11a, b or g, or from 802.11n on among
    /// all schemes with `guard_interval`, up to `width` and `streams`.
    pub(crate) rate_control: Option<RateControlName>,
    /// Rate of every RTS, CTS and ACK. Without it they follow `basic_rates`.
    pub(crate) control_rate: Option<Quantity<Rate>>,
    /// A frame is answered at the highest of these rates that does not exceed its own. The default is 1 and
    /// 2 Mb/s for 802.11b; 6, 12 and 24 Mb/s for all others.
    pub(crate) basic_rates: Option<Vec<Quantity<Rate>>>,
}

/// How a station finds the rate of its data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RateControlName {
    /// It is given.
    Fixed,
    /// Auto rate fallback: a step up after ten frames that got through, a step down after two that did not.
    Arf,
    /// Adaptive ARF: it waits the longer for a step up the more of them have failed at once.
    Aarf,
    /// Minstrel-HT, as in Linux: it counts what gets through at each rate, and takes the one with the highest
    /// throughput.
    Minstrel,
}

impl RateControlName {
    /// `None`: the rate is given.
    pub(crate) fn algorithm(self) -> Option<Algorithm> {
        match self {
            RateControlName::Fixed => None,
            RateControlName::Arf => Some(Algorithm::Arf),
            RateControlName::Aarf => Some(Algorithm::Aarf),
            RateControlName::Minstrel => Some(Algorithm::Minstrel),
        }
    }
}

/// A physical layer's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum Standard {
    /// OFDM at 5 GHz: 6 to 54 Mb/s, slot 9 µs, SIFS 16 µs.
    #[serde(rename = "802.11a")]
    A,
    /// DSSS and CCK: 1 to 11 Mb/s, slot 20 µs, SIFS 10 µs.
    #[serde(rename = "802.11b")]
    B,
    /// ERP-OFDM at 2.4 GHz: 6 to 54 Mb/s and the rates of 802.11b, SIFS 10 µs.
    #[serde(rename = "802.11g")]
    G,
    /// HT at 2.4 or 5 GHz, and the rates of 802.11g or 802.11a.
    #[serde(rename = "802.11n")]
    N,
    /// VHT at 5 GHz, HT, and the rates of 802.11a.
    #[serde(rename = "802.11ac")]
    Ac,
    /// HE at 2.4 or 5 GHz, VHT at 5 GHz, HT, and the rates of 802.11g or 802.11a.
    #[serde(rename = "802.11ax")]
    Ax,
}

impl Standard {
    /// The format that it brought; `None` before 802.11n.
    pub(crate) fn format(self) -> Option<Format> {
        match self {
            Standard::A | Standard::B | Standard::G => None,
            Standard::N => Some(Format::Ht),
            Standard::Ac => Some(Format::Vht),
            Standard::Ax => Some(Format::He),
        }
    }
}

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum BandName {
    /// With the access timing of 802.11g, and its rates and those of 802.11b.
    #[serde(rename = "2.4 GHz")]
    Ghz2_4,
    /// With the access timing and the rates of 802.11a.
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// PHY preamble and header of DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PreambleName {
    /// 192 µs.
    Long,
    /// 96 µs; frames at 1 Mb/s have the long one all the same.
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
