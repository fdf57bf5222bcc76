//! What changes in a network at given times.

use super::engine::{Event, Network};
use super::hops::End;
use super::spec::{NetworkError, NetworkSpec};
use crate::event::EventQueue;
use crate::{FlowId, HopId, RouteId};
use airqueue_core::{Limit, Time};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The rate of the data frames of a hop over the air. What the MAC has in hand keeps its own.
    Rate {
        /// The hop, whose rate no rate control looks for.
        hop: HopId,
        /// From now on.
        rate: RateIndex,
    },
    /// The limit of a station's queue; where it keeps flows or links apart, that of each of them.
    Limit {
        /// The station.
        station: StationId,
        /// Which of its queues.
        ac: AccessCategory,
        /// From now on. What waits stays.
        limit: Limit,
    },
    /// The limit of the queue that the packets of a hop over the air have for themselves, or share with those of the
    /// other hops of their link.
    HopLimit {
        /// The hop, whose station keeps flows or links apart.
        hop: HopId,
        /// From now on. What waits stays.
        limit: Limit,
    },
    /// The route of a flow, there and back. Packets that have set out go on as they began.
    Route {
        /// The flow.
        flow: FlowId,
        /// From now on.
        route: RouteId,
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
        let hop_at = |hop: HopId| wlan.hops.get(hop.index());
        let queue = |station: StationId, ac: AccessCategory| {
            let station = wlan.stations.get(station.index());
            station.and_then(|station| station.queues.get(ac.index()))
        };
        let possible = match self.change {
            Change::Rate { hop, rate } => hop_at(hop).is_some_and(|hop| {
                let bytes = hop.size_bytes.saturating_add(hop.overhead_bytes);
                let known = wlan.radio.phy.rates().any(|(index, _)| index == rate);
                hop.rate_control.is_none() && known && bytes <= wlan.radio.phy.max_mpdu_bytes(rate)
            }),
            Change::Limit { station, ac, .. } => queue(station, ac).is_some(),
            Change::HopLimit { hop, .. } => hop_at(hop)
                .and_then(|hop| queue(hop.from, hop.ac))
                .is_some_and(|queue| queue.discipline.facts().apart.is_some()),
            Change::Route { flow, route } => {
                spec.flows.get(flow.index()).is_some_and(|flow| route.index() <= flow.others.len())
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
                self.wlan.set_rate(hop, rate);
                self.tell_routes();
            }
            Change::Limit { station, ac, limit } => {
                self.set_limit(station, ac, limit, queue);
            }
            Change::HopLimit { hop, limit } => {
                let apart = self.set_hop_limit(hop, limit, queue);
                assert!(apart, "the packets of the hop have no queue for themselves");
            }
            Change::Route { flow, route } => {
                let path = self.flows[flow.index()];
                let hops = &mut self.wlan.upper.hops;
                hops.take_route(path, route);
                if let End::Receiver(_) = hops.paths[path.index()].end {
                    hops.take_route(path.back(), route);
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
        station: StationId,
        ac: AccessCategory,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) {
        self.wlan.set_limit(station, ac, limit, queue);
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
        hop: HopId,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let changed = self.wlan.set_hop_limit(hop, limit, queue);
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
