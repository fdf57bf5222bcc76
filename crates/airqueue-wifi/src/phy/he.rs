//! 802.11ax: high efficiency, single user (IEEE 802.11ax-2021, clause 27).
//!
//! Behind the data comes the packet extension, for which receivers may ask to have time to decode, and of
//! which there is none unless [`HeFormat`] has one. The padding in front of the code fills the last
//! symbol, as a shorter one only shortens the packet extension (27.3.13). The 6 tail bits of the convolutional code are counted
//! throughout, as in ns-3. LDPC, which is mandatory above 20 MHz, has none, and sometimes a symbol more.

use super::conventions::{Conventions, HtTxTime};
use super::mcs::{Capability, Format, GuardInterval, Mcs};
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

/// HE-LTFs without their guard intervals: 2x and 4x (27.3.11.10). The 1x, which is optional, is not here.
pub const HE_LTFS: [Span; 2] = [Span::from_nanos(6_400), Span::from_nanos(12_800)];
/// Durations of the packet extension (27.3.13).
pub const PACKET_EXTENSIONS: [Span; 5] = [
    Span::ZERO,
    Span::from_micros(4),
    Span::from_micros(8),
    Span::from_micros(12),
    Span::from_micros(16),
];

/// What a sender chooses for its frames besides the scheme. The default is what the standard makes
/// mandatory, and no packet extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeFormat {
    /// One of [`HE_LTFS`]; `None` for the one that is mandatory with the guard interval.
    pub ltf: Option<Span>,
    /// One of [`PACKET_EXTENSIONS`].
    pub packet_extension: Span,
}

/// 802.11ax: the rates of 802.11a and all HT, VHT and HE schemes up to `most`; in 2.4 GHz the rates of
/// 802.11g, HT and HE. Slot, SIFS, windows and basic rates are those of 802.11a or g.
///
/// Fails for no streams or more than 8, and at 2.4 GHz for more than 40 MHz.
pub fn he(band: Band, most: Capability, conventions: Conventions) -> Result<Phy, PhyError> {
    he_with(HeFormat::default(), band, most, conventions)
}

/// The same with frames of a format.
///
/// Fails also for training fields and packet extensions that the standard has not.
pub fn he_with(
    format: HeFormat,
    band: Band,
    most: Capability,
    conventions: Conventions,
) -> Result<Phy, PhyError> {
    const NAME: &str = "802.11ax";
    let format = format.checked()?;
    let widest = band.widest(Format::He).expect("HE is used in both bands");
    let most = most.checked(NAME, Format::He, widest)?;
    let txtime = conventions.ht_txtime;
    let vht = band.widest(Format::Vht).map(|_| most);
    let modes = ht::modes(band, most, txtime)
        .chain(vht.into_iter().flat_map(|most| vht::modes(most, txtime)))
        .chain(modes(format, band, most, txtime));
    Ok(Phy::new(band.layer(NAME, conventions, modes)))
}

impl HeFormat {
    fn checked(self) -> Result<HeFormat, PhyError> {
        if let Some(ltf) = self.ltf.filter(|ltf| !HE_LTFS.contains(ltf)) {
            return Err(PhyError::HeLtf { ltf });
        }
        let extension = self.packet_extension;
        match PACKET_EXTENSIONS.contains(&extension) {
            true => Ok(self),
            false => Err(PhyError::PacketExtension { extension }),
        }
    }
}

fn modes(
    format: HeFormat,
    band: Band,
    most: Capability,
    txtime: HtTxTime,
) -> impl Iterator<Item = Mode> {
    let max_ampdu_bytes = match band {
        Band::Ghz5 => MAX_PSDU_BYTES,
        Band::Ghz2_4 { .. } => MAX_AMPDU_BYTES_AT_2_4_GHZ,
    };
    Mcs::all(Format::He, most).map(move |mcs| {
        let training = training_symbol(format.ltf, mcs.guard, txtime);
        let preamble =
            BEFORE_TRAINING + Span::from_nanos(mcs.training_fields() * training.as_nanos());
        let extension = band.extension() + format.packet_extension;
        mcs.mode(preamble, extension, max_ampdu_bytes, coding(mcs, txtime))
    })
}

/// HE-LTF with its guard interval: if none is chosen 6.4 µs (2x) with 0.8 and 1.6 µs, 12.8 µs (4x) with
/// 3.2 µs, which are mandatory (27.3.11.10). ns-3 counts 8 µs for all.
fn training_symbol(ltf: Option<Span>, guard: GuardInterval, txtime: HtTxTime) -> Span {
    let [double, quadruple] = HE_LTFS;
    let mandatory = if guard == GuardInterval::Ns3200 { quadruple } else { double };
    match txtime {
        HtTxTime::Ns3 => Span::from_micros(8),
        HtTxTime::Standard => ltf.unwrap_or(mandatory) + guard.duration(),
    }
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
