//! The rates of the frames of a network's flows.

use super::engine::Wlan;
use super::interface::Interface;
use super::spec::HopSpec;
use super::upper::UpperLayer;
use crate::HopId;
use airqueue_core::{DataRate, Seed, Span, Time};
use airqueue_wifi::mac::Msdu;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, Phy, RateIndex};
use airqueue_wifi::rate_control::{Beginning, RateControl, RateControlName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a station chooses the rate of its frames to another station.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateControlSpec {
    /// The rate control algorithm.
    pub algorithm: RateControlName,
    /// The rates to choose from, at least one: all of the same format, or all without a format.
    pub rates: Arc<[RateIndex]>,
}

/// A rate control, and its count of consecutive lost data frames.
#[derive(Debug)]
pub(super) struct Control {
    rates: RateControl,
    /// Number of consecutive data frames without a response.
    pub(super) in_vain: u32,
}

impl Control {
    #[inline]
    pub(super) fn choose(&mut self) -> RateIndex {
        self.rates.choose(self.in_vain)
    }

    /// Whether the next frame has a single MPDU.
    #[inline]
    pub(super) fn sends_one(&self) -> bool {
        self.rates.sends_one()
    }
}

/// Rate controls while a network is built. Hops between the same two stations with equal rate controls share one.
#[derive(Debug, Default)]
pub(super) struct Controls {
    known: BTreeMap<(StationId, StationId, RateControlSpec), usize>,
    pub(super) all: Vec<Control>,
}

impl Controls {
    /// The place of a hop's rate control, if the hop has a rate control. The random stream is `rate/FROM/TO`.
    pub(super) fn number(&mut self, hop: &HopSpec, phy: &Phy, seed: Seed) -> Option<usize> {
        let spec = hop.rate_control.as_ref()?;
        let RateControlSpec { algorithm, rates } = spec;
        let key = (hop.from, hop.to, spec.clone());
        let place = *self.known.entry(key).or_insert_with(|| {
            let rates = algorithm.begin(Beginning {
                phy,
                rates,
                rng: seed.stream(&format!("rate/{}/{}", hop.from.0, hop.to.0)),
            });
            self.all.push(Control { rates, in_vain: 0 });
            self.all.len() - 1
        });
        Some(place)
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// The rate of a hop's frames: its fixed rate, or the best rate by the estimate of its rate control.
    fn rate(&self, hop: HopId) -> RateIndex {
        let hop = &self.hops[hop.index()];
        hop.control.map_or(hop.rate, |control| self.controls[control].rates.rate())
    }

    /// The present data rate of a hop's frames: its fixed rate, or the best rate by the estimate of its rate control.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn data_rate(&self, hop: HopId) -> DataRate {
        self.listeners.radio.phy.rate(self.rate(hop))
    }

    /// Mean airtime of an exchange with the largest packet of a hop, on an otherwise idle medium.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn lone_exchange(&self, hop: HopId) -> Span {
        self.lone_exchange_of(hop, self.hops[hop.index()].size_bytes)
    }

    /// The same for a packet of `ip_bytes`.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn lone_exchange_of(&self, hop: HopId, ip_bytes: u32) -> Span {
        let of = &self.hops[hop.index()];
        let bytes = ip_bytes + of.overhead_bytes;
        let &Interface { station, ac, .. } = &self.interfaces[of.interface.index()];
        self.listeners.macs[station.index()].lone_exchange(
            ac,
            self.rate(hop),
            bytes,
            &self.listeners.radio,
        )
    }

    /// The rate of a hop's next frame, if the hop has a rate control.
    #[inline]
    pub(super) fn chosen_rate(&mut self, hop: HopId) -> Option<RateIndex> {
        let control = self.hops[hop.index()].control?;
        Some(self.controls[control].choose())
    }

    /// Chooses the rate of a queue's next exchange, if the exchange has a rate control. True if the exchange is to carry
    /// its first packet alone.
    #[inline]
    pub(super) fn choose_rate(&mut self, station: StationId, ac: AccessCategory) -> bool {
        !self.controls.is_empty() && self.choose_rate_of(station, ac)
    }

    fn choose_rate_of(&mut self, station: StationId, ac: AccessCategory) -> bool {
        let Some(&Msdu { packet, .. }) = self.listeners.macs[station.index()].held(ac) else {
            return false;
        };
        let interface = self.interface_of(station, ac);
        let interface = &mut self.interfaces[interface.index()];
        interface.control = self.hops[HopId::of(&packet).index()].control;
        let Some(control) = interface.control else { return false };
        let rate = self.controls[control].choose();
        self.listeners.macs[station.index()].set_rate(ac, rate, &self.listeners.radio);
        self.controls[control].sends_one()
    }

    /// Reports the fate of a station's data frame to the rate control, once the fate is known.
    #[inline]
    pub(super) fn report_rate(&mut self, station: StationId, now: Time) {
        if !self.controls.is_empty() && self.listeners.macs[station.index()].has_transmission() {
            self.report_rate_of(station, now);
        }
    }

    #[inline(never)]
    fn report_rate_of(&mut self, station: StationId, now: Time) {
        let Some(sent) = self.listeners.macs[station.index()].poll_transmission() else { return };
        let interface = &self.interfaces[self.interface_of(station, sent.ac).index()];
        let Some(control) = interface.control else { return };
        let Control { rates, in_vain } = &mut self.controls[control];
        *in_vain = if sent.acknowledged == 0 { *in_vain + 1 } else { 0 };
        rates.report(sent.rate, sent.mpdus, sent.acknowledged, now);
    }
}
