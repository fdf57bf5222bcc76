//! How packets get from the queues of an access point into its MAC while stations sleep.

use crate::event::EventQueue;
use crate::wlan::engine::Wlan;
use crate::wlan::interface::Interface;
use crate::wlan::upper::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{NeighbourId, Packet, Time};
use airqueue_wifi::mac::{Content, Joining, Msdu};

impl<U: UpperLayer> Wlan<U> {
    /// As [`Self::take`], where stations may sleep: packets that have waited for a station go first, and packets for
    /// stations that sleep are kept.
    #[inline(never)]
    pub(in crate::wlan) fn take_awake(
        &mut self,
        interface: InterfaceId,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) -> Option<Msdu> {
        if self.associations.is_unserved(self.interfaces[interface.index()].station) {
            return None;
        }
        if let Some(msdu) = self.take_released(interface, |_| true) {
            return Some(msdu);
        }
        let mut msdu = self.take_unkept(interface, now);
        self.top_up(interface, now);
        if msdu.is_none() {
            // Saturated sources have filled the queue once more, each with one packet.
            msdu = self.take_unkept(interface, now);
            self.top_up(interface, now);
        }
        if msdu.is_none() {
            let at = self.interfaces[interface.index()].queue.tx_queue.next_wakeup(now);
            self.wakeups[interface.index()].set(at, queue);
        }
        msdu
    }

    /// Dequeues up to the first packet that need not wait; the others are kept.
    fn take_unkept(&mut self, interface: InterfaceId, now: Time) -> Option<Msdu> {
        loop {
            let packet = self.interfaces[interface.index()].queue.take(now);
            self.report_drops(interface);
            if let Some(msdu) = self.keep_or_send(packet?, now) {
                return Some(msdu);
            }
        }
    }

    /// A packet has been dequeued: the MAC gets it, unless it has to wait.
    fn keep_or_send(&mut self, packet: Packet, now: Time) -> Option<Msdu> {
        self.upper.on_taken(&packet, now);
        let hop = HopId::of(&packet);
        if !self.is_hop_open(hop) {
            self.discard(packet, now);
            return None;
        }
        if self.power.holds(&self.hops[hop.index()]) {
            self.keep(packet, now);
            return None;
        }
        let chosen = self.chosen_rate(hop);
        Some(self.hops[hop.index()].msdu(packet, chosen))
    }

    /// The first packet among those that have waited for a station.
    fn take_released(
        &mut self,
        interface: InterfaceId,
        is_it: impl Fn(&Packet) -> bool,
    ) -> Option<Msdu> {
        let released = &mut self.interfaces[interface.index()].released;
        let place = released.iter().position(|(packet, _)| is_it(packet))?;
        let (packet, content) = released.remove(place)?;
        let chosen = self.chosen_rate(HopId::of(&packet));
        Some(Msdu { content, ..self.hops[HopId::of(&packet).index()].msdu(packet, chosen) })
    }

    /// The packet for a neighbour among those that have waited for a station, without taking the packet.
    fn peek_released(&self, interface: InterfaceId, neighbour: NeighbourId) -> Option<Packet> {
        let mut released = self.interfaces[interface.index()].released.iter();
        let found = released.find(|(packet, _)| packet.neighbour == neighbour);
        found.map(|&(packet, _)| packet)
    }

    /// Packets that have waited for a station join the exchange that is being prepared, as far as they fit; whether all of
    /// them did.
    pub(in crate::wlan) fn join_released(
        &mut self,
        interface: InterfaceId,
        first: &Msdu,
        joining: &mut Joining,
        now: Time,
    ) -> bool {
        let Interface { station, ac, control, .. } = self.interfaces[interface.index()];
        let neighbour = first.packet.neighbour;
        while let Some(packet) = self.peek_released(interface, neighbour) {
            let chosen = self.chosen_rate(HopId::of(&packet));
            let hop = &self.hops[HopId::of(&packet).index()];
            let Msdu { to, rate, mpdu_bytes, .. } = hop.msdu(packet, chosen);
            if hop.control != control || !joining.admit(to, rate, mpdu_bytes) {
                return false;
            }
            let released = self.take_released(interface, |packet| packet.neighbour == neighbour);
            let Some(msdu) = released else { break };
            self.listeners.macs[station.index()].join(ac, msdu, now);
        }
        true
    }

    /// Whether more packets may join a frame with this packet: not the answer to a PS-Poll, and not a frame to all
    /// stations.
    pub(in crate::wlan) fn may_be_joined(&self, first: &Msdu) -> bool {
        let hop = HopId::of(&first.packet);
        !self.power.holds(&self.hops[hop.index()]) && self.is_hop_open(hop)
    }

    /// As [`Self::take_turns`], where stations may sleep.
    #[inline(never)]
    pub(in crate::wlan) fn take_turns_awake(
        &mut self,
        interface: InterfaceId,
        now: Time,
    ) -> Option<Msdu> {
        let Interface { station, ac, .. } = self.interfaces[interface.index()];
        if self.associations.is_unserved(station) {
            self.listeners.macs[station.index()].takes_turns(ac, false);
            return None;
        }
        let mut neighbours = std::mem::take(&mut self.neighbours);
        neighbours.clear();
        neighbours.extend(self.listeners.macs[station.index()].neighbours_in_hand(ac));
        let is_other = |packet: &Packet| !neighbours.contains(&packet.neighbour);
        let released = self.interfaces[interface.index()].released.iter();
        let waits = released.map(|(packet, _)| packet).any(is_other);
        let other = if waits { None } else { self.other_unkept(interface, &neighbours, now) };
        let own = self.listeners.macs[station.index()].takes_turns(ac, waits || other.is_some());
        let msdu = match other {
            _ if own => None,
            None => self.take_released(interface, is_other),
            Some(neighbour) => {
                let packet =
                    self.interfaces[interface.index()].queue.take_for_neighbour(neighbour, now);
                self.report_drops(interface);
                packet.and_then(|packet| self.keep_or_send(packet, now))
            }
        };
        self.neighbours = neighbours;
        self.top_up(interface, now);
        msdu
    }

    /// A neighbour that packets in the queue are for, that is awake, and that has no packets in hand.
    fn other_unkept(
        &mut self,
        interface: InterfaceId,
        in_hand: &[NeighbourId],
        now: Time,
    ) -> Option<NeighbourId> {
        loop {
            let queue = &mut self.interfaces[interface.index()].queue;
            let other = queue.other_neighbour(in_hand, now);
            self.report_drops(interface);
            let queue = &mut self.interfaces[interface.index()].queue;
            let first = queue.peek_for_neighbour(other?, now);
            self.report_drops(interface);
            let Some(first) = first else { continue };
            let (hop, open) = (HopId::of(&first), self.is_hop_open(HopId::of(&first)));
            if open && !self.power.holds(&self.hops[hop.index()]) {
                return other;
            }
            let queue = &mut self.interfaces[interface.index()].queue;
            let taken = queue.take_for_neighbour(other?, now);
            self.report_drops(interface);
            if let Some(packet) = taken {
                self.upper.on_taken(&packet, now);
                match open {
                    true => self.keep(packet, now),
                    false => self.discard(packet, now),
                }
            }
        }
    }
}

/// A packet that has waited for a station, and what it becomes in the MAC.
pub(in crate::wlan) type Released = (Packet, Content);
