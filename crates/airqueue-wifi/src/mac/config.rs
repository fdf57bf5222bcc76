//! The configuration of a station's MAC.

use crate::contention::CountdownRule;
use crate::phy::{AccessCategory, EdcaParameters, Phy, Protection, RateIndex};
use airqueue_core::Span;
use thiserror::Error;

/// How long an access category may keep the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Txop {
    /// One frame exchange.
    One,
    /// As many exchanges as end within this time, and always the first (IEEE 802.11-2016, 10.22.2.8).
    Time(Span),
    /// This many packets, at least one.
    Packets(u32),
    /// One packet, and as many more as [`super::Mac::extend_txop`] adds: the owner of the queue knows how many flows
    /// have packets there (EDCA paper, Table 2: n_d packets for n_d downloads).
    Flows,
}

impl Txop {
    fn check(self) -> Result<(), MacError> {
        match self {
            Txop::Packets(0) => Err(MacError::NoPackets(0)),
            Txop::Time(limit) if limit <= Span::ZERO || limit > CategoryConfig::LONGEST_TXOP => {
                Err(MacError::TxopLimit(limit))
            }
            _ => Ok(()),
        }
    }

    /// Whether a MAC may have this limit.
    pub fn is_possible(self) -> bool {
        self.check().is_ok()
    }
}

/// Channel access of one access category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryConfig {
    /// Number of slots that AIFS adds to SIFS; 2 makes AIFS equal to DIFS.
    pub aifsn: u32,
    /// Number of values in the smallest contention window: backoff is drawn from 0 to `w_min - 1`.
    pub w_min: u32,
    /// Number of values in the largest contention window.
    pub w_max: u32,
    /// How long the access category keeps the medium.
    pub txop: Txop,
    /// When the backoff counter counts down.
    pub countdown: CountdownRule,
}

/// The configuration of a station's MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacConfig {
    /// Its access categories by rising priority: one for DCF, four for EDCA.
    pub categories: Vec<CategoryConfig>,
    /// Lifts the standard's bounds on AIFSN and windows.
    pub experimental: bool,
    /// Data frames of more bytes than this use RTS and CTS; `u32::MAX`: none does.
    pub rts_threshold_bytes: u32,
    /// Protection of the other data frames.
    pub protection: Protection,
    /// The rate of RTS and of CTS to self; `None`: the rate of responses.
    pub protection_rate: Option<RateIndex>,
    /// Largest number of transmissions of an RTS, or of a data frame without RTS (dot11ShortRetryLimit).
    pub short_retry_limit: u32,
    /// Largest number of transmissions of a data frame after RTS and CTS (dot11LongRetryLimit).
    pub long_retry_limit: u32,
    /// A-MPDUs at rates of 802.11n and later; `None`: each packet has a frame of its own.
    pub aggregation: Option<Aggregation>,
    /// How long the MAC tries to send a packet under a block ack agreement, where retry limits do not apply
    /// (dot11EDCATableMSDULifetime).
    pub lifetime: Span,
}

/// The A-MPDUs that a station sends, within the limits of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Largest PSDU in bytes.
    pub max_bytes: u32,
    /// The window of the block ack agreements, in MPDUs.
    pub window: u32,
}

impl Aggregation {
    /// Only the limits of the standard.
    pub const STANDARD: Aggregation = Aggregation { max_bytes: u32::MAX, window: u32::MAX };
}

/// Why a configuration was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum MacError {
    #[error("a station has {0} access categories; it must have 1 (DCF) to 4 (EDCA)")]
    Queues(usize),
    #[error("aifsn is {value}; it must be from 1 to {most}{}", hint(*most))]
    Aifsn { value: u32, most: u32 },
    #[error("w_min is {value}; it must be from {least} to {most}{}", hint(*most))]
    CwMin { value: u32, least: u32, most: u32 },
    #[error(
        "w_min is {0}; windows must be powers of two, unless experimental settings are allowed"
    )]
    NotAPower(u32),
    #[error("w_max is {value}; it must be from w_min, {low}, to {most}{}", hint(*most))]
    CwMax { value: u32, low: u32, most: u32 },
    #[error("a TXOP of {0} packets; it must have at least one")]
    NoPackets(u32),
    #[error("a TXOP limit of {0}; it must be positive and at most 2097120 us")]
    TxopLimit(Span),
    #[error("a retry limit is 0; a frame must be sent at least once")]
    NoAttempt,
    #[error(
        "aggregation within {max_bytes} bytes and a window of {window} MPDUs; both must be positive"
    )]
    NoAggregation { max_bytes: u32, window: u32 },
    #[error("a lifetime of {0}; it must be positive")]
    Lifetime(Span),
}

fn hint(most: u32) -> &'static str {
    if most == CategoryConfig::LONGEST { "" } else { ", unless experimental settings are allowed" }
}

impl CategoryConfig {
    /// The longest window and AIFSN that can be simulated.
    pub const LONGEST: u32 = 1 << 20;
    /// AIFSN and the exponents of windows have 4 bits in the EDCA Parameter Set (9.4.2.29).
    const MOST_AIFSN: u32 = 15;
    const MOST_CW: u32 = 1 << 15;
    /// The TXOP Limit of the EDCA Parameter Set has 16 bits, in units of 32 µs (9.4.2.29).
    pub const LONGEST_TXOP: Span = Span::from_micros(65_535 * 32);

    /// DCF on a physical layer: DIFS, the windows of the layer, one exchange at a time.
    pub fn dcf(phy: &Phy) -> CategoryConfig {
        CategoryConfig {
            aifsn: 2,
            w_min: phy.w_min(),
            w_max: phy.w_max(),
            txop: Txop::One,
            countdown: CountdownRule::Freeze,
        }
    }

    /// Whether a MAC may have this channel access; `experimental` lifts the standard's bounds.
    pub fn is_possible(&self, experimental: bool) -> bool {
        self.check(experimental).is_ok()
    }

    fn check(&self, experimental: bool) -> Result<(), MacError> {
        let most = |usual| if experimental { Self::LONGEST } else { usual };
        let aifsn = most(Self::MOST_AIFSN);
        if !(1..=aifsn).contains(&self.aifsn) {
            return Err(MacError::Aifsn { value: self.aifsn, most: aifsn });
        }
        let windows = most(Self::MOST_CW);
        if !(1..=windows).contains(&self.w_min) {
            return Err(MacError::CwMin { value: self.w_min, least: 1, most: windows });
        }
        if !(self.w_min..=windows).contains(&self.w_max) {
            return Err(MacError::CwMax { value: self.w_max, low: self.w_min, most: windows });
        }
        if !experimental {
            for cw in [self.w_min, self.w_max] {
                if !cw.is_power_of_two() {
                    return Err(MacError::NotAPower(cw));
                }
            }
        }
        self.txop.check()
    }
}

impl From<EdcaParameters> for CategoryConfig {
    fn from(edca: EdcaParameters) -> CategoryConfig {
        CategoryConfig {
            aifsn: edca.aifsn,
            w_min: edca.w_min,
            w_max: edca.w_max,
            txop: if edca.txop == Span::ZERO { Txop::One } else { Txop::Time(edca.txop) },
            countdown: CountdownRule::Edca,
        }
    }
}

impl MacConfig {
    /// 500 TU (IEEE 802.11-2016, C.3).
    pub const LIFETIME: Span = Span::from_micros(500 * 1_024);

    /// A station with these access categories, without RTS, protection or aggregation, and with the standard's retry
    /// limits.
    pub fn new(categories: Vec<CategoryConfig>) -> MacConfig {
        MacConfig {
            categories,
            experimental: false,
            rts_threshold_bytes: u32::MAX,
            protection: Protection::None,
            protection_rate: None,
            short_retry_limit: 7,
            long_retry_limit: 4,
            aggregation: None,
            lifetime: Self::LIFETIME,
        }
    }

    /// Duration of an access category's exchange of one frame of `bytes` bytes, from the end of the previous exchange:
    /// AIFS, protection, the frame, SIFS and ACK; without backoff.
    ///
    /// # Panics
    ///
    /// If the station does not have this access category.
    pub fn exchange(
        &self,
        ac: AccessCategory,
        rate: RateIndex,
        psdu_bytes: u32,
        phy: &Phy,
    ) -> Span {
        phy.aifs(self.categories[ac.index()].aifsn)
            + phy.protection(self.protection_of(psdu_bytes), self.control_rate(rate, phy))
            + phy.airtime(rate, psdu_bytes)
            + phy.sifs()
            + phy.ack(phy.response_rate(rate))
    }

    /// The protection of a data frame, or of a block ack request, of `psdu_bytes` bytes.
    #[inline]
    pub fn protection_of(&self, psdu_bytes: u32) -> Protection {
        if psdu_bytes > self.rts_threshold_bytes { Protection::RtsCts } else { self.protection }
    }

    /// The rate of the protection of a data frame at this rate.
    #[inline]
    pub fn control_rate(&self, data: RateIndex, phy: &Phy) -> RateIndex {
        self.protection_rate.unwrap_or_else(|| phy.response_rate(data))
    }

    /// Checks the configuration.
    pub(super) fn check(&self) -> Result<(), MacError> {
        if !(1..=4).contains(&self.categories.len()) {
            return Err(MacError::Queues(self.categories.len()));
        }
        if self.short_retry_limit == 0 || self.long_retry_limit == 0 {
            return Err(MacError::NoAttempt);
        }
        if let Some(Aggregation { max_bytes, window }) = self.aggregation
            && (max_bytes == 0 || window == 0)
        {
            return Err(MacError::NoAggregation { max_bytes, window });
        }
        if self.lifetime <= Span::ZERO {
            return Err(MacError::Lifetime(self.lifetime));
        }
        self.categories.iter().try_for_each(|category| category.check(self.experimental))
    }
}
