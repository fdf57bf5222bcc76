//! 802.11n: high throughput, mixed format (IEEE 802.11-2016, clause 19).

use super::band::{Band, BandName};
use super::conventions::{Conventions, HtTxTime};
use super::format::{FormatFacts, Frame, FrameChoices, SCHEMES};
use super::frames::HT_MAX_MPDU_BYTES;
use super::generation::{Generation, Setup};
use super::mcs::{Capability, GuardInterval, Mcs, Width};
use super::mode::Coding;
use super::ofdm::{SERVICE_BITS, TAIL_BITS};
use super::radiotap::Radiotap;
use super::{Format, Phy, PhyError};
use airqueue_core::Span;

pub(super) static GENERATION: Generation = Generation {
    name: "802.11n",
    about: "HT at 2.4 or 5 GHz, and the rates of 802.11g or 802.11a.",
    bands: &[BandName::Ghz5, BandName::Ghz2_4],
    dsss_alone: false,
    format: Some(Format::Ht),
    old_layer: Band::old_layer,
};

pub(super) static FORMAT: FormatFacts = FormatFacts {
    name: "HT",
    schemes: SCHEMES.split_at(8).0,
    most_streams: 4,
    numbers_count_streams: true,
    leaves_out: |_| false,
    carriers: &CARRIERS,
    usual_width: Width::MHZ_20,
    guards: &GUARDS,
    symbol: SYMBOL,
    ltfs: &[],
    packet_extensions: &[],
    window: 64,
    max_mpdu_bytes: HT_MAX_MPDU_BYTES,
    single_has_delimiter: false,
    frame,
    radiotap: Radiotap { number: 19, align: 1, bytes: 3, field: radiotap },
};

const CARRIERS: [u32; 2] = [52, 108];
/// The guard intervals of HT, and of VHT.
pub(super) const GUARDS: [GuardInterval; 2] = [GuardInterval::Ns800, GuardInterval::Ns400];
/// The symbol duration of HT, and of VHT, without guard interval.
pub(super) const SYMBOL: Span = Span::from_nanos(3_200);
/// L-STF, L-LTF, L-SIG, HT-SIG and HT-STF (19.3.2); each HT-LTF adds 4 µs.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 8 + 4);
const TRAINING: Span = Span::from_micros(4);
/// N_DBPS of the fastest scheme of one encoder of the convolutional code (tables 19-27 to 19-38): 300 Mb/s at the long
/// guard interval. LDPC, which has no tail, is not modelled.
const BITS_OF_ONE_ENCODER: u32 = 1_200;
/// The longest PSDU, and A-MPDU (table 19-25).
const MAX_AMPDU_BYTES: u32 = 65_535;

/// 802.11n: the rates of 802.11a, or at 2.4 GHz those of 802.11g, and all HT schemes up to `most`. Slot, SIFS, windows
/// and basic rates are those of 802.11a or g (table 19-25).
///
/// Fails for no streams, more than 4, or more than 40 MHz.
pub fn ht(band: Band, most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    GENERATION.layer(Setup { band, most, frames: FrameChoices::default(), conventions })
}

fn frame(mcs: Mcs, setup: &Setup) -> Frame {
    let encoders = if mcs.data_bits() > BITS_OF_ONE_ENCODER { 2 } else { 1 };
    Frame {
        preamble: BEFORE_TRAINING + training(mcs),
        extension: setup.band.extension(),
        max_ampdu_bytes: MAX_AMPDU_BYTES,
        coding: coding(mcs, encoders, setup.conventions.ht_txtime),
    }
}

/// Duration of all long training fields of HT and of VHT.
pub(super) fn training(mcs: Mcs) -> Span {
    Span::from_nanos(mcs.training_fields() * TRAINING.as_nanos())
}

/// Data symbols of HT (equation 19-32) and of VHT (21-62) with the convolutional code. With short guard intervals a
/// frame ends at the end of a long symbol (19.4.3, 21.4.3); in ns-3 with its own last symbol.
pub(super) fn coding(mcs: Mcs, encoders: u32, txtime: HtTxTime) -> Coding {
    let symbol = mcs.symbol();
    let boundary = match (mcs.guard, txtime) {
        (GuardInterval::Ns400, HtTxTime::Standard) => Span::from_micros(4),
        _ => symbol,
    };
    Coding {
        fixed_units: SERVICE_BITS + TAIL_BITS * encoders,
        units_per_byte: 8,
        units_per_symbol: mcs.data_bits(),
        symbol,
        boundary,
    }
}

/// Known fields, flags, MCS.
fn radiotap(mcs: Mcs) -> Vec<u8> {
    const WIDTH_MCS_GUARD_AND_FORMAT: u8 = 0x0f;
    let wide = u8::from(mcs.width == Width::MHZ_40);
    vec![WIDTH_MCS_GUARD_AND_FORMAT, wide | short_guard(mcs), mcs.number() as u8]
}

/// The flag of the short guard interval in radiotap's fields of HT and of VHT.
pub(super) fn short_guard(mcs: Mcs) -> u8 {
    if mcs.guard == GuardInterval::Ns400 { 0x04 } else { 0 }
}
