//! OFDM at 20 MHz: 802.11a, and as ERP-OFDM 802.11g (IEEE 802.11-2016, clauses 17 and 18).

use super::conventions::Conventions;
use super::dsss::{self, Preamble};
use super::layer::Layer;
use super::mcs::{Format, Width};
use super::mode::{Coding, Mode, ModulationClass};
use super::{Phy, rate};
use airqueue_core::Span;

/// Preamble (16 µs) and SIGNAL field (4 µs) (17.3.2).
const PREAMBLE: Span = Span::from_micros(20);
/// Silence behind each frame at 2.4 GHz, where SIFS is shorter than receivers need (18.3.2.4).
const SIGNAL_EXTENSION: Span = Span::from_micros(6);
const SYMBOL: Span = Span::from_micros(4);
/// SERVICE field in front of the PSDU (17.3.5.2).
pub(super) const SERVICE_BITS: u32 = 16;
/// Tail of the convolutional code behind it (17.3.5.3).
pub(super) const TAIL_BITS: u32 = 6;
/// N_DBPS, data bits in a symbol, of 6 9 12 18 24 36 48 54 Mb/s (table 17-4).
const BITS_PER_SYMBOL: [u32; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// Rates that every station has: 6, 12, 24 Mb/s (17.1.1); here also the basic ones.
const MANDATORY_KBPS: [u32; 3] = [6_000, 12_000, 24_000];

/// Slot time of 802.11g (table 18-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// 20 µs: 802.11b stations are present.
    Long,
    /// 9 µs: they are not.
    Short,
}

/// Where a layer is, and what its stations do there for older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz, with the slot and the DSSS preamble of the cell: that of 802.11b and g.
    Ghz2_4 {
        /// Slot time.
        slot: Slot,
        /// PHY preamble of frames in DSSS.
        preamble: Preamble,
    },
    /// 5 GHz, and 6 GHz: those of 802.11a.
    Ghz5,
}

impl Band {
    /// The widest channel of a format in the band; `None` if it is not used there. At 2.4 GHz there is no
    /// VHT, and HE has 20 and 40 MHz alone (IEEE 802.11ax-2021, 27.1.1).
    pub fn widest(self, format: Format) -> Option<Width> {
        match (self, format) {
            (Band::Ghz5, _) => Some(format.widest()),
            (Band::Ghz2_4 { .. }, Format::Vht) => None,
            (Band::Ghz2_4 { .. }, _) => Some(format.widest().min(Width::Mhz40)),
        }
    }

    /// Silence behind each frame that is not DSSS (18.3.2.4, 19.4.3, 27.4.3).
    pub(super) fn extension(self) -> Span {
        match self {
            Band::Ghz2_4 { .. } => SIGNAL_EXTENSION,
            Band::Ghz5 => Span::ZERO,
        }
    }

    /// 802.11a or g in the band with more modes and another name.
    pub(super) fn layer(
        self,
        name: &'static str,
        conventions: Conventions,
        more: impl Iterator<Item = Mode>,
    ) -> Layer {
        let mut layer = match self {
            Band::Ghz2_4 { slot, preamble } => erp_layer(slot, preamble, conventions),
            Band::Ghz5 => ofdm_layer(conventions),
        };
        layer.name = name;
        layer.modes.extend(more);
        layer
    }
}

/// 802.11a: slot 9 µs, SIFS 16 µs, window 16 (table 17-21); basic rates 6, 12 and 24 Mb/s.
pub fn ofdm(conventions: Conventions) -> Phy {
    Phy::new(ofdm_layer(conventions))
}

fn ofdm_layer(conventions: Conventions) -> Layer {
    Layer {
        name: "802.11a",
        slot: Span::from_micros(9),
        sifs: Span::from_micros(16),
        cw_min: 16,
        cw_max: 1024,
        modes: modes(Span::ZERO).collect(),
        basic_rates: MANDATORY_KBPS.map(rate).to_vec(),
        conventions,
    }
}

/// 802.11g: SIFS 10 µs, window 16 (table 18-5); basic rates 6, 12 and 24 Mb/s.
///
/// It has the rates of 802.11b too, first and with the given preamble: frames that protect others
/// from 802.11b stations use them ([`Phy::protection`]).
pub fn erp(slot: Slot, preamble: Preamble, conventions: Conventions) -> Phy {
    Phy::new(erp_layer(slot, preamble, conventions))
}

fn erp_layer(slot: Slot, preamble: Preamble, conventions: Conventions) -> Layer {
    Layer {
        name: "802.11g",
        slot: match slot {
            Slot::Long => Span::from_micros(20),
            Slot::Short => Span::from_micros(9),
        },
        sifs: Span::from_micros(10),
        cw_min: 16,
        cw_max: 1024,
        modes: dsss::modes(preamble, conventions.dsss_txtime)
            .chain(modes(SIGNAL_EXTENSION))
            .collect(),
        basic_rates: MANDATORY_KBPS.map(rate).to_vec(),
        conventions,
    }
}

fn modes(extension: Span) -> impl Iterator<Item = Mode> {
    BITS_PER_SYMBOL.into_iter().map(move |bits| {
        let kbps = bits * 250;
        Mode {
            rate: rate(kbps),
            class: ModulationClass::Ofdm,
            reference: rate(kbps),
            control: true,
            mandatory: MANDATORY_KBPS.contains(&kbps),
            preamble: PREAMBLE,
            extension,
            max_ampdu_bytes: 0,
            mcs: None,
            coding: Coding {
                fixed_units: SERVICE_BITS + TAIL_BITS,
                units_per_byte: 8,
                units_per_symbol: bits,
                symbol: SYMBOL,
                boundary: SYMBOL,
            },
        }
    })
}
