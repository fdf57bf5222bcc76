//! What a network has counted.

use super::engine::Wlan;
use super::record::{FlowTally, QueueTally, StationTally};
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::CategoryTally;

/// What the MACs had counted when counting began.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    since: Time,
    access: Vec<[CategoryTally; 4]>,
    busy: Vec<Span>,
}

impl Baseline {
    pub(super) fn new(stations: usize) -> Baseline {
        Baseline {
            since: Time::ZERO,
            access: vec![Default::default(); stations],
            busy: vec![Span::ZERO; stations],
        }
    }
}

impl Wlan {
    /// Forgets what has been counted so far.
    pub(super) fn start_counting(&mut self, now: Time) {
        for flow in &mut self.flows {
            flow.tally.clear();
        }
        for interface in &mut self.interfaces {
            interface.pass(now);
            interface.tally = QueueTally::default();
        }
        self.stations.fill(StationTally::default());
        self.warm.since = now;
        for (station, mac) in self.macs.iter().enumerate() {
            self.warm.access[station] = std::array::from_fn(|queue| mac.tally(queue));
            self.warm.busy[station] = mac.busy_time(now);
        }
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
        let interface = &mut self.interfaces[self.first_queue[station] + queue];
        interface.pass(now);
        interface.tally
    }

    /// Packets and bytes (link layer included) that wait in a station's queue, its ring included. The packet
    /// that the MAC is busy with is not among them.
    pub fn waiting(&self, station: usize, queue: usize) -> (u64, u64) {
        self.interfaces[self.first_queue[station] + queue].stages.waiting()
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
        self.macs[station].busy_time(now) - self.warm.busy[station]
    }

    /// Packets of each flow that are in a queue or in a MAC and have not reached their receiver.
    pub fn under_way(&self) -> Vec<u64> {
        let mut packets: Vec<u64> = self.flows.iter().map(|flow| flow.waiting).collect();
        for interface in &self.interfaces {
            let mac = &self.macs[interface.station];
            if let Some(msdu) = mac.held(interface.category)
                && !mac.is_received(interface.category)
            {
                packets[msdu.packet.flow as usize] += 1;
            }
        }
        packets
    }
}
