//! What a network has counted.

use super::connection::TcpTally;
use super::engine::Network;
use super::spec::{Hop, QueueId};
use crate::counters::{Delivered, HopCounters, QueueCounters};
use airqueue_core::{DataRate, Time};

impl Network {
    /// What became of a flow's packets on their whole route, whichever of the flow's routes that was.
    pub fn flow(&self, flow: usize) -> HopCounters {
        self.path(self.flows[flow])
    }

    /// The same of the acknowledgements that come back, for a flow that TCP governs.
    pub fn acknowledgements(&self, flow: usize) -> Option<HopCounters> {
        self.connection_of(flow).map(|_| self.path(self.flows[flow] + 1))
    }

    /// What TCP did for a flow, if it governs it.
    pub fn tcp(&self, flow: usize) -> Option<TcpTally> {
        self.connection_of(flow).map(|at| self.connections[at].tally())
    }

    /// What has reached a flow's destination since time zero, whenever counting began.
    pub fn delivered_ever(&self, flow: usize) -> Delivered {
        let hops = &self.wlan.upper.hops;
        let routes = hops.routes(self.flows[flow]);
        routes.fold(Delivered::default(), |sum, route| sum.with(&hops.delivered_ever(route)))
    }

    /// Which of its routes a flow takes: 0 for the usual one, and from 1 on the others.
    pub fn route_of(&self, flow: usize) -> usize {
        self.wlan.upper.hops.route_of(self.flows[flow])
    }

    /// What happened in a queue up to `now`; nothing in that of a wire without one.
    pub fn queue(&mut self, queue: QueueId, now: Time) -> QueueCounters {
        let (hops, occupancy) = match queue {
            QueueId::Station(station, category) => {
                let at = self.wlan.queue_at(station, category);
                (&self.queue_hops.wlan[at], self.wlan.occupancy(station, category, now))
            }
            QueueId::Wire(wire) if !self.wires[wire].has_queue() => {
                return QueueCounters::default();
            }
            QueueId::Wire(wire) => (&self.queue_hops.wires[wire], self.wires[wire].occupancy(now)),
        };
        let mut counters = QueueCounters { occupancy, ..QueueCounters::default() };
        for &hop in hops {
            counters.add(&self.wlan.upper.hops.states[hop as usize].counters);
        }
        counters
    }

    /// Packets waiting in a queue, summed over time in nanoseconds from time zero to `now`, whenever counting began.
    pub fn packet_time_ever(&mut self, queue: QueueId, now: Time) -> i128 {
        match queue {
            QueueId::Station(station, at) => self.wlan.packet_time_ever(station, at, now),
            QueueId::Wire(wire) => self.wires[wire].packet_time_ever(now),
        }
    }

    /// Packets and bytes (link layer included) that wait in a queue.
    pub fn waiting(&self, queue: QueueId) -> (u64, u64) {
        match queue {
            QueueId::Station(station, queue) => self.wlan.waiting(station, queue),
            QueueId::Wire(wire) => self.wires[wire].waiting(),
        }
    }

    /// Packets of each flow that are on their way, without acknowledgements.
    pub fn under_way(&self) -> Vec<u64> {
        let packets = self.under_way_on_paths();
        self.flows.iter().map(|&path| packets[path as usize]).collect()
    }

    /// The acknowledgements that are on their way back, of each flow: none where TCP does not govern it.
    pub fn acknowledgements_under_way(&self) -> Vec<u64> {
        let packets = self.under_way_on_paths();
        let back = |(flow, &path): (usize, &u32)| {
            self.connection_of(flow).map_or(0, |_| packets[path as usize + 1])
        };
        self.flows.iter().enumerate().map(back).collect()
    }

    /// Packets that the MACs have in hand are looked at one by one, as are those inside of stations; the others are where
    /// their hop says.
    fn under_way_on_paths(&self) -> Vec<u64> {
        let hops = &self.wlan.upper.hops;
        let mut packets = vec![0; hops.paths.len()];
        for (hop, state) in hops.all.iter().zip(&hops.states) {
            if let Some(packets) = packets.get_mut(hop.path as usize) {
                *packets += state.waiting;
            }
        }
        for packet in self.wlan.in_hand().chain(self.inside_stations()) {
            packets[hops.of(packet).path as usize] += 1;
        }
        packets
    }

    fn connection_of(&self, flow: usize) -> Option<usize> {
        self.paths.binary_search_by_key(&self.flows[flow], |&[data, _]| data).ok()
    }

    /// The counters of a path: those of all its routes.
    fn path(&self, path: u32) -> HopCounters {
        let mut routes = self.wlan.upper.hops.routes(path).map(|route| self.route(route));
        let mut whole = routes.next().unwrap_or_default();
        routes.for_each(|route| whole.merge(&route));
        whole
    }

    /// The counters of a route: what its first hop was offered, what its last one delivered, and what happened on all.
    fn route(&self, route: &[u32]) -> HopCounters {
        let counters = |hop: u32| &self.wlan.upper.hops.states[hop as usize].counters;
        let (Some(&first), Some((&last, others))) = (route.first(), route.split_last()) else {
            return HopCounters::default();
        };
        let mut whole = HopCounters { offered: counters(first).offered, ..counters(last).clone() };
        others.iter().for_each(|&hop| whole.merge_within(counters(hop)));
        whole
    }

    /// The data rate of the hops over the air that a path's packets take now.
    pub(super) fn air_rates(&self, path: u32) -> impl Iterator<Item = DataRate> {
        let hops = &self.wlan.upper.hops;
        let over_air = |&hop: &u32| match hops.all[hop as usize].over {
            Hop::Air(at) => Some(self.wlan.data_rate(at)),
            Hop::Wire(_) => None,
        };
        hops.hops_of(path).iter().filter_map(over_air)
    }
}
