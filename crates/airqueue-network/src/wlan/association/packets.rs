//! What becomes of packets between a station and an access point that does not serve it.

use crate::HopId;
use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{Packet, Sent, Span, Time};
use airqueue_wifi::mac::TxStatus;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Whether the packets of a hop may be sent at present.
    #[inline]
    pub(in crate::wlan) fn is_hop_open(&self, hop: HopId) -> bool {
        let hop = &self.hops[hop.index()];
        let from = self.interfaces[hop.interface.index()].station;
        self.associations.is_open(from, hop.to)
    }

    /// Discards a packet, which its queue has handed out, for a station or an access point that is not associated.
    #[cold]
    pub(in crate::wlan) fn discard(&mut self, packet: Packet, now: Time) {
        let hop = &mut self.hops[HopId::of(&packet).index()];
        let interface = &mut self.interfaces[hop.interface.index()];
        let sent =
            Sent { packet, acknowledged: false, airtime: Span::ZERO, rate: None, feedback: None };
        interface.queue.tx_queue.on_sent(&sent, now);
        interface.backlog.remove(&mut hop.presence, 1);
        let (from, to) = (interface.station, hop.to);
        self.count_lost(from, to, 1);
        self.upper.on_discarded(packet);
    }

    fn count_lost(&mut self, from: StationId, to: StationId, packets: u64) {
        if let Some(at) = self.associations.of(to) {
            self.associations.all[at].counters.lost_down += packets;
        } else if let Some(at) = self.associations.of(from) {
            self.associations.all[at].counters.lost_up += packets;
        }
    }

    /// One of a station and an access point learns that the other no longer is at the other end: what its MAC has in
    /// hand is given up, and other packets take their place.
    pub(super) fn close(
        &mut self,
        from: StationId,
        to: StationId,
        queue: &mut EventQueue<U::Event>,
    ) {
        if !self.give_up_in_hand(from, to, queue.now()) {
            self.associations.late.push((from, to));
        }
        self.go_on_at(from, queue);
    }

    /// Gives up what a MAC has in hand for another station; false if an exchange that goes on has some of it.
    pub(super) fn give_up_in_hand(&mut self, from: StationId, to: StationId, now: Time) -> bool {
        let mut reports = std::mem::take(&mut self.associations.reports);
        let mut all = true;
        self.listeners.split(from);
        for ac in AccessCategory::first(self.queues_of(from)) {
            let mac = &mut self.listeners.macs[from.index()];
            all &= mac.discard(ac, to, &self.listeners.radio, &mut reports);
            let interface = self.interface_of(from, ac);
            for report in reports.drain(..) {
                let given_up = report.status == TxStatus::GivenUp;
                self.count_lost(from, to, given_up.into());
                self.account_finished(&report, interface, now);
            }
        }
        self.listeners.settle(from, now);
        self.associations.reports = reports;
        all
    }

    /// A station's own state has changed: what an exchange has kept in hand for a station that is no longer at the other
    /// end may be given up now.
    #[cold]
    pub(super) fn give_up_late(&mut self, from: StationId, now: Time) -> bool {
        let mut given_up = false;
        let mut place = 0;
        while let Some(&(late, to)) = self.associations.late.get(place) {
            let open = self.associations.is_open(from, to);
            if late == from && (open || self.give_up_in_hand(from, to, now)) {
                self.associations.late.swap_remove(place);
                given_up |= !open;
            } else {
                place += 1;
            }
        }
        given_up
    }
}
