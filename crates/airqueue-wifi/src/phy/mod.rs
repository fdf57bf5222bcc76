//! Physical layers: durations of all transmissions and waiting times of 802.11.
//!
//! A [`Phy`] is made once, by its [`Generation`] or by [`dsss()`], [`ofdm()`], [`erp()`], [`ht()`], [`vht()`] or
//! [`he()`], with the network's control rates. Values that do not depend on the size of a frame are then fields; the
//! duration of a frame is a closed formula in integers. After that nothing is allocated, and nothing is rounded except
//! where [`Conventions`] says so.
//!
//! A layer is a list of modes with channel access timing. A generation of 802.11 is one file and one line in
//! [`GENERATIONS`], the only list of generations. Layers of 802.11n and later include the modes of earlier layers, so
//! that a cell of old and new stations is one layer; control frames use the oldest modes, which all stations support.
//!
//! ```
//! use airqueue_core::DataRate;
//! use airqueue_wifi::phy::{Conventions, Preamble, dsss};
//!
//! let phy = dsss(Preamble::Long, Conventions::STANDARD);
//! let fast = phy.rate_index(DataRate::from_bps(11_000_000).unwrap())?;
//! assert_eq!(phy.airtime(fast, 1536).as_nanos(), 1_310_000);
//! assert_eq!(phy.rate(phy.response_rate(fast)).as_bps(), 2_000_000);
//! # Ok::<(), airqueue_wifi::phy::PhyError>(())
//! ```
//!
//! ```
//! use airqueue_wifi::phy::{Band, Capability, Conventions, Format, GuardInterval, Mcs, Response, Width, ht};
//!
//! let width = Width::MHZ_20;
//! let phy = ht(Band::Ghz5, Capability { width, streams: 1 }, Conventions::STANDARD)?;
//! let fast = Mcs { format: Format::Ht, index: 7, streams: 1, width, guard: GuardInterval::Ns800 };
//! let fast = phy.mcs_index(fast)?;
//! let ampdu = phy.fill(fast, &phy.ampdu_limits(fast).unwrap(), std::iter::repeat(1538));
//! assert_eq!((ampdu.mpdus(), ampdu.bytes()), (28, 43_230));
//! assert_eq!(phy.airtime(fast, ampdu.bytes()).as_nanos(), 5_360_000);
//! assert_eq!(phy.response(fast, Response::BlockAck).as_nanos(), 32_000);
//! # Ok::<(), airqueue_wifi::phy::PhyError>(())
//! ```

mod ampdu;
mod band;
mod conventions;
mod dscp;
mod dsss;
mod edca;
mod erp;
mod error;
mod facts;
mod format;
pub mod frames;
mod generation;
mod he;
mod ht;
mod layer;
mod mcs;
mod mode;
mod ofdm;
mod radiotap;
mod registry;
mod scheme_name;
mod sensitivity;
mod vht;
pub mod words;

pub use ampdu::{Ampdu, AmpduLimits, Filling, MAX_PPDU, equal_mpdus_bytes};
pub use band::{Band, BandName, Slot};
pub use conventions::{Conventions, DsssTxTime, DurationField, EifsAck, HtTxTime, ResponseTimeout};
pub use dsss::{Preamble, dsss};
pub use edca::{AccessCategory, EdcaEdition, EdcaParameters, EdcaRole, edca_defaults};
pub use erp::erp;
pub use error::PhyError;
pub use facts::Symbols;
pub use format::FrameChoices;
pub use frames::Response;
pub use generation::{Generation, OptionName, Options};
pub use he::{he, he_with};
pub use ht::ht;
pub use layer::MAX_DURATION;
pub use mcs::{Capability, GuardInterval, Mcs, Shape, Width};
pub use mode::ModulationClass;
pub use ofdm::ofdm;
pub use radiotap::RadiotapField;
pub use scheme_name::SchemeName;
pub use vht::vht;
pub use words::alternatives;

use crate::medium::Modulation;
use airqueue_core::{AirRate, DataRate, Span};
use error::rates_text;
use frames::MAX_NON_HT_PSDU_BYTES;
use layer::{Control, Layer, Timing};
use mode::{Mode, OfScheme};

registry::generations! {
    dsss,
    ofdm,
    erp,
    ht => Ht,
    vht => Vht,
    he => He,
}

/// Index of a rate in the table of its layer, not valid for another layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateIndex(u16);

impl RateIndex {
    /// The index, for tables parallel to the layer's own.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// Frames before a data frame that make other stations defer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No frame.
    None,
    /// A CTS to self and SIFS (IEEE 802.11-2016, 10.26.2).
    CtsToSelf,
    /// RTS, SIFS, CTS, SIFS.
    RtsCts,
}

/// A physical layer with its channel access timing and the network's control rates.
///
/// Methods that take a [`RateIndex`] require an index of this layer, from [`Phy::rate_index`] or [`Phy::rates`], and
/// panic for an invalid index. Sizes are PSDU lengths: the frame with MAC header and FCS.
#[derive(Clone, Debug)]
pub struct Phy {
    layer: Layer,
    control: Control,
    eifs: Span,
    timings: Vec<Timing>,
}

impl Phy {
    fn new(layer: Layer) -> Phy {
        debug_assert!(layer.modes.len() <= 1 << u16::BITS, "a RateIndex has 16 bits");
        let basic = Control::Basic(layer.basic_rates.clone());
        Phy::derived(layer, basic)
    }

    fn derived(layer: Layer, control: Control) -> Phy {
        let eifs = layer.eifs(&control);
        let timings = layer.modes.iter().map(|mode| layer.timing(mode, &control)).collect();
        Phy { layer, control, eifs, timings }
    }

    /// This layer in a network with these basic rates (BSSBasicRateSet). A response has the highest basic rate that
    /// does not exceed the rate of the frame and is of the same class, DSSS or OFDM; if there is none, the highest
    /// such mandatory rate (IEEE 802.11-2016, 10.7.6.5.2).
    pub fn with_basic_rates(self, rates: &[DataRate]) -> Result<Phy, PhyError> {
        if rates.is_empty() {
            let rates = rates_text(self.layer.control_rates());
            return Err(PhyError::NoBasicRate { layer: self.layer.name, rates });
        }
        rates.iter().try_for_each(|&rate| self.layer.check_control(rate))?;
        Ok(Phy::derived(self.layer, Control::Basic(rates.to_vec())))
    }

    /// This layer with the same rate for every ACK, CTS and RTS, also in response to slower frames: `basicRate_` of
    /// ns-2.
    pub fn with_control_rate(self, rate: DataRate) -> Result<Phy, PhyError> {
        self.layer.check_control(rate)?;
        Ok(Phy::derived(self.layer, Control::Fixed(rate)))
    }

    /// How durations are computed.
    pub fn conventions(&self) -> Conventions {
        self.layer.conventions
    }

    /// aSlotTime.
    pub fn slot(&self) -> Span {
        self.layer.slot
    }

    /// aSIFSTime.
    pub fn sifs(&self) -> Span {
        self.layer.sifs
    }

    /// DIFS: SIFS and two slots (IEEE 802.11-2016, 10.3.7).
    pub fn difs(&self) -> Span {
        self.layer.aifs(2)
    }

    /// AIFS of an access category: SIFS and AIFSN slots (10.22.2.4).
    pub fn aifs(&self, aifsn: u32) -> Span {
        self.layer.aifs(aifsn)
    }

    /// EIFS, which replaces DIFS after a frame received in error: SIFS + ACK + DIFS (10.3.2.3.7); [`EifsAck`] says at
    /// which rate. An EDCA queue replaces DIFS by its AIFS.
    pub fn eifs(&self) -> Span {
        self.eifs
    }

    /// Number of values in the smallest contention window: backoff is drawn from 0 to `w_min - 1`.
    pub fn w_min(&self) -> u32 {
        self.layer.w_min
    }

    /// Number of values in the largest contention window.
    pub fn w_max(&self) -> u32 {
        self.layer.w_max
    }

    /// The largest PSDU at any rate. The durations of larger PSDUs are computed without a check.
    pub fn max_psdu_bytes(&self) -> u32 {
        let schemes = self.layer.modes.iter().filter_map(|mode| mode.scheme);
        schemes.map(|scheme| scheme.max_ampdu_bytes).max().unwrap_or(0).max(MAX_NON_HT_PSDU_BYTES)
    }

    /// The largest MPDU at a rate: 4095 bytes, the maximum of OFDM's LENGTH field and of the delimiter in HT A-MPDUs;
    /// 11 454 in VHT and HE (IEEE 802.11-2016, table 9-19).
    pub fn max_mpdu_bytes(&self, index: RateIndex) -> u32 {
        let Some(OfScheme { mcs, .. }) = self.mode(index).scheme else {
            return MAX_NON_HT_PSDU_BYTES;
        };
        let longest = mcs.format.facts().max_mpdu_bytes;
        // A frame of these lengths never lasts longer than aPPDUMaxTime.
        let alone = self.single_psdu_bytes(index, 0);
        longest.min(self.most_bytes(index, MAX_PPDU).unwrap_or(0).saturating_sub(alone))
    }

    /// All rates in table order: DSSS, OFDM, then the formats by age. Rates rise within DSSS, within OFDM, and among
    /// schemes that differ only in their index.
    pub fn rates(&self) -> impl ExactSizeIterator<Item = (RateIndex, DataRate)> {
        self.layer.modes.iter().enumerate().map(|(at, mode)| (RateIndex(at as u16), mode.rate))
    }

    /// The index of a rate of DSSS or OFDM. Rates of 802.11n and later are ambiguous, because several schemes have
    /// equal rates: see [`Phy::mcs_index`].
    pub fn rate_index(&self, rate: DataRate) -> Result<RateIndex, PhyError> {
        self.layer.control_index(rate).ok_or_else(|| {
            let rates = rates_text(self.layer.control_rates());
            PhyError::UnknownRate { layer: self.layer.name, rate, rates }
        })
    }

    /// The index of a scheme of 802.11n or later.
    pub fn mcs_index(&self, mcs: Mcs) -> Result<RateIndex, PhyError> {
        mcs.check()?;
        let at = self.layer.modes.iter().position(|mode| mode.mcs() == Some(mcs));
        at.map(|at| RateIndex(at as u16)).ok_or_else(|| {
            let fastest = self.layer.modes.iter().max_by_key(|mode| mode.rate).expect("modes");
            let fastest = fastest.name();
            PhyError::UnknownMcs { layer: self.layer.name, mcs, fastest }
        })
    }

    /// The newest format of the layer's frames; `None` before 802.11n.
    pub fn newest_format(&self) -> Option<Format> {
        self.layer.modes.last().and_then(Mode::mcs).map(|mcs| mcs.format)
    }

    /// The scheme at an index; `None` before 802.11n.
    pub fn mcs(&self, index: RateIndex) -> Option<Mcs> {
        self.mode(index).mcs()
    }

    /// The rate at an index.
    pub fn rate(&self, index: RateIndex) -> DataRate {
        self.mode(index).rate
    }

    /// The rate at an index, as far as the airtime that a sender expects depends on it.
    pub fn air_rate(&self, index: RateIndex) -> AirRate {
        self.timing(index).air_rate
    }

    /// The modulation class at an index.
    pub fn class(&self, index: RateIndex) -> ModulationClass {
        self.mode(index).class
    }

    /// The modulation and coding at an index.
    pub fn modulation(&self, index: RateIndex) -> Modulation {
        match self.mcs(index) {
            Some(mcs) => mcs.modulation(),
            None => Modulation::at(self.rate(index)).expect("a rate of 802.11b, a or g"),
        }
    }

    /// Preamble and PHY header, after which a receiver has detected the frame: aRxPHYStartDelay.
    pub fn preamble(&self, index: RateIndex) -> Span {
        self.mode(index).preamble
    }

    /// Silence at the end of a frame, as part of the frame: 6 µs for OFDM at 2.4 GHz, otherwise none. The SIFS before
    /// a response begins after it.
    pub fn signal_extension(&self, index: RateIndex) -> Span {
        self.mode(index).extension
    }

    /// Duration of a frame (TXTIME), preamble and signal extension included.
    #[inline]
    pub fn airtime(&self, index: RateIndex, psdu_bytes: u32) -> Span {
        self.timing(index).airtime.of(psdu_bytes)
    }

    /// Duration of an RTS at a rate.
    #[inline]
    pub fn rts(&self, index: RateIndex) -> Span {
        self.timing(index).rts
    }

    /// Duration of a CTS at a rate, in response to an RTS or to self.
    #[inline]
    pub fn cts(&self, index: RateIndex) -> Span {
        self.timing(index).ack
    }

    /// Duration of an ACK at a rate.
    #[inline]
    pub fn ack(&self, index: RateIndex) -> Span {
        self.timing(index).ack
    }

    /// Duration of the response to a data frame, an A-MPDU or a block ack request at a rate.
    #[inline]
    pub fn response(&self, index: RateIndex, response: Response) -> Span {
        self.airtime(self.response_rate(index), response.bytes())
    }

    /// The Duration/ID of a frame at this rate that is followed only by its response: SIFS and the response (IEEE
    /// 802.11-2016, 9.2.5.2). The Duration/ID of the response is 0.
    #[inline(always)]
    pub fn response_nav(&self, index: RateIndex, response: Response) -> Span {
        match response {
            Response::Ack => self.timing(index).data_nav,
            _ => self.nav(self.sifs() + self.response(index, response)),
        }
    }

    /// The rate of the response to a frame, and of an RTS before the frame unless stations that know only slower rates
    /// need protection.
    #[inline]
    pub fn response_rate(&self, index: RateIndex) -> RateIndex {
        self.timing(index).response
    }

    /// The slowest basic rate: the rate of frames to all stations, unless something else is said.
    pub fn slowest_basic(&self) -> RateIndex {
        let slowest = self.basic_rates().iter().copied().min();
        slowest
            .and_then(|rate| self.layer.control_index(rate))
            .expect("basic rates are control rates")
    }

    /// How long after the end of an RTS or a data frame at this rate the sender waits for the CTS or the ACK, which
    /// have equal durations; [`ResponseTimeout`] says for which event.
    #[inline]
    pub fn response_timeout(&self, index: RateIndex) -> Span {
        self.timing(index).response_timeout
    }

    /// Duration of the protection before a data frame, from its first frame to the SIFS after its last frame.
    pub fn protection(&self, protection: Protection, index: RateIndex) -> Span {
        match protection {
            Protection::None => Span::ZERO,
            Protection::CtsToSelf => self.cts(index) + self.sifs(),
            Protection::RtsCts => {
                let cts = self.cts(self.response_rate(index));
                self.rts(index) + self.sifs() + cts + self.sifs()
            }
        }
    }

    /// The Duration/ID of an RTS at the rate `rts` before a data frame at the rate `data` with the duration `frame`:
    /// three SIFS, CTS, frame, response.
    pub fn rts_nav(
        &self,
        rts: RateIndex,
        data: RateIndex,
        frame: Span,
        response: Response,
    ) -> Span {
        let cts = self.cts(self.response_rate(rts));
        self.nav(self.sifs() + cts + self.until_response(data, frame, response))
    }

    /// The Duration/ID of a CTS at the rate `cts` in response to an RTS with `rts_nav`: `rts_nav` less SIFS and the
    /// CTS.
    pub fn cts_nav(&self, cts: RateIndex, rts_nav: Span) -> Span {
        self.nav(rts_nav - self.sifs() - self.cts(cts))
    }

    /// The Duration/ID of a CTS to self before a data frame at the rate `data` with the duration `frame`: two SIFS,
    /// frame, response.
    pub fn cts_to_self_nav(&self, data: RateIndex, frame: Span, response: Response) -> Span {
        self.nav(self.until_response(data, frame, response))
    }

    /// The Duration/ID for a remaining time `left` of an exchange: whole microseconds ([`DurationField`]), at most
    /// 32767.
    pub fn nav(&self, left: Span) -> Span {
        self.layer.nav(left)
    }

    /// Time after an RTS at this rate after which the NAV of the RTS may be reset if no frame has begun: two SIFS,
    /// CTS, aRxPHYStartDelay, two slots (IEEE 802.11-2016, 10.3.2.4).
    pub fn nav_timeout(&self, rts: RateIndex) -> Span {
        let response = self.response_rate(rts);
        self.layer.aifs(2) + self.sifs() + self.cts(response) + self.preamble(response)
    }

    /// Duration of SIFS, the data frame, SIFS, and its response.
    fn until_response(&self, data: RateIndex, frame: Span, response: Response) -> Span {
        self.sifs() + frame + self.sifs() + self.response(data, response)
    }

    fn mode(&self, index: RateIndex) -> &Mode {
        &self.layer.modes[index.as_usize()]
    }

    #[inline]
    fn timing(&self, index: RateIndex) -> &Timing {
        &self.timings[index.as_usize()]
    }
}

/// A rate in the table of a layer.
fn rate(kbps: u32) -> DataRate {
    DataRate::from_bps(u64::from(kbps) * 1_000).expect("a layer's rates are positive")
}
