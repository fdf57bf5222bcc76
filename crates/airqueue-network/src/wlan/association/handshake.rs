//! How a station gets from one association to the next.

use super::frames::{ends, from_station};
use super::{AssociationCounters, Phase};
use crate::counters::Timings;
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::listeners::Away;
use crate::wlan::upper::UpperLayer;
use airqueue_core::Time;
use airqueue_wifi::mac::{Handshake, Msdu};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Schedules the first associations. To be called once, at time zero.
    pub(in crate::wlan) fn start_associations(&mut self, queue: &mut EventQueue<U::Event>) {
        for at in 0..self.associations.all.len() {
            self.set_association_timer(at, queue);
        }
    }

    fn set_association_timer(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let of = &mut self.associations.all[at];
        let next = of.deadline.min(of.next_roam());
        of.timer.set(Some(next), queue);
    }

    /// A station is to roam, or its present phase ends by itself.
    pub(in crate::wlan) fn on_association_timer(
        &mut self,
        at: u32,
        queue: &mut EventQueue<U::Event>,
    ) {
        let (at, now) = (at as usize, queue.now());
        let of = &mut self.associations.all[at];
        if of.deadline <= now {
            of.deadline = Time::MAX;
            match of.phase {
                Phase::Out => self.look_for_service(at, queue),
                Phase::Searching => self.end_search(at, queue),
                Phase::Shaking => {
                    of.counters.timeouts += 1;
                    self.look_for_service(at, queue);
                }
                Phase::Parting | Phase::Served => {}
            }
        }
        let of = &mut self.associations.all[at];
        if of.next_roam() <= now {
            let to = of.spec.roams[of.roamed].to;
            of.roamed += 1;
            self.roam(at, to, queue);
        }
        self.set_association_timer(at, queue);
    }

    fn roam(&mut self, at: usize, to: StationId, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.associations.all[at];
        if std::mem::replace(&mut of.access_point, to) == to || of.phase == Phase::Out {
            return;
        }
        if of.phase == Phase::Served {
            of.since = now;
        }
        if of.phase == Phase::Searching {
            return;
        }
        self.look_for_service(at, queue);
    }

    /// A station without service begins to look for its access point, after the exchange in which it is.
    fn look_for_service(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let of = &mut self.associations.all[at];
        let station = of.spec.station;
        if self.listeners.is_away(station) {
            (of.phase, of.deadline) = (Phase::Out, Time::MAX);
            return;
        }
        (of.phase, of.deadline) = (Phase::Parting, Time::MAX);
        self.listeners.split(station);
        self.follow_up(station, queue.now(), queue);
    }

    /// A station's own state has changed: it leaves the access point that it has lost, if it can.
    pub(in crate::wlan) fn part_if_due(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if !self.associations.late.is_empty() && self.give_up_late(station, queue.now()) {
            self.go_on_at(station, queue);
        }
        if let Some(at) = self.associations.of(station)
            && self.associations.all[at].phase == Phase::Parting
            && self.listeners.macs[station.index()].is_between_exchanges()
        {
            self.part(at, queue);
        }
    }

    fn part(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.associations.all[at];
        let (station, search) = (of.spec.station, of.spec.search);
        let access_points: Vec<StationId> = of.spec.access_points().collect();
        (of.phase, of.received, of.left) = (Phase::Searching, 0, now);
        of.deadline = now.saturating_add(search);
        for end in access_points {
            self.give_up_in_hand(station, end, now);
            self.associations.outboxes[end.index()].retain(|msdu| msdu.to != station);
        }
        self.associations.outboxes[station.index()].clear();
        if search.as_nanos() == 0 {
            return self.end_search(at, queue);
        }
        self.listeners.set_away(station, Away::Searching, true, now);
        self.listeners.macs[station.index()].leave_channel(now, &self.listeners.radio);
        self.listeners.settle(station, now);
        self.set_association_timer(at, queue);
    }

    /// A station is back from other channels, and authenticates.
    fn end_search(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        self.come_back_from_search(at, queue.now());
        let of = &mut self.associations.all[at];
        (of.phase, of.deadline) = (Phase::Shaking, Time::MAX);
        self.send_handshake(at, 0, queue.now());
        self.set_association_timer(at, queue);
    }

    fn come_back_from_search(&mut self, at: usize, now: Time) {
        let of = &mut self.associations.all[at];
        let station = of.spec.station;
        of.searched = of.searched_until(now);
        if of.spec.search.as_nanos() > 0 {
            self.listeners.split(station);
            self.listeners.set_away(station, Away::Searching, false, now);
            self.listeners.macs[station.index()].come_back(now);
            self.listeners.settle(station, now);
        }
    }

    /// A station that may associate has gone out of reach, or has come back: it then associates anew.
    pub(in crate::wlan) fn on_reach_changed(
        &mut self,
        station: StationId,
        away: bool,
        queue: &mut EventQueue<U::Event>,
    ) {
        let Some(at) = self.associations.of(station) else { return };
        let now = queue.now();
        let of = &self.associations.all[at];
        let begun = now >= Time::ZERO.saturating_add(of.spec.first);
        if !away {
            if begun && of.phase == Phase::Out {
                self.look_for_service(at, queue);
                self.set_association_timer(at, queue);
            }
            return;
        }
        match of.phase {
            Phase::Out => return,
            Phase::Searching => self.come_back_from_search(at, now),
            Phase::Parting | Phase::Shaking | Phase::Served => {}
        }
        let of = &mut self.associations.all[at];
        if of.phase == Phase::Served {
            of.since = now;
        }
        (of.phase, of.deadline) = (Phase::Out, Time::MAX);
        self.set_association_timer(at, queue);
    }

    /// The sender of a frame of a handshake gives the frame to its MAC.
    fn send_handshake(&mut self, at: usize, place: usize, now: Time) {
        let of = &self.associations.all[at];
        let Some(frame) = of.frames().nth(place) else { return };
        let (station, ap) = (of.spec.station, of.access_point);
        let all = AccessCategory::ALL.len();
        let qos = [station, ap].iter().all(|&end| self.queues_of(end) == all);
        let from = if from_station(frame) { station } else { ap };
        let msdu = self.associations.all[at].msdu(frame, qos, now);
        let mac = &self.listeners.macs[from.index()];
        if mac.is_empty(mac.management()) {
            self.give_management(from, msdu, now);
        } else {
            self.associations.outboxes[from.index()].push_back(msdu);
        }
    }

    /// The next frame of a handshake that a station has to send.
    pub(in crate::wlan) fn next_handshake(&mut self, station: StationId) -> Option<Msdu> {
        self.associations.outboxes.get_mut(station.index())?.pop_front()
    }

    /// A frame of a handshake has been received; a repeated one was received before.
    pub(in crate::wlan) fn on_handshake(
        &mut self,
        from: StationId,
        to: StationId,
        frame: Handshake,
        queue: &mut EventQueue<U::Event>,
    ) {
        let (station, ap) = ends(frame, from, to);
        let Some(at) = self.associations.of(station) else { return };
        let of = &mut self.associations.all[at];
        if frame == Handshake::Authentication && of.served_by == Some(ap) {
            // The access point forgets the association that was, even if the station is on its way to another one by now.
            of.served_by = None;
            self.close(ap, station, queue);
        }
        let of = &mut self.associations.all[at];
        let next = of.frames().nth(of.received);
        if of.phase != Phase::Shaking || of.access_point != ap || next != Some(frame) {
            return;
        }
        let place = of.received;
        of.received += 1;
        let answers = of.frames().nth(place + 1);
        let answers = answers.is_some_and(|next| from_station(next) == (to == station));
        if to == station {
            // The station waits from the end of its own answer on, or else for the next frame.
            let waits = queue.now().saturating_add(of.spec.timeout);
            of.deadline = if answers { Time::MAX } else { waits };
        }
        if answers {
            self.send_handshake(at, place + 1, queue.now());
            self.follow_up(to, queue.now(), queue);
        }
        self.set_association_timer(at, queue);
    }

    /// The MAC is done with a frame of a handshake.
    pub(in crate::wlan) fn on_handshake_finished(
        &mut self,
        (from, msdu): (StationId, &Msdu),
        frame: Handshake,
        acknowledged: bool,
        queue: &mut EventQueue<U::Event>,
    ) {
        let (station, ap) = ends(frame, from, msdu.to);
        let Some(at) = self.associations.of(station) else { return };
        let of = &mut self.associations.all[at];
        let Some(place) = of.place(frame) else { return };
        if of.phase != Phase::Shaking || of.access_point != ap {
            return;
        }
        if acknowledged && of.is_last(place) && of.received > place {
            return self.associate(at, queue);
        }
        if from == station {
            // From now on the station waits for the answer.
            if of.received <= place + 1 {
                of.deadline = queue.now().saturating_add(of.spec.timeout);
            }
        } else if acknowledged && of.received == place + 1 {
            // Behind the response the access point goes on with the keys.
            of.deadline = queue.now().saturating_add(of.spec.timeout);
            let next = of.frames().nth(place + 1);
            if next.is_some_and(|next| !from_station(next)) {
                self.send_handshake(at, place + 1, queue.now());
            }
        }
        self.set_association_timer(at, queue);
    }

    /// The last frame of a handshake has been acknowledged: packets go between the station and the access point.
    fn associate(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let of = &mut self.associations.all[at];
        let (station, ap) = (of.spec.station, of.access_point);
        let roamed = of.comes_from_another();
        of.counters.on_associated(of.since, roamed, now);
        of.gaps.add(now - of.since);
        (of.phase, of.deadline, of.last) = (Phase::Served, Time::MAX, Some(ap));
        let before = of.served_by.replace(ap);
        self.upper.on_associated(station, ap);
        self.set_association_timer(at, queue);
        if let Some(before) = before.filter(|&before| before != ap) {
            // The distribution system tells the access point of which the station has been.
            self.close(before, station, queue);
        }
        for interface in self.interfaces_of(station) {
            self.top_up(interface, now);
            self.feed(interface, now, queue);
        }
        for interface in self.interfaces_of(ap) {
            self.feed(interface, now, queue);
        }
    }

    /// The access point that serves a station at present; `None`: the station does not associate, or is without service.
    pub fn serving(&self, station: StationId) -> Option<StationId> {
        let of = &self.associations.all[self.associations.of(station)?];
        (of.phase == Phase::Served).then_some(of.access_point)
    }

    /// Whether packets may go from one station to another, as far as associations are concerned.
    pub fn is_open(&self, from: StationId, to: StationId) -> bool {
        self.associations.is_open(from, to)
    }

    /// Times without service of a station that have ended, from the loss of the access point, or the beginning, to the last
    /// acknowledgement; `None` if the station does not associate.
    pub fn association_gaps(&self, station: StationId) -> Option<&Timings> {
        self.associations.of(station).map(|at| &self.associations.all[at].gaps)
    }

    /// The counters of a station's associations up to `now`, if the station associates.
    pub fn association(&self, station: StationId, now: Time) -> Option<AssociationCounters> {
        let of = &self.associations.all[self.associations.of(station)?];
        let mut counters = of.counters;
        if of.phase != Phase::Served {
            counters.count(of.since, now);
        }
        Some(counters)
    }
}
