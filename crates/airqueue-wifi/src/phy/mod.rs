//! Physical layers: how long everything takes that 802.11 sends, and waits.
//!
//! A [`Phy`] is made once, by [`dsss`], [`ofdm()`] or [`erp`], with the network's control rates. Whatever
//! does not depend on a frame's size is then a field; the duration of a frame is a closed formula in
//! integers. Nothing is allocated after that, and nothing is rounded but where [`Conventions`] says so.
//!
//! A layer is a list of modes with channel access timing. Another one is another file like `ofdm`.
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

mod conventions;
mod dsss;
mod edca;
pub mod frames;
mod mode;
mod ofdm;
#[cfg(test)]
mod tests;

pub use conventions::{Conventions, DsssTxTime, DurationField, EifsAck, ResponseTimeout};
pub use dsss::{Preamble, dsss};
pub use edca::{AccessCategory, EdcaEdition, EdcaParameters, EdcaRole, edca_defaults};
pub use mode::ModulationClass;
pub use ofdm::{Slot, erp, ofdm};

use airqueue_core::{DataRate, Span};
use frames::{ACK_BYTES, CTS_BYTES, RTS_BYTES};
use mode::{Airtime, Mode};
use thiserror::Error;

/// Propagation delay that ns-2 allows for, twice in each time-out.
const NS2_PROPAGATION: Span = Span::from_micros(2);
/// The largest time that Duration/ID can announce: its bit 15 must be 0 (IEEE 802.11-2016, 9.2.4.2).
const MAX_DURATION_US: i64 = 32_767;

/// Place of a rate in its layer's table. It means nothing to another layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateIndex(u8);

impl RateIndex {
    /// The place, for tables beside the layer's own.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// Frames in front of a data frame that make others keep away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No frame.
    None,
    /// A CTS to oneself and SIFS (IEEE 802.11-2016, 10.26.2).
    CtsToSelf,
    /// RTS, SIFS, CTS, SIFS.
    RtsCts,
}

/// A rate that cannot be, and those that can.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum PhyError {
    #[error("{layer} has no rate of {} Mb/s; it must be one of {rates} Mb/s", mbps(*rate))]
    UnknownRate { layer: &'static str, rate: DataRate, rates: String },
    #[error("{layer} sends no control frames at {} Mb/s; it must be one of {rates} Mb/s", mbps(*rate))]
    ControlRate { layer: &'static str, rate: DataRate, rates: String },
    #[error("there is no basic rate; name at least one of the rates of {layer}: {rates} Mb/s")]
    NoBasicRate { layer: &'static str, rates: String },
}

/// What a layer's file says of it.
#[derive(Clone, Debug)]
struct Layer {
    name: &'static str,
    slot: Span,
    sifs: Span,
    cw_min: u32,
    cw_max: u32,
    max_psdu_bytes: u32,
    modes: Vec<Mode>,
    /// BSSBasicRateSet unless the network says otherwise.
    basic_rates: Vec<DataRate>,
    conventions: Conventions,
}

/// Which rates ACK, CTS and RTS have.
enum Control {
    /// By the standard's rule, from the basic rates.
    Basic(Vec<DataRate>),
    /// All the same.
    Fixed(DataRate),
}

/// What follows from a rate and the control rates.
#[derive(Clone, Debug)]
struct Timing {
    airtime: Airtime,
    rts: Span,
    /// ACK and CTS are equally long.
    ack: Span,
    response: RateIndex,
    response_timeout: Span,
    data_nav: Span,
}

/// A physical layer with its channel access timing and the network's control rates.
///
/// Methods that take a [`RateIndex`] want one of this layer, from [`Phy::rate_index`] or
/// [`Phy::rates`], and panic if there is no such place. Sizes are those of the PSDU: the frame with MAC
/// header and FCS.
#[derive(Clone, Debug)]
pub struct Phy {
    layer: Layer,
    eifs: Span,
    timings: Vec<Timing>,
}

impl Phy {
    fn new(layer: Layer) -> Phy {
        debug_assert!(layer.modes.len() <= 1 << u8::BITS, "a RateIndex has 8 bits");
        let basic = Control::Basic(layer.basic_rates.clone());
        Phy::derived(layer, &basic)
    }

    fn derived(layer: Layer, control: &Control) -> Phy {
        let eifs = layer.eifs(control);
        let timings = layer.modes.iter().map(|mode| layer.timing(mode, control)).collect();
        Phy { layer, eifs, timings }
    }

    /// The same layer in a network with these basic rates (BSSBasicRateSet). A frame is answered at
    /// the highest of them that does not exceed its own rate and is of the same class, DSSS or OFDM;
    /// if there is none, at the highest mandatory rate of which that holds (IEEE 802.11-2016,
    /// 10.7.6.5.2).
    pub fn with_basic_rates(self, rates: &[DataRate]) -> Result<Phy, PhyError> {
        if rates.is_empty() {
            let rates = rates_text(self.layer.control_rates());
            return Err(PhyError::NoBasicRate { layer: self.layer.name, rates });
        }
        rates.iter().try_for_each(|&rate| self.layer.check_control(rate))?;
        Ok(Phy::derived(self.layer, &Control::Basic(rates.to_vec())))
    }

    /// The same layer where every ACK, CTS and RTS has this rate, also in answer to slower frames:
    /// `basicRate_` of ns-2.
    pub fn with_control_rate(self, rate: DataRate) -> Result<Phy, PhyError> {
        self.layer.check_control(rate)?;
        Ok(Phy::derived(self.layer, &Control::Fixed(rate)))
    }

    /// How its times are counted.
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

    /// EIFS, the wait instead of DIFS after a frame that was not understood: SIFS + ACK + DIFS
    /// (10.3.2.3.7); at which rate, [`EifsAck`] says. An EDCA queue puts its AIFS in the place of DIFS.
    pub fn eifs(&self) -> Span {
        self.eifs
    }

    /// Values of the smallest contention window: backoff from 0 to one less.
    pub fn cw_min(&self) -> u32 {
        self.layer.cw_min
    }

    /// Values of the largest contention window.
    pub fn cw_max(&self) -> u32 {
        self.layer.cw_max
    }

    /// The largest PSDU. Durations of larger ones are computed all the same: check before.
    pub fn max_psdu_bytes(&self) -> u32 {
        self.layer.max_psdu_bytes
    }

    /// All rates in the order of the table, rising within each class.
    pub fn rates(&self) -> impl ExactSizeIterator<Item = (RateIndex, DataRate)> {
        self.layer.modes.iter().enumerate().map(|(at, mode)| (RateIndex(at as u8), mode.rate))
    }

    /// The place of a rate.
    pub fn rate_index(&self, rate: DataRate) -> Result<RateIndex, PhyError> {
        self.rates().find(|(_, known)| *known == rate).map(|(index, _)| index).ok_or_else(|| {
            let rates = rates_text(self.rates().map(|(_, known)| known));
            PhyError::UnknownRate { layer: self.layer.name, rate, rates }
        })
    }

    /// The rate at a place.
    pub fn rate(&self, index: RateIndex) -> DataRate {
        self.mode(index).rate
    }

    /// Its modulation: that of its response, too.
    pub fn class(&self, index: RateIndex) -> ModulationClass {
        self.mode(index).class
    }

    /// Preamble and PHY header, after which a receiver knows that there is a frame: aRxPHYStartDelay.
    pub fn preamble(&self, index: RateIndex) -> Span {
        self.mode(index).preamble
    }

    /// Silence that belongs to the end of a frame: 6 µs for OFDM at 2.4 GHz, else none. A response's
    /// SIFS begins after it.
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

    /// Duration of a CTS at a rate, as an answer or to oneself.
    #[inline]
    pub fn cts(&self, index: RateIndex) -> Span {
        self.timing(index).ack
    }

    /// Duration of an ACK at a rate.
    #[inline]
    pub fn ack(&self, index: RateIndex) -> Span {
        self.timing(index).ack
    }

    /// The rate of the response to a frame, and of an RTS in front of it if nothing needs to be
    /// protected from stations that know slower rates alone.
    #[inline]
    pub fn response_rate(&self, index: RateIndex) -> RateIndex {
        self.timing(index).response
    }

    /// How long after the end of an RTS or a data frame at this rate its sender waits for the CTS or
    /// the ACK, which are equally long; for what, [`ResponseTimeout`] says.
    #[inline]
    pub fn response_timeout(&self, index: RateIndex) -> Span {
        self.timing(index).response_timeout
    }

    /// What protection puts in front of a data frame, from its first frame to the SIFS behind its last.
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

    /// The Duration/ID of a data frame at this rate that an ACK answers and nothing follows: SIFS and
    /// the ACK (IEEE 802.11-2016, 9.2.5.2). That of the ACK is 0.
    #[inline]
    pub fn data_nav(&self, index: RateIndex) -> Span {
        self.timing(index).data_nav
    }

    /// The Duration/ID of an RTS at the rate `rts` in front of a data frame at the rate `data` that lasts
    /// `frame`: three SIFS, CTS, frame, ACK.
    pub fn rts_nav(&self, rts: RateIndex, data: RateIndex, frame: Span) -> Span {
        let cts = self.cts(self.response_rate(rts));
        self.nav(self.sifs() + cts + self.until_ack(data, frame))
    }

    /// The Duration/ID of a CTS at the rate `cts` that answers an RTS which said `rts_nav`: that less
    /// SIFS and the CTS.
    pub fn cts_nav(&self, cts: RateIndex, rts_nav: Span) -> Span {
        self.nav(rts_nav - self.sifs() - self.cts(cts))
    }

    /// The Duration/ID of a CTS to oneself in front of a data frame at the rate `data` that lasts
    /// `frame`: two SIFS, frame, ACK.
    pub fn cts_to_self_nav(&self, data: RateIndex, frame: Span) -> Span {
        self.nav(self.until_ack(data, frame))
    }

    /// What Duration/ID says if `left` is left of an exchange: whole microseconds ([`DurationField`]),
    /// at most 32767.
    pub fn nav(&self, left: Span) -> Span {
        self.layer.nav(left)
    }

    /// How long after an RTS at this rate the NAV that it set may be taken back if no frame has begun by
    /// then: two SIFS, CTS, aRxPHYStartDelay, two slots (IEEE 802.11-2016, 10.3.2.4).
    pub fn nav_timeout(&self, rts: RateIndex) -> Span {
        let response = self.response_rate(rts);
        self.layer.aifs(2) + self.sifs() + self.cts(response) + self.preamble(response)
    }

    /// SIFS, the data frame, SIFS, its ACK.
    fn until_ack(&self, data: RateIndex, frame: Span) -> Span {
        self.sifs() + frame + self.sifs() + self.ack(self.response_rate(data))
    }

    fn mode(&self, index: RateIndex) -> &Mode {
        &self.layer.modes[index.as_usize()]
    }

    #[inline]
    fn timing(&self, index: RateIndex) -> &Timing {
        &self.timings[index.as_usize()]
    }
}

impl Layer {
    fn aifs(&self, aifsn: u32) -> Span {
        Span::from_nanos(self.sifs.as_nanos() + i64::from(aifsn) * self.slot.as_nanos())
    }

    fn nav(&self, left: Span) -> Span {
        let up_to = match self.conventions.duration_field {
            DurationField::RoundedUp => 999,
            DurationField::Nearest => 500,
        };
        let us = (left.as_nanos().max(0) + up_to) / 1_000;
        Span::from_micros(us.min(MAX_DURATION_US))
    }

    fn eifs(&self, control: &Control) -> Span {
        let lowest = match (self.conventions.eifs_ack, control) {
            (EifsAck::LowestRate, _) => self.control_rates().min(),
            (EifsAck::LowestBasicRate, Control::Basic(rates)) => rates.iter().copied().min(),
            (EifsAck::LowestBasicRate, Control::Fixed(rate)) => Some(*rate),
        };
        let index = lowest.and_then(|rate| self.control_index(rate)).expect("a control rate");
        let ack = self.modes[index.as_usize()].airtime().of(ACK_BYTES);
        self.sifs + ack + self.aifs(2)
    }

    fn timing(&self, mode: &Mode, control: &Control) -> Timing {
        const { assert!(ACK_BYTES == CTS_BYTES) };
        let airtime = mode.airtime();
        let response = self.response(mode, control);
        let answer = &self.modes[response.as_usize()];
        let ack = answer.airtime().of(ACK_BYTES);
        let response_timeout = match self.conventions.response_timeout {
            ResponseTimeout::Start => self.sifs + self.slot + answer.preamble,
            ResponseTimeout::End => self.sifs + ack + NS2_PROPAGATION + NS2_PROPAGATION,
        };
        Timing {
            airtime,
            rts: airtime.of(RTS_BYTES),
            ack: airtime.of(ACK_BYTES),
            response,
            response_timeout,
            data_nav: self.nav(self.sifs + ack),
        }
    }

    fn response(&self, mode: &Mode, control: &Control) -> RateIndex {
        let basic = match control {
            Control::Fixed(rate) => return self.control_index(*rate).expect("a control rate"),
            Control::Basic(rates) => rates,
        };
        let highest = |allowed: &dyn Fn(&Mode) -> bool| {
            let below = |m: &&Mode| {
                m.control && m.class == mode.class && m.rate <= mode.reference && allowed(m)
            };
            self.modes.iter().filter(below).map(|m| m.rate).max()
        };
        highest(&|m| basic.contains(&m.rate))
            .or_else(|| highest(&|m| m.mandatory))
            .and_then(|rate| self.control_index(rate))
            .expect("the lowest rate of each class is mandatory")
    }

    /// The place of a rate among those of control frames, which differ from each other.
    fn control_index(&self, rate: DataRate) -> Option<RateIndex> {
        let at = self.modes.iter().position(|mode| mode.control && mode.rate == rate);
        at.map(|at| RateIndex(at as u8))
    }

    fn control_rates(&self) -> impl Iterator<Item = DataRate> {
        self.modes.iter().filter(|mode| mode.control).map(|mode| mode.rate)
    }

    fn check_control(&self, rate: DataRate) -> Result<(), PhyError> {
        match self.control_index(rate) {
            Some(_) => Ok(()),
            None => Err(PhyError::ControlRate {
                layer: self.name,
                rate,
                rates: rates_text(self.control_rates()),
            }),
        }
    }
}

/// Rates for a message, rising.
fn rates_text(rates: impl Iterator<Item = DataRate>) -> String {
    let mut rates: Vec<DataRate> = rates.collect();
    rates.sort_unstable();
    rates.iter().map(|rate| mbps(*rate).to_string()).collect::<Vec<_>>().join(", ")
}

fn mbps(rate: DataRate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// A rate of a layer's table.
fn rate(kbps: u32) -> DataRate {
    DataRate::from_bps(u64::from(kbps) * 1_000).expect("a layer's rates are positive")
}
