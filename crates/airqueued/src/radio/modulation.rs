//! How a frame was sent (`enum nl80211_rate_info`), and what it costs on the air besides its bits.

use crate::netlink::attributes::Attributes;
use airqueue_core::{DataRate, Span};
use airqueue_wifi::phy::{
    Band, Capability, Conventions, Format, GuardInterval, Mcs, Phy, Preamble, RateIndex, Response,
    Slot, Width, dsss, erp, he, ht, ofdm, vht,
};
use serde::Serialize;

// `enum nl80211_rate_info`.
const HT_MCS: u16 = 2;
const SHORT_GUARD: u16 = 4;
const VHT_MCS: u16 = 6;
const VHT_STREAMS: u16 = 7;
const HE_MCS: u16 = 13;
const HE_STREAMS: u16 = 14;
const HE_GUARD: u16 = 15;
/// What says how wide a frame was, and that in MHz; without any of them it was 20 MHz.
const WIDTHS: [(u16, u16); 4] = [(10, 160), (9, 160), (8, 80), (3, 40)];
/// Half and quarter channels, whose symbols are longer; 320 MHz and the schemes of EHT, which `airqueue-wifi` does not have.
const UNKNOWN: [u16; 4] = [11, 12, 18, 19];
/// Rates of 802.11b, in bit/s.
const DSSS_BPS: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// Modulation and coding of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Modulation {
    /// 802.11b, a or g: the rate says which.
    Legacy,
    /// 802.11n.
    Ht(Scheme),
    /// 802.11ac.
    Vht(Scheme),
    /// 802.11ax.
    He(Scheme),
}

/// A scheme of 802.11n and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Scheme {
    /// Modulation and coding of each stream.
    pub index: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width of the channel.
    pub width_mhz: u16,
    /// Guard interval.
    pub guard_ns: u16,
}

/// What the members of a cell agree on besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The channel.
    pub frequency_mhz: u32,
    /// Whether slots are short at 2.4 GHz.
    pub short_slot: bool,
    /// Whether preambles of 802.11b are short.
    pub short_preamble: bool,
}

impl Modulation {
    /// Reads the attributes of a rate. None for a rate that is not described, or of a kind whose times are not known here.
    pub fn read(of: &Attributes<'_>) -> Option<Modulation> {
        if of.0.is_empty() || UNKNOWN.iter().any(|&kind| of.find(kind).is_some()) {
            return None;
        }
        let small = |kind| of.number(kind).and_then(|number| u8::try_from(number).ok());
        let width = WIDTHS.iter().find(|(kind, _)| of.find(*kind).is_some());
        let width_mhz = width.map_or(20, |(_, mhz)| *mhz);
        let guard_ns = if of.find(SHORT_GUARD).is_some() { 400 } else { 800 };
        let scheme = |index, streams, guard_ns| Scheme { index, streams, width_mhz, guard_ns };
        if let Some(index) = small(HE_MCS) {
            // `enum nl80211_he_gi`: 0.8, 1.6 and 3.2 us.
            let guard = small(HE_GUARD).filter(|guard| *guard <= 2)?;
            return Some(Modulation::He(scheme(index, small(HE_STREAMS)?, 800 << guard)));
        }
        if let Some(index) = small(VHT_MCS) {
            return Some(Modulation::Vht(scheme(index, small(VHT_STREAMS)?, guard_ns)));
        }
        match small(HT_MCS) {
            // The number of an HT scheme has its streams in it.
            Some(number) => Some(Modulation::Ht(scheme(number % 8, number / 8 + 1, guard_ns))),
            None => Some(Modulation::Legacy),
        }
    }

    /// Time of frames of these sizes, one after the other, besides the time of their bits at the rate: before each the mean
    /// backoff and DIFS, its preamble and the padding of its last symbol, and behind it SIFS and the acknowledgement. The latter has
    /// the highest mandatory rate that is not above the frame's (IEEE 802.11-2016, 10.3.7, 10.7.6.5.2; MESH section 4.1). None for a
    /// rate that the standard does not have.
    pub fn overhead(self, rate_bps: u64, cell: Cell, frames: [u32; 2]) -> Option<Span> {
        let (phy, index) = self.layer(rate_bps, cell)?;
        let backoff_ns = phy.slot().as_nanos() * i64::from(phy.w_min() - 1) / 2;
        let around = phy.difs() + phy.sifs() + phy.response(index, Response::Ack);
        let of_frame = |mpdu_bytes: u32| {
            let frame = phy.airtime(index, phy.single_psdu_bytes(index, mpdu_bytes));
            let bits_ns = u64::from(mpdu_bytes) * 8 * 1_000_000_000 / rate_bps.max(1);
            (around + frame).as_nanos() + backoff_ns - i64::try_from(bits_ns).unwrap_or(i64::MAX)
        };
        let all_ns: i64 = frames.into_iter().map(of_frame).sum();
        (all_ns > 0).then(|| Span::from_nanos(all_ns))
    }

    /// The physical layer, and the place of the scheme or of the rate in it.
    fn layer(self, rate_bps: u64, cell: Cell) -> Option<(Phy, RateIndex)> {
        let (format, scheme) = match self {
            Modulation::Legacy => return legacy(rate_bps, cell),
            Modulation::Ht(scheme) => (Format::Ht, scheme),
            Modulation::Vht(scheme) => (Format::Vht, scheme),
            Modulation::He(scheme) => (Format::He, scheme),
        };
        let Scheme { index, streams, width_mhz, guard_ns } = scheme;
        let width = Width::of_mhz(f64::from(width_mhz))?;
        let guard = GuardInterval::of(format, Span::from_nanos(guard_ns.into()))?;
        let (band, most, standard) =
            (cell.band(), Capability { width, streams }, Conventions::STANDARD);
        let phy = match format {
            Format::Ht => ht(band, most, standard),
            // Some devices speak VHT at 2.4 GHz, where the standard has none: the times are then those of 5 GHz.
            Format::Vht => vht(most, standard),
            Format::He => he(band, most, standard),
        };
        let phy = phy.ok()?;
        let at = phy.mcs_index(Mcs { format, index, streams, width, guard }).ok()?;
        Some((phy, at))
    }
}

/// 802.11b, a or g.
fn legacy(rate_bps: u64, cell: Cell) -> Option<(Phy, RateIndex)> {
    let phy = match cell.band() {
        Band::Ghz2_4 { preamble, .. } if DSSS_BPS.contains(&rate_bps) => {
            dsss(preamble, Conventions::STANDARD)
        }
        Band::Ghz2_4 { slot, preamble } => erp(slot, preamble, Conventions::STANDARD),
        Band::Ghz5 => ofdm(Conventions::STANDARD),
    };
    let at = phy.rate_index(DataRate::from_bps(rate_bps)?).ok()?;
    Some((phy, at))
}

impl Cell {
    fn band(self) -> Band {
        match self.frequency_mhz {
            2400..2500 => Band::Ghz2_4 {
                slot: if self.short_slot { Slot::Short } else { Slot::Long },
                preamble: if self.short_preamble { Preamble::Short } else { Preamble::Long },
            },
            _ => Band::Ghz5,
        }
    }
}

#[cfg(test)]
mod tests;
