//! What stations and queues have counted.

use super::engine::Wlan;
use super::record::StationCounters;
use super::upper::UpperLayer;
use crate::counters::Occupancy;
use crate::event::EventQueue;
use airqueue_core::{Packet, Span, Time};
use airqueue_wifi::mac::CategoryCounters;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// What the MACs had counted when counting began.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    since: Time,
    access: Vec<[CategoryCounters; 4]>,
    busy: Vec<Span>,
    /// Packets that had waited in each queue, summed over time.
    packet_time: Vec<i128>,
}

impl Baseline {
    pub(super) fn new(stations: usize, interfaces: usize) -> Baseline {
        Baseline {
            since: Time::ZERO,
            access: vec![Default::default(); stations],
            busy: vec![Span::ZERO; stations],
            packet_time: vec![0; interfaces],
        }
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// Forgets what stations and queues have counted so far.
    pub fn start_counting(&mut self, queue: &mut EventQueue<U::Event>) {
        self.forget(queue.now());
        // Frames may have waited for the instant to end.
        self.conclude(queue);
    }

    fn forget(&mut self, now: Time) {
        for (at, interface) in self.interfaces.iter_mut().enumerate() {
            self.warm.packet_time[at] += interface.queue.start_counting(now).packet_time;
        }
        self.stations.fill(StationCounters::default());
        self.warm.since = now;
        for (station, mac) in (0..).map(StationId).zip(&self.listeners.macs) {
            self.warm.access[station.index()] = AccessCategory::ALL.map(|ac| mac.counters(ac));
            self.warm.busy[station.index()] = self.listeners.busy_ever(station, now);
        }
    }

    /// Since when stations and queues have been counting.
    pub fn counting_since(&self) -> Time {
        self.warm.since
    }

    /// How long a station's queue was, up to `now`.
    pub fn occupancy(&mut self, station: StationId, ac: AccessCategory, now: Time) -> Occupancy {
        let interface = self.interface_of(station, ac);
        self.interfaces[interface.index()].queue.occupancy_at(now)
    }

    /// Packets waiting in a station's queue, summed over time in nanoseconds from time zero to `now`,
    /// whenever counting began.
    pub fn packet_time_ever(&mut self, station: StationId, ac: AccessCategory, now: Time) -> i128 {
        let at = self.interface_of(station, ac).index();
        self.warm.packet_time[at] + self.interfaces[at].queue.occupancy_at(now).packet_time
    }

    /// Packets and bytes (link layer included) that wait in a station's queue, its ring included. The packet
    /// that the MAC is busy with is not among them.
    pub fn waiting(&self, station: StationId, ac: AccessCategory) -> (u64, u64) {
        self.interfaces[self.interface_of(station, ac).index()].queue.tx_queue.waiting()
    }

    /// What a station sent.
    pub fn station(&self, station: StationId) -> &StationCounters {
        &self.stations[station.index()]
    }

    /// What a station's MAC counted for an access category.
    pub fn access(&self, station: StationId, ac: AccessCategory) -> CategoryCounters {
        self.listeners.macs[station.index()]
            .counters(ac)
            .since(&self.warm.access[station.index()][ac.index()])
    }

    /// For how long, up to `now`, a station has sensed frames or transmitted since time zero.
    pub fn busy_ever(&self, station: StationId, now: Time) -> Span {
        self.listeners.busy_ever(station, now)
    }

    /// For how long, up to `now`, a station sensed frames or transmitted.
    pub fn busy(&self, station: StationId, now: Time) -> Span {
        self.listeners.busy_ever(station, now) - self.warm.busy[station.index()]
    }

    /// The packets that a MAC has in hand and that their receiver has not passed up.
    pub fn in_hand(&self) -> impl Iterator<Item = &Packet> {
        let in_hand = self
            .interfaces
            .iter()
            .flat_map(|of| self.listeners.macs[of.station.index()].in_hand(of.ac));
        let under_way = in_hand.filter(|(sequence, msdu)| {
            !self.listeners.macs[msdu.to.index()].has_passed_up(msdu.recipient, *sequence)
        });
        under_way.map(|(_, msdu)| &msdu.packet)
    }
}
