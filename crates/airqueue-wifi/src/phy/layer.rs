//! The definition of a layer in its file, and the values derived for each of its modes.

use super::RateIndex;
use super::conventions::{Conventions, DurationField, EifsAck, ResponseTimeout};
use super::error::{PhyError, rates_text};
use super::frames::{ACK_BYTES, CTS_BYTES, RTS_BYTES};
use super::mode::{Airtime, Mode};
use airqueue_core::{AirRate, DataRate, Span};

/// Propagation delay in ns-2, counted twice in each time-out.
const NS2_PROPAGATION: Span = Span::from_micros(2);
/// The largest time that Duration/ID can announce: its bit 15 must be 0 (IEEE 802.11-2016, 9.2.4.2).
pub const MAX_DURATION: Span = Span::from_micros(32_767);

/// The definition of a layer in its file.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: &'static str,
    pub(super) slot: Span,
    pub(super) sifs: Span,
    pub(super) w_min: u32,
    pub(super) w_max: u32,
    /// Those of control frames first.
    pub(super) modes: Vec<Mode>,
    /// The default BSSBasicRateSet.
    pub(super) basic_rates: Vec<DataRate>,
    pub(super) conventions: Conventions,
}

/// The rates of ACK, CTS and RTS.
#[derive(Clone, Debug)]
pub(super) enum Control {
    /// By the standard's rule, from the basic rates.
    Basic(Vec<DataRate>),
    /// One rate for all.
    Fixed(DataRate),
}

/// The values derived from a rate and the control rates.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) airtime: Airtime,
    pub(super) rts: Span,
    /// Duration of an ACK or a CTS, which are equally long.
    pub(super) ack: Span,
    pub(super) response: RateIndex,
    pub(super) response_timeout: Span,
    pub(super) data_nav: Span,
    pub(super) air_rate: AirRate,
}

impl Layer {
    pub(super) fn aifs(&self, aifsn: u32) -> Span {
        Span::from_nanos(self.sifs.as_nanos() + i64::from(aifsn) * self.slot.as_nanos())
    }

    pub(super) fn nav(&self, left: Span) -> Span {
        let up_to = match self.conventions.duration_field {
            DurationField::RoundedUp => 999,
            DurationField::Nearest => 500,
        };
        let us = (left.as_nanos().max(0) + up_to) / 1_000;
        Span::from_micros(us).min(MAX_DURATION)
    }

    pub(super) fn eifs(&self, control: &Control) -> Span {
        let lowest = match (self.conventions.eifs_ack, control) {
            (EifsAck::LowestRate, _) => self.control_rates().min(),
            (EifsAck::LowestBasicRate, Control::Basic(rates)) => rates.iter().copied().min(),
            (EifsAck::LowestBasicRate, Control::Fixed(rate)) => Some(*rate),
        };
        let index = lowest.and_then(|rate| self.control_index(rate)).expect("a control rate");
        let ack = self.modes[index.as_usize()].airtime().of(ACK_BYTES);
        self.sifs + ack + self.aifs(2)
    }

    pub(super) fn timing(&self, mode: &Mode, control: &Control) -> Timing {
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
            air_rate: mode.air_rate(),
        }
    }

    fn response(&self, mode: &Mode, control: &Control) -> RateIndex {
        let basic = match control {
            Control::Fixed(rate) => return self.control_index(*rate).expect("a control rate"),
            Control::Basic(rates) => rates,
        };
        let highest = |allowed: &dyn Fn(&Mode) -> bool| {
            let below = |m: &&Mode| {
                m.class == mode.class.of_response() && m.rate <= mode.reference && allowed(m)
            };
            self.control_modes().filter(below).map(|m| m.rate).max()
        };
        highest(&|m| basic.contains(&m.rate))
            .or_else(|| highest(&|m| m.mandatory))
            .and_then(|rate| self.control_index(rate))
            .expect("the lowest rate of each class is mandatory")
    }

    /// The index of a rate among the control rates, which are all different.
    pub(super) fn control_index(&self, rate: DataRate) -> Option<RateIndex> {
        let at = self.control_modes().position(|mode| mode.rate == rate);
        at.map(|at| RateIndex(at as u16))
    }

    pub(super) fn control_rates(&self) -> impl Iterator<Item = DataRate> {
        self.control_modes().map(|mode| mode.rate)
    }

    fn control_modes(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().take_while(|mode| mode.control)
    }

    pub(super) fn check_control(&self, rate: DataRate) -> Result<(), PhyError> {
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
