//! What a network has counted.

use super::connection::TcpTally;
use super::engine::Network;
use super::spec::{Hop, QueueId};
use crate::wlan::{Delivered, FlowTally, QueueTally};
use airqueue_core::Time;
use std::ops::Range;

impl Network {
    /// What became of a flow's packets on all of their way.
    pub fn flow(&self, flow: usize) -> FlowTally {
        self.leg(self.flows[flow])
    }

    /// The same of the acknowledgements that come back, for a flow that TCP governs.
    pub fn acknowledgements(&self, flow: usize) -> Option<FlowTally> {
        self.connection_of(flow).map(|_| self.leg(self.flows[flow] + 1))
    }

    /// What TCP did for a flow, if it governs it.
    pub fn tcp(&self, flow: usize) -> Option<TcpTally> {
        self.connection_of(flow).map(|at| self.connections[at].tally())
    }

    /// What has reached a flow's destination since time zero, whenever counting began.
    pub fn delivered_ever(&self, flow: usize) -> Delivered {
        let ways = self.legs.ways(self.flows[flow]);
        ways.fold(Delivered::default(), |sum, steps| sum.with(&self.step_ever(steps.end - 1)))
    }

    /// What has come through a step since time zero.
    fn step_ever(&self, step: u32) -> Delivered {
        match self.legs.steps[step as usize].hop {
            Hop::Radio(radio) => self.wlan().delivered_ever(radio),
            Hop::Wire(_) => self.legs.books(step).delivered_ever(),
        }
    }

    /// Which of its ways a flow takes: 0 for the usual one, and from 1 on the others.
    pub fn way_of(&self, flow: usize) -> usize {
        self.legs.way_of(self.flows[flow])
    }

    /// What happened in a queue up to `now`.
    pub fn queue(&mut self, queue: QueueId, now: Time) -> QueueTally {
        match queue {
            QueueId::Station(station, queue) => self.wlan_mut().queue(station, queue, now),
            QueueId::Wire(wire) => self.wires[wire].queue_tally(now),
        }
    }

    /// Packets waiting in a queue, summed over time in nanoseconds from time zero to `now`, whenever counting began.
    pub fn packet_time_ever(&mut self, queue: QueueId, now: Time) -> i128 {
        match queue {
            QueueId::Station(station, at) => self.wlan_mut().packet_time_ever(station, at, now),
            QueueId::Wire(wire) => self.wires[wire].packet_time_ever(now),
        }
    }

    /// Packets and bytes (link layer included) that wait in a queue.
    pub fn waiting(&self, queue: QueueId) -> (u64, u64) {
        match queue {
            QueueId::Station(station, queue) => self.wlan().waiting(station, queue),
            QueueId::Wire(wire) => self.wires[wire].waiting(),
        }
    }

    /// Packets of each flow that are on their way, without acknowledgements.
    pub fn under_way(&self) -> Vec<u64> {
        let packets = self.under_way_of_legs();
        self.flows.iter().map(|&leg| packets[leg as usize]).collect()
    }

    /// The acknowledgements that are on their way back, of each flow: none where TCP does not govern it.
    pub fn acknowledgements_under_way(&self) -> Vec<u64> {
        let packets = self.under_way_of_legs();
        let back = |(flow, &leg): (usize, &u32)| {
            self.connection_of(flow).map_or(0, |_| packets[leg as usize + 1])
        };
        self.flows.iter().enumerate().map(back).collect()
    }

    fn under_way_of_legs(&self) -> Vec<u64> {
        let on_air = self.wlan().under_way();
        let mut packets = vec![0; self.legs.steps.len()];
        for (at, step) in self.legs.steps.iter().enumerate() {
            packets[at] = match step.hop {
                Hop::Radio(radio) => on_air[radio],
                Hop::Wire(_) => self.legs.books(at as u32).under_way,
            };
        }
        for packet in self.inside_stations() {
            packets[packet.flow as usize] += 1;
        }
        let of = |leg: usize| {
            let steps = self.legs.ways(leg as u32).flatten();
            steps.map(|step| packets[step as usize]).sum()
        };
        (0..self.legs.all.len()).map(of).collect()
    }

    fn connection_of(&self, flow: usize) -> Option<usize> {
        self.ways.binary_search_by_key(&self.flows[flow], |&[data, _]| data).ok()
    }

    /// The books of a leg: those of all its ways.
    fn leg(&self, leg: u32) -> FlowTally {
        let mut ways = self.legs.ways(leg).map(|steps| self.way(steps));
        let mut whole = ways.next().unwrap_or_default();
        ways.for_each(|way| whole.merge(&way));
        whole
    }

    /// The books of a way: what its first step was offered, what its last one delivered, and what all lost.
    fn way(&self, steps: Range<u32>) -> FlowTally {
        let mut whole = self.step(steps.end - 1).clone();
        if steps.len() == 1 {
            return whole;
        }
        whole.offered = self.step(steps.start).offered;
        for step in steps.start..steps.end - 1 {
            let step = self.step(step);
            whole.dropped.merge(&step.dropped);
            whole.given_up.merge(&step.given_up);
            whole.rates.merge(&step.rates);
        }
        whole
    }

    fn step(&self, step: u32) -> &FlowTally {
        match self.legs.steps[step as usize].hop {
            Hop::Radio(radio) => self.wlan().flow(radio),
            Hop::Wire(_) => &self.legs.books(step).tally,
        }
    }
}
