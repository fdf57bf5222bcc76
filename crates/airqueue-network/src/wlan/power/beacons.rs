//! Beacons: when they are due, what they say, and what follows them.

use super::Cell;
use crate::HopId;
use crate::event::EventQueue;
use crate::wlan::engine::{Event, INPUT, Wlan};
use crate::wlan::tap::TracedBeacon;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{FlowKey, Packet, Time};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Content, Msdu, TxReport, TxStatus};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::iter::once;

impl<U: UpperLayer> Wlan<U> {
    /// Schedules the first beacons, absences and bursts of interferers. To be called once, at time zero.
    pub fn start(&mut self, queue: &mut EventQueue<U::Event>) {
        self.start_interferers(queue);
        for (at, cell) in (0..).zip(&self.power.cells) {
            queue.schedule(cell.next, INPUT, Event::Beacon(at).into());
        }
        for at in 0..self.power.sleepers.len() {
            let station = self.power.sleepers[at].spec.station;
            self.listeners.let_sleep(queue.now());
            self.set_asleep(at, self.power.sleepers[at].dozing);
            self.set_sleeper_timer(at, queue);
            self.reconsider(station, queue.now());
        }
        self.start_absences(queue);
        self.start_associations(queue);
    }

    /// A beacon is due.
    pub(in crate::wlan) fn on_beacon_due(&mut self, at: u32, queue: &mut EventQueue<U::Event>) {
        let (at, now) = (at as usize, queue.now());
        let cell = &mut self.power.cells[at];
        cell.number += 1;
        cell.next += cell.spec.interval;
        queue.schedule(cell.next, INPUT, Event::Beacon(at as u32).into());
        let dtim = cell.dtim_count() == 0;
        self.clean_up(at, now);
        for place in 0..self.power.cells[at].members.len() {
            let member = self.power.cells[at].members[place] as usize;
            self.listen(member, dtim, queue);
        }
        let cell = &mut self.power.cells[at];
        if cell.due.is_some() || self.absences.is_off_channel(cell.spec.station) {
            cell.counters.skipped += 1;
            return;
        }
        cell.due = Some(now);
        let station = cell.spec.station;
        let ac = self.listeners.macs[station.index()].management();
        if self.listeners.macs[station.index()].is_empty(ac) {
            let beacon = self.power.cells[at].beacon(now);
            self.give_management(station, beacon, now);
        }
    }

    /// Gives a MAC a management frame; the MAC has none.
    pub(in crate::wlan) fn give_management(&mut self, station: StationId, msdu: Msdu, now: Time) {
        self.listeners.split(station);
        let mac = &mut self.listeners.macs[station.index()];
        let ac = mac.management();
        mac.on_packet(ac, msdu, now, &self.listeners.radio);
        self.listeners.settle(station, now);
    }

    /// A station whose category of management frames has won the medium is about to send.
    pub(in crate::wlan) fn fill_management(&mut self, station: StationId, ac: AccessCategory) {
        let held = self.listeners.macs[station.index()].held(ac).map(|msdu| msdu.content);
        if held == Some(Content::Beacon)
            && let Some(at) = self.power.cell_of(station)
        {
            self.fill_beacon(at);
        }
    }

    fn fill_beacon(&mut self, at: usize) {
        let mut traffic = std::mem::take(&mut self.power.cells[at].traffic);
        traffic.clear();
        let members = self.power.cells[at].members.iter();
        traffic.extend(members.filter(|&&member| self.has_traffic(member as usize)));
        let cell = &mut self.power.cells[at];
        cell.dtim = cell.dtim_count() == 0;
        // What did not fit before a beacon is announced by that one too, and follows it, until none is left (IEEE
        // 802.11-2020, 11.2.3).
        cell.delivers_group = (cell.dtim || cell.delivers_group) && !cell.group.is_empty();
        cell.group_follows = cell.delivers_group;
        cell.traffic = traffic;
    }

    /// Whether packets that the TIM tells of wait for a sleeping station at its access point, kept or put aside
    /// (`__sta_info_recalc_tim`).
    fn has_traffic(&self, sleeper: usize) -> bool {
        let of = &self.power.sleepers[sleeper];
        let mac = &self.listeners.macs[of.spec.access_point.index()];
        let parked = |ac| of.is_announced(ac) && mac.parked(ac, of.spec.station) > 0;
        let queues = self.queues_of(of.spec.access_point);
        of.dozing
            && (self.has_kept(sleeper, |of, ac| of.is_announced(ac))
                || AccessCategory::first(queues).any(parked))
    }

    /// The category of management frames goes on.
    pub(in crate::wlan) fn go_on_management(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        queue: &mut EventQueue<U::Event>,
    ) {
        let now = queue.now();
        while let Some(finished) = self.listeners.macs[station.index()].poll_finished(ac) {
            self.on_management_finished(station, &finished, queue);
        }
        let next = if self.listeners.macs[station.index()].is_empty(ac) {
            let of_cell = self.power.cell_of(station).and_then(|at| self.next_of_cell(at, now));
            of_cell.or_else(|| self.next_handshake(station))
        } else {
            None
        };
        self.listeners.macs[station.index()].on_next(ac, next, now, &self.listeners.radio);
    }

    fn on_management_finished(
        &mut self,
        station: StationId,
        finished: &TxReport,
        queue: &mut EventQueue<U::Event>,
    ) {
        let acknowledged = finished.status == TxStatus::Acknowledged;
        match (finished.msdu.content, self.power.cell_of(station)) {
            (Content::Beacon, Some(at)) => {
                self.power.cells[at].due = None;
            }
            (Content::NoService(_), _) => self.on_end_of_service_finished(finished.msdu.to),
            (Content::Data | Content::MoreData, _) => {
                self.account_finished_of_group(finished, queue.now());
            }
            (Content::Handshake(frame), _) => {
                let sent = (station, &finished.msdu);
                self.on_handshake_finished(sent, frame, acknowledged, queue);
            }
            (content, _) => self.on_request_finished(station, content, acknowledged, queue),
        }
    }

    fn account_finished_of_group(&mut self, finished: &TxReport, now: Time) {
        let msdu = &finished.msdu;
        let hop = HopId::of(&msdu.packet);
        let interface = self.hops[hop.index()].interface;
        let rate = self.listeners.radio.phy.rate(msdu.rate);
        self.end_in_queue(interface, &msdu.packet, true, now);
        self.upper.on_finished(hop, (1, once(&msdu.packet)), rate, finished.airtime);
    }

    /// The beacon that is due, the next packet to all stations behind a DTIM, or the end of a service period.
    pub(super) fn next_of_cell(&mut self, at: usize, now: Time) -> Option<Msdu> {
        let cell = &mut self.power.cells[at];
        if cell.due.is_some() {
            return Some(cell.beacon(now));
        }
        let kept = if cell.delivers_group { cell.group.pop_front() } else { None };
        // A packet that comes behind a frame without More Data waits for the next DTIM: stations may sleep again.
        cell.delivers_group &= !cell.group.is_empty();
        let Some(kept) = kept else {
            return self.next_end_of_service(at, now);
        };
        cell.group_waits.add(now - kept.since);
        let content = if cell.delivers_group { Content::MoreData } else { Content::Data };
        let packet = self.enter(kept, now);
        Some(Msdu { content, ..self.hops[HopId::of(&packet).index()].msdu(packet, None) })
    }

    /// What the last beacon of a station said, for a tap.
    pub(in crate::wlan) fn traced_beacon(&self, station: StationId) -> Option<TracedBeacon> {
        let cell = &self.power.cells[self.power.cell_of(station)?];
        let station_of = |&member: &u32| self.power.sleepers[member as usize].spec.station;
        Some(TracedBeacon {
            interval: cell.spec.interval,
            dtim_count: cell.dtim_count(),
            dtim_period: cell.spec.dtim_period,
            group_follows: cell.group_follows,
            traffic: cell.traffic.iter().map(station_of).collect(),
        })
    }
}

impl Cell {
    fn beacon(&self, now: Time) -> Msdu {
        let &super::BeaconSpec { station, rate, bytes, .. } = &self.spec;
        management(Content::Beacon, station, rate, bytes, now)
    }
}

/// A management frame as the MAC takes packets.
pub(super) fn management(
    content: Content,
    to: StationId,
    rate: RateIndex,
    mpdu_bytes: u32,
    now: Time,
) -> Msdu {
    let packet = Packet::new(0, FlowKey(u32::MAX), 0, now);
    Msdu { packet, content, to, recipient: 0, rate, mpdu_bytes }
}
