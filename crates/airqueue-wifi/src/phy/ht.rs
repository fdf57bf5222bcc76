//! 802.11n: high throughput, mixed format (IEEE 802.11-2016, clause 19).

use super::conventions::{Conventions, HtTxTime};
use super::mcs::{Capability, Format, GuardInterval, Mcs};
use super::mode::{Coding, Mode};
use super::ofdm::{Band, SERVICE_BITS, TAIL_BITS};
use super::{Phy, PhyError};
use airqueue_core::Span;

/// L-STF, L-LTF, L-SIG, HT-SIG and HT-STF (19.3.2); 4 µs follow for each HT-LTF.
const BEFORE_TRAINING: Span = Span::from_micros(8 + 8 + 4 + 8 + 4);
const TRAINING: Span = Span::from_micros(4);
/// N_DBPS of the fastest scheme that one encoder of the convolutional code can have (tables 19-27 to
/// 19-38): 300 Mb/s at the long guard interval. LDPC, which has no tail, is not modelled.
const BITS_OF_ONE_ENCODER: u32 = 1_200;
/// The longest PSDU, and A-MPDU (table 19-25).
const MAX_AMPDU_BYTES: u32 = 65_535;

/// 802.11n: the rates of 802.11a, or in 2.4 GHz those of 802.11g, and all HT schemes up to `most`.
/// Slot, SIFS, windows and basic rates are those of 802.11a or g (table 19-25).
///
/// Fails for no streams, more than 4, or more than 40 MHz.
pub fn ht(band: Band, most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    const NAME: &str = "802.11n";
    let most = most.checked(NAME, Format::Ht, Format::Ht.widest())?;
    Ok(Phy::new(band.layer(NAME, conventions, modes(band, most, conventions.ht_txtime))))
}

pub(super) fn modes(band: Band, most: Capability, txtime: HtTxTime) -> impl Iterator<Item = Mode> {
    Mcs::all(Format::Ht, most).map(move |mcs| {
        let preamble = BEFORE_TRAINING + training(mcs);
        let encoders = if mcs.data_bits() > BITS_OF_ONE_ENCODER { 2 } else { 1 };
        mcs.mode(preamble, band.extension(), MAX_AMPDU_BYTES, coding(mcs, encoders, txtime))
    })
}

/// All long training fields of HT and of VHT.
pub(super) fn training(mcs: Mcs) -> Span {
    Span::from_nanos(mcs.training_fields() * TRAINING.as_nanos())
}

/// Data symbols of HT (equation 19-32) and of VHT (21-62) with the convolutional code. With short guard
/// intervals a frame ends where a long symbol would (19.4.3, 21.4.3); in ns-3 with its own last symbol.
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
