//! Transfer of packets into the queues, and from the queues into the MACs.

use super::engine::Wlan;
use super::interface::Interface;
use super::spec::RttReport;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use crate::{HopId, InterfaceId};
use airqueue_core::{NeighbourId, Packet, Span, Time};
use airqueue_wifi::mac::{Joining, Msdu};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Offers a packet to the queue of its hop, now.
    ///
    /// # Panics
    ///
    /// If there is no hop with the number in [`Packet::flow`].
    #[inline]
    pub fn offer(&mut self, packet: Packet, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let interface = self.hops[HopId::of(&packet).index()].interface;
        self.enqueue(packet, 0, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }

    /// Lets saturated sources fill a queue that had no saturated source so far, or no room for their packets.
    pub fn fill(&mut self, interface: InterfaceId, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        self.top_up(interface, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }

    /// From now on the receiver of a hop reports this round-trip time (RDQM).
    pub fn report_rtt(&mut self, hop: HopId, rtt: Span) {
        self.reports = true;
        self.hops[hop.index()].report = Some(RttReport { base: rtt, smoothed: false });
    }

    /// A packet comes to its queue, or to a buffer for stations that sleep. `handed`: packets on their way from the queue to the
    /// MAC.
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, handed: u32, now: Time) {
        if self.power.is_used() && self.waits_before_queue(&packet) {
            return self.keep_arrival(packet, now);
        }
        let interface = self.hops[HopId::of(&packet).index()].interface;
        self.feeder(interface).offer(packet, handed, now);
    }

    /// A packet that counts in its interface's backlog enters the queue.
    pub(super) fn enter_queue(&mut self, interface: InterfaceId, packet: Packet, now: Time) {
        self.feeder(interface).enter(packet, now);
    }

    /// Reports the drops of a queue to the upper layer. True if there were any.
    #[inline(always)]
    pub(super) fn report_drops(&mut self, interface: InterfaceId) -> bool {
        self.feeder(interface).report_drops()
    }

    /// Dequeues the next packet. Saturated sources refill the queue; a queue that holds its packets back is polled
    /// again at the time that the queue names.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        interface: InterfaceId,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) -> Option<Msdu> {
        if self.is_away(self.interfaces[interface.index()].station) {
            return None;
        }
        if self.power.is_used() {
            return self.take_awake(interface, now, queue);
        }
        let mut msdu = self.take_out_of(interface, now);
        if msdu.is_none() && self.interfaces[interface.index()].queue.tx_queue.packets() > 0 {
            // All waiting packets were dropped during the dequeue, and new packets have come.
            msdu = self.take_out_of(interface, now);
        }
        if msdu.is_none() {
            let at = self.interfaces[interface.index()].queue.tx_queue.next_wakeup(now);
            self.wakeups[interface.index()].set(at, queue);
        }
        msdu
    }

    #[inline(always)]
    fn take_out_of(&mut self, interface: InterfaceId, now: Time) -> Option<Msdu> {
        let mut feeder = self.feeder(interface);
        let packet = feeder.interface.queue.take(now);
        let msdu = feeder.hand_over(packet, now);
        self.top_up_beside(interface, u32::from(msdu.is_some()), now);
        msdu
    }

    /// For a MAC that has packets of a queue in hand: dequeues a packet for another neighbour, if it is that
    /// neighbour's turn.
    pub(super) fn take_turns(&mut self, interface: InterfaceId, now: Time) -> Option<Msdu> {
        let Interface { station, ac, .. } = self.interfaces[interface.index()];
        if self.is_away(station) {
            // The receivers of packets in hand take turns as before.
            self.listeners.macs[station.index()].takes_turns(ac, false);
            return None;
        }
        if self.power.is_used() {
            return self.take_turns_awake(interface, now);
        }
        self.neighbours.clear();
        self.neighbours.extend(self.listeners.macs[station.index()].neighbours_in_hand(ac));
        let other = self.interfaces[interface.index()].queue.other_neighbour(&self.neighbours, now);
        self.report_drops(interface);
        if self.listeners.macs[station.index()].takes_turns(ac, other.is_some()) {
            return None;
        }
        self.take_for_neighbour(interface, other?, now)
    }

    /// Dequeues the next packet for a neighbour, out of turn.
    fn take_for_neighbour(
        &mut self,
        interface: InterfaceId,
        neighbour: NeighbourId,
        now: Time,
    ) -> Option<Msdu> {
        let mut feeder = self.feeder(interface);
        let packet = feeder.interface.queue.take_for_neighbour(neighbour, now);
        let msdu = feeder.hand_over(packet, now);
        self.top_up_beside(interface, u32::from(msdu.is_some()), now);
        msdu
    }

    /// Composes the exchange that a station begins now: packets waiting for the same receiver join it.
    pub(super) fn compose(&mut self, station: StationId, ac: AccessCategory, now: Time) {
        if self.choose_rate(station, ac) {
            return;
        }
        let mac = &mut self.listeners.macs[station.index()];
        let Some(mut joining) = mac.compose(ac, now, &self.listeners.radio) else { return };
        if self.is_away(station) {
            return;
        }
        let Some(&first) = self.listeners.macs[station.index()].held(ac) else { return };
        let interface = self.interface_of(station, ac);
        if self.power.is_used() && !self.may_be_joined(&first) {
            return;
        }
        if !self.power.is_used() || self.join_released(interface, &first, &mut joining, now) {
            self.join_all(interface, first.packet.neighbour, &mut joining, now);
        }
        let mac = &mut self.listeners.macs[station.index()];
        mac.end_joining(ac, &joining, &self.listeners.radio);
    }

    /// Packets that wait for a neighbour join the exchange that is being prepared, as far as they fit.
    #[inline]
    fn join_all(
        &mut self,
        interface: InterfaceId,
        neighbour: NeighbourId,
        joining: &mut Joining,
        now: Time,
    ) {
        self.feeder(interface).join_all(neighbour, joining, now);
        if !self.power.is_used() {
            return;
        }
        // New packets come from here, one for each that has joined.
        loop {
            self.top_up_beside(interface, 0, now);
            if !self.feeder(interface).join_next(neighbour, joining, now) {
                return;
            }
        }
    }

    /// Lets each saturated source keep one packet waiting.
    #[inline]
    pub(super) fn top_up(&mut self, interface: InterfaceId, now: Time) {
        self.feeder(interface).top_up(0, now);
        self.top_up_beside(interface, 0, now);
    }

    /// Does what [`Feeder::top_up`](super::feeder::Feeder::top_up) leaves to this function: where stations sleep, a packet for
    /// one of them may wait in a buffer.
    #[inline(always)]
    fn top_up_beside(&mut self, interface: InterfaceId, handed: u32, now: Time) {
        if self.power.is_used() {
            self.top_up_each(interface, handed, now);
        }
    }

    #[inline(never)]
    fn top_up_each(&mut self, interface: InterfaceId, handed: u32, now: Time) {
        for turn in 0..self.upper.begin_top_up(interface) {
            if self.feeder(interface).is_full(handed) {
                return;
            }
            if let Some(packet) = self.upper.top_up(interface, turn, now) {
                self.enqueue(packet, handed, now);
            }
        }
    }

    /// Gives the MAC a packet of a queue of which the MAC holds none.
    pub(super) fn feed(
        &mut self,
        interface: InterfaceId,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) {
        let Interface { station, ac, .. } = self.interfaces[interface.index()];
        if self.listeners.macs[station.index()].is_empty(ac)
            && let Some(msdu) = self.take(interface, now, queue)
        {
            self.listeners.split(station);
            self.listeners.macs[station.index()].on_packet(ac, msdu, now, &self.listeners.radio);
            self.listeners.settle(station, now);
            if self.power.is_used() {
                self.on_own_packet(station, ac, queue);
            }
        }
    }
}
