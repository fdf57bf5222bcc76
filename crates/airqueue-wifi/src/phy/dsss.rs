//! 802.11b: DSSS at 1 and 2 Mb/s, HR/DSSS (CCK) at 5.5 and 11 (IEEE 802.11-2016, clauses 15 and 16).

use super::band::{Band, BandName};
use super::conventions::{Conventions, DsssTxTime};
use super::generation::Generation;
use super::layer::Layer;
use super::mode::{Coding, Mode, ModulationClass};
use super::{Phy, rate};
use airqueue_core::Span;

pub(super) static GENERATION: Generation = Generation {
    name: "802.11b",
    about: "DSSS and CCK: 1 to 11 Mb/s, slot 20 µs, SIFS 10 µs.",
    bands: &[BandName::Ghz2_4],
    dsss_alone: true,
    format: None,
    old_layer: |band, conventions| match band {
        Band::Ghz2_4 { preamble, .. } => layer(preamble, conventions),
        Band::Ghz5 => layer(Preamble::Long, conventions),
    },
};

/// PHY preamble and header of DSSS (16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preamble {
    /// 144 + 48 bits at 1 Mb/s: 192 µs.
    Long,
    /// 72 bits at 1 Mb/s and 48 at 2 Mb/s: 96 µs. Frames at 1 Mb/s nevertheless have the long preamble.
    Short,
}

impl Preamble {
    /// Duration of the preamble with the PHY header.
    pub const fn duration(self) -> Span {
        match self {
            Preamble::Long => Span::from_micros(192),
            Preamble::Short => Span::from_micros(96),
        }
    }
}

/// 802.11b: slot 20 µs, SIFS 10 µs, window 32 (table 16-4); basic rates 1 and 2 Mb/s.
///
/// Also the layer of an 802.11g network whose stations use only these rates: ERP then starts from the window of
/// 802.11b (table 18-5).
pub fn dsss(preamble: Preamble, conventions: Conventions) -> Phy {
    Phy::new(layer(preamble, conventions))
}

fn layer(preamble: Preamble, conventions: Conventions) -> Layer {
    Layer {
        name: GENERATION.name,
        slot: Span::from_micros(20),
        sifs: Span::from_micros(10),
        w_min: 32,
        w_max: 1024,
        modes: modes(preamble, conventions.dsss_txtime).collect(),
        basic_rates: [1_000, 2_000].map(rate).to_vec(),
        conventions,
    }
}

/// 1, 2, 5.5 and 11 Mb/s, all of them mandatory.
pub(super) fn modes(preamble: Preamble, txtime: DsssTxTime) -> impl Iterator<Item = Mode> {
    // In half bits per µs, because 5.5 Mb/s is not a whole number of bits per µs.
    [2, 4, 11, 22].into_iter().map(move |half_bits| {
        let rate = rate(500 * half_bits);
        Mode {
            rate,
            class: ModulationClass::Dsss,
            reference: rate,
            control: true,
            mandatory: true,
            preamble: if half_bits == 2 { Preamble::Long } else { preamble }.duration(),
            extension: Span::ZERO,
            scheme: None,
            coding: coding(half_bits, txtime),
        }
    })
}

/// The standard uses whole microseconds; "exact" uses whole nanoseconds.
fn coding(half_bits_per_us: u32, txtime: DsssTxTime) -> Coding {
    let (per_us, symbol) = match txtime {
        DsssTxTime::WholeMicroseconds => (1, Span::from_micros(1)),
        DsssTxTime::Exact => (1_000, Span::from_nanos(1)),
    };
    Coding {
        fixed_units: 0,
        units_per_byte: 16 * per_us,
        units_per_symbol: half_bits_per_us,
        symbol,
        boundary: symbol,
    }
}
