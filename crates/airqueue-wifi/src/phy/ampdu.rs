//! A-MPDUs: several MPDUs in one PSDU (IEEE 802.11-2016, 9.7 and 10.13).
//!
//! Each MPDU is preceded by a delimiter of 4 bytes and followed by padding to a multiple of 4 bytes, except the last.
//! Nothing is allocated, so that these functions may be called for each transmission. MSDUs are not aggregated within
//! an MPDU (A-MSDU).

use super::frames::DELIMITER_BYTES;
use super::{Phy, RateIndex};
use airqueue_core::Span;

/// aPPDUMaxTime of HT mixed format, VHT and HE (tables 19-25 and 21-29).
pub const MAX_PPDU: Span = Span::from_micros(5_484);

/// The limits of an A-MPDU. The standard's limits come from [`Phy::ampdu_limits`]; receivers, agreements and TXOPs
/// have lower limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduLimits {
    /// Largest number of MPDUs: the window of the block ack agreement.
    pub mpdus: u32,
    /// The largest PSDU, in bytes.
    pub bytes: u32,
    /// The longest PPDU, preamble and signal extension included.
    pub duration: Span,
    /// Minimum MPDU start spacing of the receiver, the time that the receiver needs for an MPDU: 0 to 16 µs (10.13.3).
    pub start_spacing: Span,
}

/// The lengths of an A-MPDU. The default is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ampdu {
    mpdus: u32,
    bytes: u32,
    /// Offset of the last subframe in bytes.
    last: u32,
}

impl Ampdu {
    const EMPTY: Ampdu = Ampdu { mpdus: 0, bytes: 0, last: 0 };

    /// This A-MPDU plus an MPDU that begins at least `apart_bytes` after the previous one: empty delimiters fill the
    /// gap. `None` if the A-MPDU would exceed 2^32 bytes.
    #[inline]
    pub fn with(self, mpdu_bytes: u32, apart_bytes: u32) -> Option<Ampdu> {
        let begins = match self.mpdus {
            0 => 0,
            _ => self.bytes.max(self.last.checked_add(apart_bytes)?),
        };
        let last = begins.checked_next_multiple_of(4)?;
        let bytes = last.checked_add(DELIMITER_BYTES)?.checked_add(mpdu_bytes)?;
        Some(Ampdu { mpdus: self.mpdus + 1, bytes, last })
    }

    /// Number of MPDUs.
    pub fn mpdus(self) -> u32 {
        self.mpdus
    }

    /// Length of the PSDU in bytes.
    pub fn bytes(self) -> u32 {
        self.bytes
    }
}

/// An A-MPDU under construction at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    ampdu: Ampdu,
    most_bytes: u32,
    most_mpdus: u32,
    apart_bytes: u32,
}

impl Filling {
    /// Empty, and no MPDU fits.
    pub const EMPTY: Filling =
        Filling { ampdu: Ampdu::EMPTY, most_bytes: 0, most_mpdus: 0, apart_bytes: 0 };

    /// Adds an MPDU of so many bytes, header and FCS included; false if it does not fit.
    #[inline]
    pub fn add(&mut self, mpdu_bytes: u32) -> bool {
        let longer = self.with(mpdu_bytes);
        self.ampdu = longer.unwrap_or(self.ampdu);
        longer.is_some()
    }

    #[inline]
    fn with(&self, mpdu_bytes: u32) -> Option<Ampdu> {
        let longer = self.ampdu.with(mpdu_bytes, self.apart_bytes)?;
        (longer.bytes <= self.most_bytes && longer.mpdus <= self.most_mpdus).then_some(longer)
    }

    /// The A-MPDU so far.
    pub fn ampdu(&self) -> Ampdu {
        self.ampdu
    }
}

impl AmpduLimits {
    /// These limits with a maximum duration of the PPDU.
    pub fn within(self, duration: Span) -> AmpduLimits {
        AmpduLimits { duration: self.duration.min(duration), ..self }
    }

    /// These limits under a block ack agreement with a window of so many MPDUs.
    pub fn window(self, mpdus: u32) -> AmpduLimits {
        AmpduLimits { mpdus: self.mpdus.min(mpdus), ..self }
    }
}

/// Length in bytes of the PSDU with this many MPDUs of one size, without empty delimiters: the closed form of
/// [`Ampdu::with`]. 0 for no MPDU; `u64::MAX` on overflow.
pub const fn equal_mpdus_bytes(mpdus: u64, mpdu_bytes: u64) -> u64 {
    if mpdus == 0 {
        return 0;
    }
    let last = mpdu_bytes.saturating_add(DELIMITER_BYTES as u64);
    // Multiples of 4 near the end of the range would overflow; a real subframe is much shorter.
    let padded = last.saturating_add(3) / 4 * 4;
    padded.saturating_mul(mpdus - 1).saturating_add(last)
}

impl Phy {
    /// The limits of the standard at a rate: 64 MPDUs and 65 535 bytes for HT, 64 and 1 048 575 for VHT,
    /// 256 and 6 500 631 for HE (at 2.4 GHz 524 287), 5.484 ms for all. `None` before 802.11n.
    pub fn ampdu_limits(&self, index: RateIndex) -> Option<AmpduLimits> {
        let mode = self.mode(index);
        mode.scheme.map(|scheme| AmpduLimits {
            mpdus: scheme.window,
            bytes: scheme.max_ampdu_bytes,
            duration: MAX_PPDU,
            start_spacing: Span::ZERO,
        })
    }

    /// An empty A-MPDU to be filled, at a rate.
    pub fn filling(&self, index: RateIndex, limits: &AmpduLimits) -> Filling {
        Filling {
            ampdu: Ampdu::EMPTY,
            most_bytes: self.most_bytes(index, limits.duration).unwrap_or(0).min(limits.bytes),
            most_mpdus: limits.mpdus,
            apart_bytes: self.apart_bytes(index, limits.start_spacing),
        }
    }

    /// The A-MPDU of as many of these MPDUs as fit, in order, up to the first that does not fit. The A-MPDU is empty
    /// if the first MPDU does not fit. `mpdu_bytes` are the lengths with header and FCS.
    pub fn fill(
        &self,
        index: RateIndex,
        limits: &AmpduLimits,
        mpdu_bytes: impl IntoIterator<Item = u32>,
    ) -> Ampdu {
        let mut filling = self.filling(index, limits);
        let _ = mpdu_bytes.into_iter().all(|mpdu| filling.add(mpdu));
        filling.ampdu
    }

    /// Length in bytes of the PSDU with a single MPDU: from VHT on this is an A-MPDU, too (10.13.7).
    pub fn single_psdu_bytes(&self, index: RateIndex, mpdu_bytes: u32) -> u32 {
        let delimiter = self.mode(index).scheme.map_or(0, |scheme| scheme.single_delimiter_bytes);
        mpdu_bytes + delimiter
    }

    /// The largest PSDU that lasts at most `duration`; `None` if even an empty PSDU lasts longer. The inverse of
    /// [`Phy::airtime`].
    pub fn most_bytes(&self, index: RateIndex, duration: Span) -> Option<u32> {
        self.mode(index).most_bytes(duration)
    }

    /// Number of bytes that last as long as the start spacing at the data rate.
    fn apart_bytes(&self, index: RateIndex, spacing: Span) -> u32 {
        let work = self.rate(index).work_in(spacing);
        let bytes = work.div_ceil(8 * 1_000_000_000);
        bytes.try_into().unwrap_or(u32::MAX)
    }
}
