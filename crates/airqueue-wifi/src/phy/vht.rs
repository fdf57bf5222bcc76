//! 802.11ac: very high throughput, single user (IEEE 802.11-2016, clause 21).

use super::band::{Band, BandName};
use super::conventions::{Conventions, HtTxTime};
use super::format::{FormatFacts, Frame, FrameChoices, SCHEMES};
use super::frames::VHT_MAX_MPDU_BYTES;
use super::generation::{Generation, Setup};
use super::mcs::{Capability, Mcs, Width};
use super::radiotap::Radiotap;
use super::{Format, Phy, PhyError, ht};
use airqueue_core::Span;

pub(super) static GENERATION: Generation = Generation {
    name: "802.11ac",
    about: "VHT at 5 GHz, HT, and the rates of 802.11a.",
    bands: &[BandName::Ghz5],
    dsss_alone: false,
    format: Some(Format::Vht),
    old_layer: Band::old_layer,
};

pub(super) static FORMAT: FormatFacts = FormatFacts {
    name: "VHT",
    schemes: SCHEMES.split_at(10).0,
    most_streams: 8,
    numbers_count_streams: false,
    leaves_out,
    carriers: &CARRIERS,
    usual_width: Width::MHZ_80,
    guards: &ht::GUARDS,
    symbol: ht::SYMBOL,
    ltfs: &[],
    packet_extensions: &[],
    window: 64,
    max_mpdu_bytes: VHT_MAX_MPDU_BYTES,
    single_has_delimiter: true,
    frame,
    radiotap: Radiotap { number: 21, align: 2, bytes: 12, field: radiotap },
};

const CARRIERS: [u32; 4] = [52, 108, 234, 468];
/// L-STF, L-LTF, L-SIG, VHT-SIG-A and VHT-STF (21.3.2); the VHT-LTFs follow.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 8 + 4);
/// VHT-SIG-B, which ns-3 counts only for multiple users.
const SIG_B: Span = Span::from_micros(4);
/// N_DBPS of the fastest scheme of one encoder: 540 Mb/s at the long guard interval.
const BITS_OF_ONE_ENCODER: u32 = 2_160;
/// N_ES of the fastest schemes.
const MOST_ENCODERS: u32 = 12;
/// The longest A-MPDU: 2^20 - 1 (10.13.2).
const MAX_AMPDU_BYTES: u32 = 1_048_575;

/// 802.11ac: the rates of 802.11a, the HT schemes, and all VHT schemes up to `most`. Only at 5 GHz, with the access
/// timing of 802.11a (table 21-29).
///
/// Fails for no streams or more than 8.
pub fn vht(most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    let frames = FrameChoices::default();
    GENERATION.layer(Setup { band: Band::Ghz5, most, frames, conventions })
}

fn frame(mcs: Mcs, setup: &Setup) -> Frame {
    let txtime = setup.conventions.ht_txtime;
    let sig_b = match txtime {
        HtTxTime::Standard => SIG_B,
        HtTxTime::Ns3 => Span::ZERO,
    };
    Frame {
        preamble: BEFORE_TRAINING + ht::training(mcs) + sig_b,
        extension: Span::ZERO,
        max_ampdu_bytes: MAX_AMPDU_BYTES,
        coding: ht::coding(mcs, encoders(mcs), txtime),
    }
}

/// Schemes missing in tables 21-30 to 21-61: their bits cannot be divided among the encoders and the puncturing.
fn leaves_out(mcs: &Mcs) -> bool {
    match (mcs.width, mcs.index) {
        (Width::MHZ_20, 9) => !matches!(mcs.streams, 3 | 6),
        (Width::MHZ_80, 6) => matches!(mcs.streams, 3 | 7),
        (Width::MHZ_80, 9) => mcs.streams == 6,
        (Width::MHZ_160, 9) => mcs.streams == 3,
        _ => false,
    }
}

/// N_ES: one encoder for each 540 Mb/s, or as many more as needed for a whole number of blocks of the punctured code
/// per encoder and symbol (21.5).
fn encoders(mcs: Mcs) -> u32 {
    let block = mcs.code().ratio().1;
    let fewest = mcs.data_bits().div_ceil(BITS_OF_ONE_ENCODER);
    (fewest..=MOST_ENCODERS)
        .find(|count| mcs.coded_bits().is_multiple_of(count * block))
        .expect("some count divides")
}

/// Known fields, flags, bandwidth, MCS and streams of four users, coding, group, partial AID.
fn radiotap(mcs: Mcs) -> Vec<u8> {
    const GUARD_AND_WIDTH: u16 = 0x0044;
    let width = match mcs.width.mhz() {
        20 => 0,
        40 => 1,
        80 => 4,
        _ => 11,
    };
    let mut bytes = GUARD_AND_WIDTH.to_le_bytes().to_vec();
    bytes.extend([ht::short_guard(mcs), width, mcs.index << 4 | mcs.streams, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}
