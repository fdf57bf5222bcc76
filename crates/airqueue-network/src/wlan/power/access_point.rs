//! What an access point does for stations that sleep.

use super::service::Service;
use super::{Kept, Receivers, Sleeper};
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::upper::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{Packet, Sent, Span, Time};
use airqueue_wifi::mac::Content;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Number of queues of a station.
    pub(in crate::wlan) fn queues_of(&self, station: StationId) -> usize {
        (self.first[station.index() + 1].0 - self.first[station.index()].0) as usize
    }

    /// A packet that was kept, and that the device counts, may go, and becomes this in the MAC.
    pub(super) fn let_go(&mut self, interface: InterfaceId, packet: Packet, content: Content) {
        self.interfaces[interface.index()].released.push_back((packet, content));
    }

    /// A packet that was kept has left the station, without an exchange of its queue's own category.
    pub(super) fn end_in_queue(
        &mut self,
        interface: InterfaceId,
        packet: &Packet,
        acknowledged: bool,
        now: Time,
    ) {
        let sent =
            Sent { packet: *packet, acknowledged, airtime: Span::ZERO, rate: None, feedback: None };
        let presence = &mut self.hops[HopId::of(packet).index()].presence;
        let interface = &mut self.interfaces[interface.index()];
        interface.queue.tx_queue.on_taken_up(packet);
        interface.queue.tx_queue.on_sent(&sent, now);
        interface.backlog.remove(presence, 1);
    }

    /// The access point has heard that a station sleeps.
    pub(super) fn on_doze(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        if std::mem::replace(&mut sleeper.dozing, true) {
            return;
        }
        self.power.cells[sleeper.cell as usize].dozing += 1;
        let ap = sleeper.spec.access_point;
        self.set_asleep(at, true);
        for ac in AccessCategory::first(self.queues_of(ap)) {
            self.take_back(at, self.interface_of(ap, ac), ac, queue.now());
        }
        self.park_for(at);
        self.go_on_at(ap, queue);
    }

    /// Packets that had been let go, and that the MAC has not taken yet, wait again.
    fn take_back(&mut self, at: usize, interface: InterfaceId, ac: AccessCategory, now: Time) {
        let (hops, interface) = (&self.hops, &mut self.interfaces[interface.index()]);
        let is_for = |packet: &Packet| {
            hops[HopId::of(packet).index()].receivers == Receivers::Sleeper(at as u32)
        };
        let buffer = &mut self.power.sleepers[at].buffers[ac.index()];
        let place = |(packet, _): &(Packet, Content)| is_for(packet);
        while let Some(last) = interface.released.iter().rposition(place) {
            let Some((packet, _)) = interface.released.remove(last) else { break };
            interface.queue.tx_queue.on_put_aside(&packet);
            buffer.push_front(Kept { packet, since: now, arrived: false });
        }
    }

    /// The queues of a station with nothing in hand look for packets again.
    pub(in crate::wlan) fn go_on_at(
        &mut self,
        station: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        let now = queue.now();
        for ac in AccessCategory::first(self.queues_of(station)) {
            self.feed(self.interface_of(station, ac), now, queue);
        }
        self.listeners.split(station);
        self.follow_up(station, now, queue);
    }

    /// The access point has heard that a station is awake: everything that waits may go.
    pub(super) fn on_awake(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        if !std::mem::replace(&mut sleeper.dozing, false) {
            return;
        }
        self.power.cells[sleeper.cell as usize].dozing -= 1;
        sleeper.service =
            Service { left: 0, sends: false, resumes: false, owes_end: false, ..sleeper.service };
        let (ap, station) = (sleeper.spec.access_point, sleeper.spec.station);
        self.set_late(at, false);
        self.set_asleep(at, false);
        for ac in AccessCategory::first(self.queues_of(ap)) {
            self.empty_buffer(at, ac, queue.now());
            self.listeners.split(ap);
            let mac = &mut self.listeners.macs[ap.index()];
            mac.unpark(ac, station, queue.now(), &self.listeners.radio);
        }
        self.go_on_at(ap, queue);
    }

    /// All that a buffer holds may go: what a queue has had goes to the MAC, and all else into the queue, behind what the
    /// queue has held back (`ieee80211_add_pending_skbs`).
    fn empty_buffer(&mut self, at: usize, ac: AccessCategory, now: Time) {
        let interface = self.interface_of(self.power.sleepers[at].spec.access_point, ac);
        while let Some(kept) = self.power.sleepers[at].buffers[ac.index()].pop_front() {
            self.power.sleepers[at].waits.add(now - kept.since);
            if kept.arrived {
                self.enter_queue(interface, kept.packet, now);
            } else {
                self.interfaces[interface.index()].queue.tx_queue.on_taken_up(&kept.packet);
                self.let_go(interface, kept.packet, Content::Data);
            }
        }
    }

    /// The access point has received a PS-Poll: the first packet of the highest category that has one may go. A poll is
    /// ignored while an earlier one is being answered.
    pub(super) fn on_poll(&mut self, at: usize, queue: &mut EventQueue<U::Event>) {
        let sleeper = &mut self.power.sleepers[at];
        sleeper.counters.polls += 1;
        let ap = sleeper.spec.access_point;
        if sleeper.answering {
            return;
        }
        let announced = |of: &Sleeper<_>, ac| of.is_announced(ac);
        let Some((ac, packet)) = self.take_kept(at, queue.now(), announced) else { return };
        self.power.sleepers[at].answering = true;
        let more = self.has_kept(at, announced);
        let content = if more { Content::MoreData } else { Content::Data };
        let interface = self.interface_of(ap, ac);
        self.let_go(interface, packet, content);
        self.go_on_at(ap, queue);
    }

    /// The MAC is done with a packet to a station that sleeps at times.
    #[inline(never)]
    pub(in crate::wlan) fn on_finished_for_sleeper(&mut self, hop: HopId, now: Time) {
        let hop = &self.hops[hop.index()];
        if let Receivers::Sleeper(at) = hop.receivers {
            let (at, interface) = (at as usize, hop.interface);
            if self.power.sleepers[at].enables(self.interfaces[interface.index()].ac) {
                self.on_finished_of_service(at, interface, now);
            } else {
                self.power.sleepers[at].answering = false;
            }
        }
    }
}
