//! Frequency bands, and the requirements of older stations there.

use super::conventions::Conventions;
use super::dsss::Preamble;
use super::layer::Layer;
use super::mcs::Width;
use super::{Format, erp, ofdm};
use airqueue_core::Span;
use std::fmt;

/// Silence after each frame at 2.4 GHz, where SIFS is shorter than receivers need (18.3.2.4).
const SIGNAL_EXTENSION: Span = Span::from_micros(6);

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BandName {
    /// 2.4 GHz.
    Ghz2_4,
    /// 5 GHz, and 6 GHz.
    Ghz5,
}

/// Slot time of 802.11g (table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// 20 µs: 802.11b stations are present.
    Long,
    /// 9 µs: no 802.11b stations are present.
    Short,
}

/// A band with the settings that older stations require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz, with the slot and the DSSS preamble of the cell: the band of 802.11b and g.
    Ghz2_4 {
        /// Slot time.
        slot: Slot,
        /// PHY preamble of frames in DSSS.
        preamble: Preamble,
    },
    /// 5 GHz, and 6 GHz: the band of 802.11a.
    Ghz5,
}

impl BandName {
    /// The frequency in GHz.
    pub const fn ghz(self) -> &'static str {
        match self {
            BandName::Ghz2_4 => "2.4",
            BandName::Ghz5 => "5",
        }
    }

    /// The widest channel of a format in the band; `None` if the format is not used there. At 2.4 GHz channels are 20
    /// or 40 MHz wide (IEEE 802.11ax-2021, 27.1.1).
    pub fn widest(self, format: Format) -> Option<Width> {
        let most = match self {
            BandName::Ghz2_4 => format.widest().min(Width::MHZ_40),
            BandName::Ghz5 => format.widest(),
        };
        format.generation().bands.contains(&self).then_some(most)
    }
}

impl Band {
    /// The name of the band.
    pub const fn name(self) -> BandName {
        match self {
            Band::Ghz2_4 { .. } => BandName::Ghz2_4,
            Band::Ghz5 => BandName::Ghz5,
        }
    }

    /// [`BandName::widest`].
    pub fn widest(self, format: Format) -> Option<Width> {
        self.name().widest(format)
    }

    /// Silence after each frame that is not DSSS (18.3.2.4, 19.4.3, 27.4.3).
    pub(super) fn extension(self) -> Span {
        match self {
            Band::Ghz2_4 { .. } => SIGNAL_EXTENSION,
            Band::Ghz5 => Span::ZERO,
        }
    }

    /// 802.11g or a, whose access timing and rates later generations use in the band (tables 19-25 and 21-29).
    pub(super) fn old_layer(self, conventions: Conventions) -> Layer {
        match self {
            Band::Ghz2_4 { slot, preamble } => erp::layer(slot, preamble, conventions),
            Band::Ghz5 => ofdm::layer(conventions),
        }
    }
}

impl fmt::Display for BandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GHz", self.ghz())
    }
}
