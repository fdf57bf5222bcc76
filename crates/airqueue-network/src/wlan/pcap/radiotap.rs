//! Radiotap headers (radiotap.org): time of a frame's first bit, rate and channel.

use airqueue_wifi::RateIndex;
use airqueue_wifi::phy::{Mcs, ModulationClass, Phy, Preamble, RadiotapField};

/// The shortest header, for a frame at a rate of 802.11b, a or g: version and padding, length, bitmap of fields; TSFT,
/// flags, rate, channel.
pub(super) const LEAST_BYTES: u32 = 22;
/// The longest header, for an MPDU of an A-MPDU: the fields of the shortest without rate, then padding, A-MPDU status,
/// and the field of the scheme.
pub(super) const MOST_BYTES: u32 = 24 + 8 + RadiotapField::LONGEST;
const FIELDS: u32 = 0b1011;
const RATE: u32 = 1 << 2;
const AMPDU_STATUS: u32 = 20;

const SHORT_PREAMBLE: u8 = 0x02;
const FCS_AT_END: u8 = 0x10;
const BAD_FCS: u8 = 0x40;
const CCK: u16 = 0x20;
const OFDM: u16 = 0x40;
const GHZ_2: u16 = 0x80;
const GHZ_5: u16 = 0x100;
/// Centre of channel 1, in MHz.
const CHANNEL_1: u16 = 2_412;
/// Centre of channel 36, in MHz.
const CHANNEL_36: u16 = 5_180;

/// The radiotap fields of a rate.
#[derive(Clone, Debug)]
pub(super) struct RateFields {
    fields: u32,
    flags: u8,
    half_mbps: u8,
    channel_mhz: u16,
    channel_flags: u16,
    /// The field of a scheme of 802.11n and later.
    scheme: Option<RadiotapField>,
}

/// The fields of all rates, as Linux fills them in: the channel flags are those of the frame's modulation.
pub(super) fn rate_fields(phy: &Phy) -> Vec<RateFields> {
    let dsss = |class| class == ModulationClass::Dsss;
    let at_2_ghz = phy.rates().any(|(rate, _)| dsss(phy.class(rate)));
    let (channel_mhz, band) = if at_2_ghz { (CHANNEL_1, GHZ_2) } else { (CHANNEL_36, GHZ_5) };
    let fields = |index: RateIndex| {
        let cck = dsss(phy.class(index));
        let short = cck && phy.preamble(index) == Preamble::Short.duration();
        let scheme = phy.mcs(index).map(Mcs::radiotap);
        let field = scheme.as_ref().map_or(RATE, |scheme| 1 << scheme.number);
        let half_mbps = phy.rate(index).as_bps() / 500_000;
        RateFields {
            fields: FIELDS | field,
            flags: FCS_AT_END | if short { SHORT_PREAMBLE } else { 0 },
            // Without the field this is padding.
            half_mbps: if field == RATE { half_mbps as u8 } else { 0 },
            channel_mhz,
            channel_flags: band | if cck { CCK } else { OFDM },
            scheme,
        }
    };
    phy.rates().map(|(index, _)| fields(index)).collect()
}

/// The place of an MPDU in its A-MPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct InAmpdu {
    /// Equal for all MPDUs of an A-MPDU, and different for the next A-MPDU.
    pub(super) reference: u32,
    pub(super) last: bool,
}

impl RateFields {
    /// Appends the header of a frame whose first bit came at `tsft_us`, and returns its length.
    pub(super) fn write(
        &self,
        tsft_us: u64,
        good: bool,
        within: Option<InAmpdu>,
        record: &mut Vec<u8>,
    ) -> u32 {
        let begins = record.len();
        let flags = self.flags | if good { 0 } else { BAD_FCS };
        let fields = self.fields | if within.is_some() { 1 << AMPDU_STATUS } else { 0 };
        record.extend([0; 4]);
        record.extend(fields.to_le_bytes());
        record.extend(tsft_us.to_le_bytes());
        record.extend([flags, self.half_mbps]);
        record.extend(self.channel_mhz.to_le_bytes());
        record.extend(self.channel_flags.to_le_bytes());
        // Fields in the order of their numbers: A-MPDU status comes after the field of HT and before the fields of
        // later formats.
        let in_front = |scheme: &&RadiotapField| scheme.number < AMPDU_STATUS;
        let scheme = self.scheme.as_ref();
        if let Some(scheme) = scheme.filter(in_front) {
            write_aligned(scheme, begins, record);
        }
        if let Some(within) = within {
            align(4, begins, record);
            within.write(record);
        }
        if let Some(scheme) = scheme.filter(|scheme| !in_front(scheme)) {
            write_aligned(scheme, begins, record);
        }
        let length = record.len() - begins;
        record[begins + 2..begins + 4].copy_from_slice(&(length as u16).to_le_bytes());
        length as u32
    }
}

fn write_aligned(scheme: &RadiotapField, begins: usize, record: &mut Vec<u8>) {
    align(scheme.align, begins, record);
    record.extend(&scheme.bytes);
}

/// Pads a header to a multiple of `bytes`.
fn align(bytes: usize, begins: usize, record: &mut Vec<u8>) {
    record.resize(begins + (record.len() - begins).next_multiple_of(bytes), 0);
}

impl InAmpdu {
    /// Reference number, flags, delimiter CRC, reserved.
    fn write(self, record: &mut Vec<u8>) {
        const LAST_IS_KNOWN: u16 = 0x0004;
        const LAST: u16 = 0x0008;
        let flags = LAST_IS_KNOWN | if self.last { LAST } else { 0 };
        record.extend(self.reference.to_le_bytes());
        record.extend(flags.to_le_bytes());
        record.extend([0, 0]);
    }
}
