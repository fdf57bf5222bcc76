//! What a network has counted.

use super::engine::Wlan;
use super::histogram::Histogram;
use super::record::{FlowTally, QueueTally, StationTally};
use airqueue_core::{Span, Time};
use airqueue_qdisc::Tally;
use airqueue_wifi::mac::CategoryTally;

/// What the MACs had counted when counting began.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    since: Time,
    access: Vec<[CategoryTally; 4]>,
    busy: Vec<Span>,
    /// What flows and interfaces had counted, to be added to what they count since.
    delivered: Vec<Delivered>,
    packet_time: Vec<i128>,
}

/// What has reached a flow's destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets, each once.
    pub tally: Tally,
    /// Their delays from the source, summed in nanoseconds.
    pub delay_ns: i128,
}

impl Delivered {
    /// With what has been delivered since.
    pub(crate) fn plus(&self, since: &FlowTally) -> Delivered {
        self.with(&Delivered { tally: since.delivered, delay_ns: since.delay.sum_ns })
    }

    /// With what has been delivered elsewhere.
    pub(crate) fn with(&self, other: &Delivered) -> Delivered {
        let mut sum = *self;
        sum.tally.merge(&other.tally);
        sum.delay_ns += other.delay_ns;
        sum
    }
}

impl Baseline {
    pub(super) fn new(stations: usize, interfaces: usize, flows: usize) -> Baseline {
        Baseline {
            since: Time::ZERO,
            access: vec![Default::default(); stations],
            busy: vec![Span::ZERO; stations],
            delivered: vec![Delivered::default(); flows],
            packet_time: vec![0; interfaces],
        }
    }
}

impl Wlan {
    /// Forgets what has been counted so far.
    pub(super) fn start_counting(&mut self, now: Time) {
        for flow in 0..self.flows.len() {
            self.warm.delivered[flow] = self.delivered_ever(flow);
            self.flows[flow].tally.clear();
        }
        for (at, interface) in self.interfaces.iter_mut().enumerate() {
            self.warm.packet_time[at] += interface.queue.start_counting(now).packet_time;
        }
        self.stations.fill(StationTally::default());
        self.warm.since = now;
        for (station, mac) in self.macs.iter().enumerate() {
            self.warm.access[station] = std::array::from_fn(|queue| mac.tally(queue));
            self.warm.busy[station] = self.busy_ever(station, now);
        }
    }

    /// The delays of a flow's packets are of no interest, because they have further to go: there are no quantiles of
    /// them. Books of many hops would fill the caches.
    pub(crate) fn leave_delays_of(&mut self, flow: usize) {
        self.flows[flow].tally.delays = Histogram::without_buckets();
    }

    /// Since when it has been counting.
    pub fn counting_since(&self) -> Time {
        self.warm.since
    }

    /// What became of a flow's packets.
    pub fn flow(&self, flow: usize) -> &FlowTally {
        &self.flows[flow].tally
    }

    /// What happened in a station's queue up to `now`.
    pub fn queue(&mut self, station: usize, queue: usize, now: Time) -> QueueTally {
        self.interfaces[self.first_queue[station] + queue].queue.tally_at(now)
    }

    /// What has reached a flow's destination since time zero, whenever counting began.
    pub fn delivered_ever(&self, flow: usize) -> Delivered {
        self.warm.delivered[flow].plus(&self.flows[flow].tally)
    }

    /// Packets waiting in a station's queue, summed over time in nanoseconds from time zero to `now`,
    /// whenever counting began.
    pub fn packet_time_ever(&mut self, station: usize, queue: usize, now: Time) -> i128 {
        let at = self.first_queue[station] + queue;
        self.warm.packet_time[at] + self.interfaces[at].queue.tally_at(now).packet_time
    }

    /// Packets and bytes (link layer included) that wait in a station's queue, its ring included. The packet
    /// that the MAC is busy with is not among them.
    pub fn waiting(&self, station: usize, queue: usize) -> (u64, u64) {
        self.interfaces[self.first_queue[station] + queue].queue.stages.waiting()
    }

    /// What a station sent.
    pub fn station(&self, station: usize) -> &StationTally {
        &self.stations[station]
    }

    /// What a station's MAC counted for one of its queues.
    pub fn access(&self, station: usize, queue: usize) -> CategoryTally {
        self.macs[station].tally(queue).since(&self.warm.access[station][queue])
    }

    /// For how long, up to `now`, a station sensed frames or transmitted.
    pub fn busy(&self, station: usize, now: Time) -> Span {
        self.busy_ever(station, now) - self.warm.busy[station]
    }

    /// Packets of each flow that are in a queue or in a MAC and have not reached their receiver.
    pub fn under_way(&self) -> Vec<u64> {
        let mut packets: Vec<u64> = self.flows.iter().map(|flow| flow.waiting).collect();
        for interface in &self.interfaces {
            for packet in self.macs[interface.station].under_way(interface.category) {
                packets[packet.flow as usize] += 1;
            }
        }
        packets
    }
}
