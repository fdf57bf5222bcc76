//! What changes in a network at given times.

use super::engine::Network;
use super::legs::End;
use super::spec::{NetworkError, NetworkSpec};
use crate::wlan::Discipline;
use airqueue_core::{Limit, Time};
use airqueue_wifi::RateIndex;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The rate of the data frames of one of the radio's flows, by its place. What the MAC has in hand keeps its own.
    Rate {
        /// The flow, whose rate no rate control looks for.
        radio: usize,
        /// From now on.
        rate: RateIndex,
    },
    /// The limit of a station's queue; where it keeps flows or links apart, that of each of them.
    Limit {
        /// The station, by its place.
        station: usize,
        /// Which of its queues.
        category: usize,
        /// From now on. What waits stays.
        limit: Limit,
    },
    /// The limit of the queue that one of the radio's flows, by its place, has for itself, or shares with those of its
    /// link.
    FlowLimit {
        /// The flow, whose station keeps flows or links apart.
        radio: usize,
        /// From now on. What waits stays.
        limit: Limit,
    },
    /// The way of a flow, there and back. Packets that have set out go on as they began.
    Way {
        /// The flow, by its place.
        flow: usize,
        /// 0 for its usual way, and from 1 on its others.
        way: usize,
    },
}

/// A change, and when it comes. It precedes all else that happens at that instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedChange {
    /// When.
    pub at: Time,
    /// What.
    pub change: Change,
}

impl TimedChange {
    /// What it changes is there.
    pub(super) fn check(&self, spec: &NetworkSpec) -> Result<(), NetworkError> {
        let wlan = &spec.wlan;
        let flow = |radio: usize| wlan.flows.get(radio);
        let queue = |station: usize, category: usize| {
            wlan.stations.get(station).and_then(|station| station.queues.get(category))
        };
        let possible = match self.change {
            Change::Rate { radio, rate } => flow(radio).is_some_and(|flow| {
                let bytes = flow.source.size_bytes.saturating_add(flow.overhead_bytes);
                let known = wlan.network.phy.rates().any(|(index, _)| index == rate);
                flow.rate_control.is_none()
                    && known
                    && bytes <= wlan.network.phy.max_mpdu_bytes(rate)
            }),
            Change::Limit { station, category, .. } => queue(station, category).is_some(),
            Change::FlowLimit { radio, .. } => {
                flow(radio).and_then(|flow| queue(flow.from.index(), flow.queue)).is_some_and(
                    |queue| matches!(queue.discipline, Discipline::DeficitRoundRobin { .. }),
                )
            }
            Change::Way { flow, way } => {
                spec.flows.get(flow).is_some_and(|flow| way <= flow.others.len())
            }
        };
        if possible { Ok(()) } else { Err(NetworkError::Change(*self)) }
    }
}

impl Network {
    /// Changes something now.
    ///
    /// # Panics
    ///
    /// If it is not there; so it is when [`NetworkSpec::changes`] could have it.
    pub fn change(&mut self, change: Change) {
        match change {
            Change::Rate { radio, rate } => {
                self.radio.model.set_rate(radio as u32, rate);
                self.tell_paths();
            }
            Change::Limit { station, category, limit } => self.set_limit(station, category, limit),
            Change::FlowLimit { radio, limit } => {
                let apart = self.set_flow_limit(radio, limit);
                assert!(apart, "the flow has no queue for itself");
            }
            Change::Way { flow, way } => {
                let leg = self.flows[flow];
                self.legs.take_way(leg, way);
                if let End::Receiver(_) = self.legs.all[leg as usize].end {
                    self.legs.take_way(leg + 1, way);
                }
                self.tell_paths();
            }
        }
    }

    /// Tells connections how many hops over the air their segments take now, and how fast the slowest of them is.
    fn tell_paths(&mut self) {
        for (connection, [data, _]) in self.connections.iter_mut().zip(&self.ways) {
            let hops = || self.legs.radio_hops(*data);
            if let Some(rate) = hops().map(|hop| self.radio.model.data_rate(hop)).min() {
                connection.set_path(hops().count() as u32, rate);
            }
        }
    }
}
