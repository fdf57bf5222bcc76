//! 802.11ax: high efficiency, single user (IEEE 802.11ax-2021, clause 27).
//!
//! Nothing is added behind the data: no packet extension, which receivers may ask for to have time to
//! decode (0 to 16 µs), and the padding in front of the code fills the last symbol, as a shorter one
//! only shortens the packet extension (27.3.13). The 6 tail bits of the convolutional code are counted
//! throughout, as in ns-3. LDPC, which is mandatory above 20 MHz, has none, and sometimes a symbol more.

use super::conventions::{Conventions, HtTxTime};
use super::mcs::{Capability, Format, GuardInterval, Mcs, Width};
use super::mode::{Coding, Mode};
use super::ofdm::{Band, SERVICE_BITS, TAIL_BITS};
use super::{Phy, PhyError, ht, vht};
use airqueue_core::Span;

/// L-STF, L-LTF, L-SIG, RL-SIG, HE-SIG-A and HE-STF (27.3.4); the HE-LTFs follow.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 4 + 8 + 4);
/// The longest PSDU (27.4.4).
const MAX_PSDU_BYTES: u32 = 6_500_631;
/// The longest A-MPDU at 2.4 GHz, where VHT's exponent is missing: 2^19 - 1 (26.6.1).
const MAX_AMPDU_BYTES_AT_2_4_GHZ: u32 = 524_287;

/// 802.11ax: the rates of 802.11a and all HT, VHT and HE schemes up to `most`; in 2.4 GHz the rates of
/// 802.11g, HT and HE. Slot, SIFS, windows and basic rates are those of 802.11a or g.
///
/// Fails for no streams or more than 8, and at 2.4 GHz for more than 40 MHz.
pub fn he(band: Band, most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    const NAME: &str = "802.11ax";
    let (widest, vht) = match band {
        Band::Ghz5 => (Format::He.widest(), Some(most)),
        Band::Ghz2_4 { .. } => (Width::Mhz40, None),
    };
    let most = most.checked(NAME, Format::He, widest)?;
    let txtime = conventions.ht_txtime;
    let modes = ht::modes(band, most, txtime)
        .chain(vht.into_iter().flat_map(|most| vht::modes(most, txtime)))
        .chain(modes(band, most, txtime));
    Ok(Phy::new(band.layer(NAME, conventions, modes)))
}

fn modes(band: Band, most: Capability, txtime: HtTxTime) -> impl Iterator<Item = Mode> {
    let max_ampdu_bytes = match band {
        Band::Ghz5 => MAX_PSDU_BYTES,
        Band::Ghz2_4 { .. } => MAX_AMPDU_BYTES_AT_2_4_GHZ,
    };
    Mcs::all(Format::He, most).map(move |mcs| {
        let training = mcs.training_fields() * training_symbol(mcs.guard, txtime).as_nanos();
        let preamble = BEFORE_TRAINING + Span::from_nanos(training);
        mcs.mode(preamble, band.extension(), max_ampdu_bytes, coding(mcs, txtime))
    })
}

/// HE-LTF with its guard interval: 6.4 µs (2x) with 0.8 and 1.6 µs, 12.8 µs (4x) with 3.2 µs, which are
/// mandatory (27.3.11.10); 1x, and 4x with 0.8 µs, are optional. ns-3 counts 8 µs for all.
fn training_symbol(guard: GuardInterval, txtime: HtTxTime) -> Span {
    let symbol = match (txtime, guard) {
        (HtTxTime::Ns3, _) => return Span::from_micros(8),
        (HtTxTime::Standard, GuardInterval::Ns3200) => 12_800,
        (HtTxTime::Standard, _) => 6_400,
    };
    Span::from_nanos(symbol) + guard.duration()
}

/// Data symbols (27.4.3). Where the bits of a symbol are no whole number, ns-3 counts the
/// fraction: thirds, as only the code rates 2/3 and 5/6 make any.
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
