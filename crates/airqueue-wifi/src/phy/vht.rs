//! 802.11ac: very high throughput, single user (IEEE 802.11-2016, clause 21).

use super::conventions::{Conventions, HtTxTime};
use super::mcs::{Capability, Format, Mcs, Width};
use super::mode::Mode;
use super::ofdm::Band;
use super::{Phy, PhyError, ht};
use airqueue_core::Span;

/// L-STF, L-LTF, L-SIG, VHT-SIG-A and VHT-STF (21.3.2); the VHT-LTFs follow.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 8 + 4);
/// VHT-SIG-B, which ns-3 counts for several users alone.
const SIG_B: Span = Span::from_micros(4);
/// N_DBPS of the fastest scheme that one encoder can have: 540 Mb/s at the long guard interval.
const BITS_OF_ONE_ENCODER: u32 = 2_160;
/// N_ES of the fastest schemes.
const MOST_ENCODERS: u32 = 12;
/// The longest A-MPDU: 2^20 - 1 (10.13.2).
const MAX_AMPDU_BYTES: u32 = 1_048_575;

/// 802.11ac: the rates of 802.11a, the HT schemes, and all VHT schemes up to `most`. It is at 5 GHz
/// alone, with the access timing of 802.11a (table 21-29).
///
/// Fails for no streams or more than 8.
pub fn vht(most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    const NAME: &str = "802.11ac";
    let most = most.checked(NAME, Format::Vht, Format::Vht.widest())?;
    let txtime = conventions.ht_txtime;
    let modes = ht::modes(Band::Ghz5, most, txtime).chain(modes(most, txtime));
    Ok(Phy::new(Band::Ghz5.layer(NAME, conventions, modes)))
}

pub(super) fn modes(most: Capability, txtime: HtTxTime) -> impl Iterator<Item = Mode> {
    let sig_b = match txtime {
        HtTxTime::Standard => SIG_B,
        HtTxTime::Ns3 => Span::ZERO,
    };
    Mcs::all(Format::Vht, most).map(move |mcs| {
        let preamble = BEFORE_TRAINING + ht::training(mcs) + sig_b;
        let coding = ht::coding(mcs, encoders(mcs), txtime);
        mcs.mode(preamble, Span::ZERO, MAX_AMPDU_BYTES, coding)
    })
}

/// What tables 21-30 to 21-61 leave out: schemes whose bits the encoders and the puncturing cannot
/// share out.
pub(super) fn is_left_out(width: Width, streams: u8, index: u8) -> bool {
    match (width, index) {
        (Width::Mhz20, 9) => !matches!(streams, 3 | 6),
        (Width::Mhz80, 6) => matches!(streams, 3 | 7),
        (Width::Mhz80, 9) => streams == 6,
        (Width::Mhz160, 9) => streams == 3,
        _ => false,
    }
}

/// N_ES: one encoder for each 540 Mb/s, or as many more as it takes to give each a whole number of
/// blocks of the punctured code in a symbol (21.5).
fn encoders(mcs: Mcs) -> u32 {
    let block = mcs.code().ratio().1;
    let fewest = mcs.data_bits().div_ceil(BITS_OF_ONE_ENCODER);
    (fewest..=MOST_ENCODERS)
        .find(|count| mcs.coded_bits().is_multiple_of(count * block))
        .expect("some count divides")
}
