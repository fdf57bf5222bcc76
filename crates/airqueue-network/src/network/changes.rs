//! What changes in a network at given times.

use super::engine::{Event, Network};
use super::hops::End;
use super::spec::{NetworkError, NetworkSpec};
use crate::event::EventQueue;
use crate::queue::Discipline;
use airqueue_core::{Limit, Time};
use airqueue_wifi::RateIndex;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The rate of the data frames of a hop over the air. What the MAC has in hand keeps its own.
    Rate {
        /// The hop, by its place, whose rate no rate control looks for.
        hop: usize,
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
    /// The limit of the queue that the packets of a hop over the air have for themselves, or share with those of the
    /// other hops of their link.
    HopLimit {
        /// The hop, by its place, whose station keeps flows or links apart.
        hop: usize,
        /// From now on. What waits stays.
        limit: Limit,
    },
    /// The route of a flow, there and back. Packets that have set out go on as they began.
    Route {
        /// The flow, by its place.
        flow: usize,
        /// 0 for its usual route, and from 1 on its others.
        route: usize,
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
        let hop_at = |hop: usize| wlan.hops.get(hop);
        let queue = |station: usize, category: usize| {
            wlan.stations.get(station).and_then(|station| station.queues.get(category))
        };
        let possible = match self.change {
            Change::Rate { hop, rate } => hop_at(hop).is_some_and(|hop| {
                let bytes = hop.size_bytes.saturating_add(hop.overhead_bytes);
                let known = wlan.radio.phy.rates().any(|(index, _)| index == rate);
                hop.rate_control.is_none() && known && bytes <= wlan.radio.phy.max_mpdu_bytes(rate)
            }),
            Change::Limit { station, category, .. } => queue(station, category).is_some(),
            Change::HopLimit { hop, .. } => {
                hop_at(hop).and_then(|hop| queue(hop.from.index(), hop.queue)).is_some_and(
                    |queue| matches!(queue.discipline, Discipline::DeficitRoundRobin { .. }),
                )
            }
            Change::Route { flow, route } => {
                spec.flows.get(flow).is_some_and(|flow| route <= flow.others.len())
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
    pub fn change(&mut self, change: Change, queue: &mut EventQueue<Event>) {
        match change {
            Change::Rate { hop, rate } => {
                self.wlan.set_rate(hop as u32, rate);
                self.tell_routes();
            }
            Change::Limit { station, category, limit } => {
                self.set_limit(station, category, limit, queue);
            }
            Change::HopLimit { hop, limit } => {
                let apart = self.set_hop_limit(hop, limit, queue);
                assert!(apart, "the packets of the hop have no queue for themselves");
            }
            Change::Route { flow, route } => {
                let path = self.flows[flow];
                let hops = &mut self.wlan.upper.hops;
                hops.take_route(path, route);
                if let End::Receiver(_) = hops.paths[path as usize].end {
                    hops.take_route(path + 1, route);
                }
                self.tell_routes();
            }
        }
    }

    /// Changes the limit of a station's queue for an access category, now, by the rules of
    /// [`Wlan::set_limit`](crate::wlan::Wlan::set_limit).
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn set_limit(
        &mut self,
        station: usize,
        category: usize,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) {
        self.wlan.set_limit(station, category, limit, queue);
        self.pass_on(queue);
    }

    /// The same of what the packets of a hop over the air have for themselves: false where all wait in one queue
    /// ([`Wlan::set_hop_limit`](crate::wlan::Wlan::set_hop_limit)).
    ///
    /// # Panics
    ///
    /// If there is no such hop.
    pub fn set_hop_limit(
        &mut self,
        hop: usize,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let changed = self.wlan.set_hop_limit(hop as u32, limit, queue);
        self.pass_on(queue);
        changed
    }

    /// Tells connections how many hops over the air their segments take now, and how fast the slowest of them is.
    fn tell_routes(&mut self) {
        for number in 0..self.connections.len() {
            let data = self.paths[number][0];
            let hops = self.air_rates(data).count() as u32;
            if let Some(rate) = self.air_rates(data).min() {
                self.connections[number].set_path(hops, rate);
            }
        }
    }
}
