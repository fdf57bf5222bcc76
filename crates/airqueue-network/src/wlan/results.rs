//! The counters of stations and queues.

use super::engine::Wlan;
use super::power::{BeaconCounters, SleepCounters};
use super::record::StationCounters;
use super::signals::LinkCounters;
use super::upper::UpperLayer;
use crate::counters::{Occupancy, Timings};
use crate::histogram::Histogram;
use airqueue_core::{Packet, Span, Time};
use airqueue_wifi::mac::{CategoryCounters, FrameKind, Msdu};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// Counts of the MACs at the time when counting began.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    pub(super) since: Time,
    access: Vec<[CategoryCounters; 4]>,
    busy: Vec<Span>,
    /// Number of packets waiting in each queue, integrated over time.
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
    /// Restarts counting of stations and queues, at the beginning of an instant.
    pub fn start_counting(&mut self, now: Time) {
        for (at, interface) in self.interfaces.iter_mut().enumerate() {
            self.warm.packet_time[at] += interface.queue.start_counting(now).packet_time;
            interface.access_delays.clear();
        }
        for (counters, mac) in self.stations.iter_mut().zip(&self.listeners.macs) {
            let awaits = mac.awaits_response();
            *counters = if awaits { counters.of_last() } else { StationCounters::default() };
        }
        self.power.start_counting(now);
        self.absences.start_counting(now);
        self.associations.start_counting(now);
        self.interferers.start_counting(now);
        self.listeners.start_counting_links();
        self.warm.since = now;
        for (station, mac) in (0..).map(StationId).zip(&self.listeners.macs) {
            // An exchange counts with its outcome, which is ahead.
            self.warm.access[station.index()] =
                AccessCategory::ALL.map(|ac| mac.counters(ac).since(&mac.under_way(ac)));
            self.warm.busy[station.index()] = self.busy_ever(station, now);
        }
    }

    /// When counting of stations and queues began.
    pub fn counting_since(&self) -> Time {
        self.warm.since
    }

    /// The length of a station's queue over time, up to `now`.
    pub fn occupancy(&mut self, station: StationId, ac: AccessCategory, now: Time) -> Occupancy {
        let interface = self.interface_of(station, ac);
        self.interfaces[interface.index()].queue.occupancy_at(now)
    }

    /// Sojourn times of the packets dequeued from a station's queue.
    pub fn sojourns(&self, station: StationId, ac: AccessCategory) -> &Histogram {
        self.interfaces[self.interface_of(station, ac).index()].queue.sojourns()
    }

    /// Medium access delays of a queue's packets: from when the MAC took a packet to its acknowledgement, waits in the MAC for a
    /// receiver that sleeps included. Packets that were given up and packets to all stations are not counted.
    pub fn access_delays(&self, station: StationId, ac: AccessCategory) -> &Timings {
        &self.interfaces[self.interface_of(station, ac).index()].access_delays
    }

    /// Number of packets waiting in a station's queue, integrated over time from time zero to `now`, in
    /// packet-nanoseconds, regardless of when counting began.
    pub fn packet_time_ever(&mut self, station: StationId, ac: AccessCategory, now: Time) -> i128 {
        let at = self.interface_of(station, ac).index();
        self.warm.packet_time[at] + self.interfaces[at].queue.occupancy_at(now).packet_time
    }

    /// Packets and bytes (link layer included) waiting in a station's queue, ring included. The packet that the MAC is
    /// sending is excluded.
    pub fn waiting(&self, station: StationId, ac: AccessCategory) -> (u64, u64) {
        self.interfaces[self.interface_of(station, ac).index()].queue.tx_queue.waiting()
    }

    /// What the packets of a station's queue in the device are expected to take, in the order of the first hops' receivers;
    /// zero where the queue does not limit it.
    pub fn expected_airtimes(
        &self,
        station: StationId,
        ac: AccessCategory,
    ) -> impl Iterator<Item = Span> {
        let interface = &self.interfaces[self.interface_of(station, ac).index()];
        interface.queue.tx_queue.expected_airtimes()
    }

    /// The counters of a station: frames that have ended, and losses of exchanges that have an outcome.
    pub fn station(&self, station: StationId) -> StationCounters {
        let counters = self.stations[station.index()];
        let awaits = self.listeners.macs[station.index()].awaits_response();
        if awaits { counters.without_last() } else { counters }
    }

    /// The counters of a station up to `now`, with the airtime so far of a frame on the air.
    pub fn station_at(&self, station: StationId, now: Time) -> StationCounters {
        let mut counters = self.station(station);
        if let Some((kind, begins)) = self.listeners.sending(station) {
            counters.add_part(kind, now - begins.max(self.warm.since));
        }
        counters
    }

    /// The counters of a station's MAC for an access category; management frames are not counted. Attempts are
    /// those with an outcome, MPDUs those of frames that have ended.
    pub fn access(&self, station: StationId, ac: AccessCategory) -> CategoryCounters {
        let mac = &self.listeners.macs[station.index()];
        if mac.is_management(ac) {
            return CategoryCounters::default();
        }
        let known = mac.counters(ac).since(&mac.under_way(ac));
        known.since(&self.warm.access[station.index()][ac.index()])
    }

    /// How long, from time zero to `now`, a station has sensed frames or transmitted.
    pub fn busy_ever(&self, station: StationId, now: Time) -> Span {
        // The MAC of a station on another channel finds the medium busy.
        self.listeners.busy_ever(station, now)
            - self.absences.off_channel_ever(station, now)
            - self.associations.off_channel_ever(station, now)
    }

    /// How long, from the start of counting to `now`, a station has sensed frames or transmitted.
    pub fn busy(&self, station: StationId, now: Time) -> Span {
        self.busy_ever(station, now) - self.warm.busy[station.index()]
    }

    /// Packets that a MAC has in hand and that their receiver has not passed up.
    pub fn in_hand(&self) -> impl Iterator<Item = &Packet> {
        let in_hand = self
            .interfaces
            .iter()
            .flat_map(|of| self.listeners.macs[of.station.index()].in_hand(of.ac));
        let in_transit = in_hand.filter(|(sequence, msdu)| {
            !self.listeners.macs[msdu.to.index()].has_passed_up(msdu.recipient, *sequence)
        });
        let in_transit = in_transit.map(|(_, msdu)| &msdu.packet);
        let released = self.interfaces.iter().flat_map(|of| &of.released);
        in_transit.chain(released.map(|(packet, _)| packet)).chain(self.kept())
    }

    /// Packets that a MAC has in hand, each with its part of the airtime of exchanges up to `now`.
    pub fn airtimes_in_hand(&self, now: Time) -> impl Iterator<Item = (Packet, Span)> {
        let in_hand = move |station: StationId, ac| {
            self.listeners.macs[station.index()].airtimes_in_hand(ac, now)
        };
        self.interfaces.iter().flat_map(move |of| in_hand(of.station, of.ac))
    }

    /// Packets that wait at access points for stations to wake up, or follow a DTIM at present.
    fn kept(&self) -> impl Iterator<Item = &Packet> {
        let following = self.power.access_points().flat_map(|station| {
            let mac = &self.listeners.macs[station.index()];
            mac.in_hand(mac.management()).map(|(_, msdu)| msdu)
        });
        let data = |msdu: &&Msdu| msdu.content.kind() == FrameKind::Data;
        self.power.kept().chain(following.filter(data).map(|msdu| &msdu.packet))
    }

    /// The counters of each direction of a link whose signal changes and that packets take.
    pub fn links(&self) -> impl Iterator<Item = ((StationId, StationId), LinkCounters)> {
        self.listeners.links_counted()
    }

    /// The counters of a station's beacons, if the station sends beacons.
    pub fn beacons(&self, station: StationId) -> Option<BeaconCounters> {
        self.power.beacons(station)
    }

    /// From the TBTT to the beginning of each beacon of a station, if the station sends beacons.
    pub fn beacon_delays(&self, station: StationId) -> Option<&Timings> {
        self.power.beacon_delays(station)
    }

    /// How long packets to all stations had been kept when they followed a DTIM of a station, if the station sends beacons.
    pub fn group_kept_times(&self, station: StationId) -> Option<&Timings> {
        self.power.group_waits(station)
    }

    /// How long its access point had kept packets for a station when the access point let them go; `None` if nothing is ever
    /// kept for the station.
    pub fn kept_times(&self, station: StationId) -> Option<&Timings> {
        self.power.waits_for(station)
    }

    /// The counters of a station's sleep up to `now`, if the station sleeps at times.
    pub fn sleep(&self, station: StationId, now: Time) -> Option<SleepCounters> {
        self.power.sleep(station, now)
    }
}
