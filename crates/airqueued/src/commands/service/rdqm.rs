//! RDQM at one interface: round trips from the taps, rates from the radios, classes in the kernel.

use super::ears::{Ears, Side};
use super::loops::Turn;
use crate::commands::Stop;
use crate::radio::facts::Radios;
use crate::radio::nl80211::Nl80211;
use crate::radio::read;
use airqueue_control::flows::{Flow, FlowKey, Mac};
use airqueue_control::plan::{Queue, QueueOf, Set};
use airqueue_control::steer::{FlowSeen, RdqmConfig, RdqmLoop};
use airqueue_core::{DataRate, Span, Time};
use std::collections::BTreeMap;

/// Flows that leave classes and enter them.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) interface: String,
    pub(super) handle: u16,
    pub(super) released: Vec<(FlowKey, u16)>,
    pub(super) assigned: Vec<(FlowKey, u16)>,
}

pub(super) struct Rdqm {
    /// Place of its queue in the plan.
    pub(super) at: usize,
    config: RdqmConfig,
    division: RdqmLoop,
}

impl Rdqm {
    pub(super) fn new(
        at: usize,
        config: RdqmConfig,
        least_interval: Span,
        ears: &mut Ears,
        now: Time,
    ) -> Result<Rdqm, Stop> {
        ears.listen(&config.interface, Side::Stations, now)?;
        ears.listen(&config.uplink, Side::Far, now)?;
        let division = RdqmLoop::new(config.policy(least_interval));
        Ok(Rdqm { at, config, division })
    }

    /// What is to change now.
    pub(super) fn look(&mut self, ears: &Ears, rates: &Rates, now: Time) -> Option<Turn> {
        let seen: Vec<FlowSeen> = ears
            .downloads(&self.config.interface)
            .map(|flow| FlowSeen {
                key: flow.key,
                rate: self.rate(flow, rates),
                rtt: self.rtt(flow, ears),
            })
            .collect();
        let change = self.division.on_flows(&seen, now)?;
        let queue = self.division.shared().clone();
        let interface = self.config.interface.clone();
        let known = seen.iter().filter(|flow| flow.rate.is_some() && flow.rtt.is_some()).count();
        let set = Set::Queue(QueueOf { interface: interface.clone(), queue: Queue::Shared(queue) });
        Some(Turn {
            at: self.at,
            set,
            why: format!("{} active downloads, delay and rate known of {known}", seen.len()),
            moves: Some(Moves {
                interface,
                handle: self.config.handle,
                released: change.released,
                assigned: change.assigned,
            }),
        })
    }

    /// All flows that have classes, for a shaper that was made anew.
    pub(super) fn again(&self) -> Moves {
        Moves {
            interface: self.config.interface.clone(),
            handle: self.config.handle,
            released: Vec::new(),
            assigned: self.division.held().collect(),
        }
    }

    fn rate(&self, flow: &Flow, rates: &Rates) -> Option<DataRate> {
        let given = self.config.rate_of(flow.key.station.address);
        given.or_else(|| rates.0.get(&flow.station_mac?).copied())
    }

    fn rtt(&self, flow: &Flow, ears: &Ears) -> Option<Span> {
        Some(flow.station.least? + ears.far_rtt(&self.config.uplink, &flow.key)?)
    }
}

/// The rates of the stations of this machine's radios, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<Mac, DataRate>);

impl Rates {
    /// Asks the radios. Without radios, or if they do not tell, no rate is known.
    pub(super) fn read(nl80211: Option<&mut Nl80211>) -> Rates {
        let Some(nl80211) = nl80211 else { return Rates::default() };
        let Ok(radios) = Radios::read_by(nl80211) else { return Rates::default() };
        let mut rates = BTreeMap::new();
        for interface in &radios.interfaces {
            for station in read::stations(nl80211, interface.index).unwrap_or_default() {
                if let Some(rate) = station.tx_rate_bps.and_then(DataRate::from_bps) {
                    rates.insert(station.address.0, rate);
                }
            }
        }
        Rates(rates)
    }
}
