//! 802.11a: OFDM at 20 MHz (IEEE 802.11-2016, clause 17).

use super::band::BandName;
use super::conventions::Conventions;
use super::generation::Generation;
use super::layer::Layer;
use super::mode::{Coding, Mode, ModulationClass};
use super::{Phy, rate};
use airqueue_core::{DataRate, Span};

pub(super) static GENERATION: Generation = Generation {
    name: "802.11a",
    about: "OFDM at 5 GHz: 6 to 54 Mb/s, slot 9 µs, SIFS 16 µs.",
    bands: &[BandName::Ghz5],
    dsss_alone: false,
    format: None,
    old_layer: |_, conventions| layer(conventions),
};

/// Preamble (16 µs) and SIGNAL field (4 µs) (17.3.2).
const PREAMBLE: Span = Span::from_micros(20);
const SYMBOL: Span = Span::from_micros(4);
/// SERVICE field before the PSDU (17.3.5.2).
pub(super) const SERVICE_BITS: u32 = 16;
/// Tail of the convolutional code after the PSDU (17.3.5.3).
pub(super) const TAIL_BITS: u32 = 6;
/// N_DBPS, data bits per symbol, at 6 9 12 18 24 36 48 54 Mb/s (table 17-4).
const BITS_PER_SYMBOL: [u32; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// Rates that every station supports: 6, 12, 24 Mb/s (17.1.1); here also the basic rates.
const MANDATORY_KBPS: [u32; 3] = [6_000, 12_000, 24_000];

/// 802.11a: slot 9 µs, SIFS 16 µs, window 16 (table 17-21); basic rates 6, 12 and 24 Mb/s.
pub fn ofdm(conventions: Conventions) -> Phy {
    Phy::new(layer(conventions))
}

pub(super) fn layer(conventions: Conventions) -> Layer {
    Layer {
        name: GENERATION.name,
        slot: Span::from_micros(9),
        sifs: Span::from_micros(16),
        w_min: 16,
        w_max: 1024,
        modes: modes(Span::ZERO).collect(),
        basic_rates: basic_rates(),
        conventions,
    }
}

pub(super) fn basic_rates() -> Vec<DataRate> {
    MANDATORY_KBPS.map(rate).to_vec()
}

pub(super) fn modes(extension: Span) -> impl Iterator<Item = Mode> {
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
            scheme: None,
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
