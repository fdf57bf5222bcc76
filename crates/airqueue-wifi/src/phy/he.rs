//! 802.11ax: high efficiency, single user (IEEE 802.11ax-2021, clause 27).
//!
//! The data is followed by the packet extension, which receivers may request for decoding time, and which is absent
//! unless [`FrameChoices`] has one. The padding before the code fills the last symbol, because shorter padding only
//! shortens the packet extension (27.3.13). The 6 tail bits of the convolutional code are always counted, as in ns-3.
//! LDPC, which is mandatory above 20 MHz, has no tail bits, and sometimes one more symbol.

use super::band::{Band, BandName};
use super::conventions::{Conventions, HtTxTime};
use super::format::{FormatFacts, Frame, FrameChoices, SCHEMES};
use super::frames::VHT_MAX_MPDU_BYTES;
use super::generation::{Generation, Setup};
use super::mcs::{Capability, GuardInterval, Mcs, Width};
use super::mode::Coding;
use super::ofdm::{SERVICE_BITS, TAIL_BITS};
use super::radiotap::Radiotap;
use super::{Format, Phy, PhyError};
use airqueue_core::Span;

pub(super) static GENERATION: Generation = Generation {
    name: "802.11ax",
    about: "HE at 2.4 or 5 GHz, VHT at 5 GHz, HT, and the rates of 802.11g or 802.11a.",
    bands: &[BandName::Ghz5, BandName::Ghz2_4],
    dsss_alone: false,
    format: Some(Format::He),
    old_layer: Band::old_layer,
};

pub(super) static FORMAT: FormatFacts = FormatFacts {
    name: "HE",
    schemes: &SCHEMES,
    most_streams: 8,
    numbers_count_streams: false,
    leaves_out: |_| false,
    carriers: &CARRIERS,
    usual_width: Width::MHZ_80,
    guards: &GUARDS,
    symbol: Span::from_nanos(12_800),
    ltfs: &LTFS,
    packet_extensions: &PACKET_EXTENSIONS,
    window: 256,
    max_mpdu_bytes: VHT_MAX_MPDU_BYTES,
    single_has_delimiter: true,
    frame,
    radiotap: Radiotap { number: 23, align: 2, bytes: 12, field: radiotap },
};

const CARRIERS: [u32; 4] = [234, 468, 980, 1_960];
const GUARDS: [GuardInterval; 3] =
    [GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200];
/// L-STF, L-LTF, L-SIG, RL-SIG, HE-SIG-A and HE-STF (27.3.4); the HE-LTFs follow.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 4 + 8 + 4);
/// The longest PSDU in bytes (27.4.4).
const MAX_PSDU_BYTES: u32 = 6_500_631;
/// The longest A-MPDU at 2.4 GHz, without VHT's length exponent: 2^19 - 1 (26.6.1).
const MAX_AMPDU_BYTES_AT_2_4_GHZ: u32 = 524_287;
/// HE-LTFs: 2x and 4x (27.3.11.10).
const LTFS: [Span; 2] = [Span::from_nanos(6_400), Span::from_nanos(12_800)];
/// (27.3.13)
const PACKET_EXTENSIONS: [Span; 5] = [
    Span::ZERO,
    Span::from_micros(4),
    Span::from_micros(8),
    Span::from_micros(12),
    Span::from_micros(16),
];

/// 802.11ax: the rates of 802.11a and all HT, VHT and HE schemes up to `most`; at 2.4 GHz the rates of 802.11g, HT and
/// HE. Slot, SIFS, windows and basic rates are those of 802.11a or g.
///
/// Fails for no streams or more than 8, and at 2.4 GHz for more than 40 MHz.
pub fn he(band: Band, most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    he_with(FrameChoices::default(), band, most, conventions)
}

/// As [`he`], with the frame choices of senders.
///
/// Fails also for training fields and packet extensions that the standard does not have.
pub fn he_with(
    frames: FrameChoices,
    band: Band,
    most: Capability,
    conventions: Conventions,
) -> Result<Phy, PhyError> {
    GENERATION.layer(Setup { band, most, frames, conventions })
}

fn frame(mcs: Mcs, setup: &Setup) -> Frame {
    let txtime = setup.conventions.ht_txtime;
    let training = training_symbol(setup.frames.ltf, mcs.guard, txtime);
    let training = Span::from_nanos(mcs.training_fields() * training.as_nanos());
    Frame {
        preamble: BEFORE_TRAINING + training,
        extension: setup.band.extension() + setup.frames.packet_extension,
        max_ampdu_bytes: match setup.band {
            Band::Ghz5 => MAX_PSDU_BYTES,
            Band::Ghz2_4 { .. } => MAX_AMPDU_BYTES_AT_2_4_GHZ,
        },
        coding: coding(mcs, txtime),
    }
}

/// HE-LTF with its guard interval: by default 6.4 µs (2x) with 0.8 and 1.6 µs, 12.8 µs (4x) with 3.2 µs, which are
/// mandatory (27.3.11.10). ns-3 counts 8 µs for all.
fn training_symbol(ltf: Option<Span>, guard: GuardInterval, txtime: HtTxTime) -> Span {
    let [double, quadruple] = LTFS;
    let mandatory = if guard == GuardInterval::Ns3200 { quadruple } else { double };
    match txtime {
        HtTxTime::Ns3 => Span::from_micros(8),
        HtTxTime::Standard => ltf.unwrap_or(mandatory) + guard.duration(),
    }
}

/// Data symbols (27.4.3). Where a symbol does not have a whole number of bits, ns-3 counts the fraction: thirds, which
/// occur only with the code rates 2/3 and 5/6.
fn coding(mcs: Mcs, txtime: HtTxTime) -> Coding {
    let (units, per_symbol) = match txtime {
        HtTxTime::Standard => (1, mcs.data_bits()),
        HtTxTime::Ns3 => {
            let (up, down) = mcs.code().ratio();
            (3, 3 * mcs.coded_bits() * up / down)
        }
    };
    Coding {
        fixed_units: units * (SERVICE_BITS + TAIL_BITS),
        units_per_byte: units * 8,
        units_per_symbol: per_symbol,
        symbol: mcs.symbol(),
        boundary: mcs.symbol(),
    }
}

/// Six words: known fields, in two words; the MCS; an empty word; width and guard interval; streams.
fn radiotap(mcs: Mcs) -> Vec<u8> {
    const SINGLE_USER_MCS_AND_WIDTH: u16 = 0x4020;
    const GUARD: u16 = 0x0002;
    let guard = match mcs.guard {
        GuardInterval::Ns400 | GuardInterval::Ns800 => 0,
        GuardInterval::Ns1600 => 1,
        GuardInterval::Ns3200 => 2,
    };
    let words = [
        SINGLE_USER_MCS_AND_WIDTH,
        GUARD,
        u16::from(mcs.index) << 8,
        0,
        mcs.width.doublings() | guard << 4,
        u16::from(mcs.streams),
    ];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
