//! Transfer of packets into the queues, and from the queues into the MACs.

use super::engine::Wlan;
use super::interface::Interface;
use super::spec::RttReport;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use crate::{HopId, InterfaceId};
use airqueue_core::{Limit, NeighbourId, Packet, Span, Time};
use airqueue_wifi::mac::Msdu;
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
        self.enqueue(packet, now);
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

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, now: Time) {
        if self.power.is_used() && self.waits_before_queue(&packet) {
            return self.keep_arrival(packet, now);
        }
        let hop = &mut self.hops[HopId::of(&packet).index()];
        let interface = hop.interface;
        let comes = self.interfaces[interface.index()].backlog.add(&mut hop.presence);
        let packet = Packet { neighbour: hop.neighbour, ..packet };
        self.enter_queue(interface, packet, now);
        if comes {
            self.extend_txop(HopId::of(&packet));
        }
    }

    /// A packet that counts in its interface's backlog enters the queue.
    #[inline(always)]
    pub(super) fn enter_queue(&mut self, interface: InterfaceId, packet: Packet, now: Time) {
        self.count_in_hand(interface);
        self.interfaces[interface.index()].queue.enqueue(packet, now);
        self.report_drops(interface);
    }

    /// Where the limit counts the packets that the MAC holds: leaves the queue the rest of the limit.
    #[inline(always)]
    fn count_in_hand(&mut self, interface: InterfaceId) {
        let Some(limit) = self.interfaces[interface.index()].counted else { return };
        let rest = limit.saturating_sub(self.held_by_mac(interface));
        self.interfaces[interface.index()].queue.tx_queue.set_limit(Limit::Packets(rest));
    }

    /// Number of packets of a queue that the MAC holds, or gets now.
    fn held_by_mac(&self, interface: InterfaceId) -> u32 {
        let Interface { station, ac, handing, .. } = self.interfaces[interface.index()];
        self.listeners.macs[station.index()].unfinished(ac) as u32 + handing
    }

    /// Whether a limit that counts the packets that the MAC holds is reached.
    fn is_full(&self, interface: InterfaceId) -> bool {
        let Interface { counted, ref queue, .. } = self.interfaces[interface.index()];
        counted.is_some_and(|limit| {
            queue.tx_queue.packets() + u64::from(self.held_by_mac(interface)) >= u64::from(limit)
        })
    }

    /// Reports the drops of a queue to the upper layer. True if there were any.
    #[inline(always)]
    pub(super) fn report_drops(&mut self, interface: InterfaceId) -> bool {
        let Wlan { interfaces, hops, upper, .. } = self;
        let Interface { queue, backlog, .. } = &mut interfaces[interface.index()];
        queue.take_drops(|drop| {
            backlog.remove(&mut hops[HopId::of(&drop.packet).index()].presence);
            upper.on_dropped(&drop);
        })
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
        let packet = self.interfaces[interface.index()].queue.take(now);
        self.on_taken(interface, packet, now)
    }

    /// Hands a dequeued packet, if there is one, to the MAC.
    fn on_taken(
        &mut self,
        interface: InterfaceId,
        packet: Option<Packet>,
        now: Time,
    ) -> Option<Msdu> {
        self.report_drops(interface);
        let msdu = packet.map(|packet| {
            let chosen = self.chosen_rate(HopId::of(&packet));
            self.upper.on_taken(&packet, now);
            self.hops[HopId::of(&packet).index()].msdu(packet, chosen)
        });
        self.interfaces[interface.index()].handing = u32::from(msdu.is_some());
        self.top_up(interface, now);
        self.interfaces[interface.index()].handing = 0;
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
        if self.power.is_used()
            && let Some(msdu) = self.take_released_for(interface, neighbour)
        {
            return Some(msdu);
        }
        let packet = self.interfaces[interface.index()].queue.take_for_neighbour(neighbour, now);
        self.on_taken(interface, packet, now)
    }

    /// Composes the exchange that a station begins now: packets waiting for the same receiver join it.
    pub(super) fn compose(&mut self, station: StationId, ac: AccessCategory, now: Time) {
        self.choose_rate(station, ac);
        let joined = self.listeners.macs[station.index()].compose(ac, now, &self.listeners.radio);
        if !joined || self.is_away(station) {
            return;
        }
        let Some(&first) = self.listeners.macs[station.index()].held(ac) else { return };
        if self.power.is_used() && !self.may_be_joined(&first) {
            return;
        }
        let neighbour = first.packet.neighbour;
        let interface = self.interface_of(station, ac);
        while let Some(packet) = self.peek_for_neighbour(interface, neighbour, now) {
            let chosen = self.chosen_rate(HopId::of(&packet));
            let hop = &self.hops[HopId::of(&packet).index()];
            let alike = hop.control == self.interfaces[interface.index()].control;
            let msdu = hop.msdu(packet, chosen);
            if !(alike && self.listeners.macs[station.index()].admits(ac, &msdu)) {
                break;
            }
            let Some(msdu) = self.take_for_neighbour(interface, neighbour, now) else { break };
            self.listeners.macs[station.index()].join(ac, msdu, now, &self.listeners.radio);
        }
    }

    fn peek_for_neighbour(
        &mut self,
        interface: InterfaceId,
        neighbour: NeighbourId,
        now: Time,
    ) -> Option<Packet> {
        if self.power.is_used()
            && let Some(packet) = self.peek_released(interface, neighbour)
        {
            return Some(packet);
        }
        let packet = self.interfaces[interface.index()].queue.peek_for_neighbour(neighbour, now);
        if !self.report_drops(interface) || packet.is_some() {
            return packet;
        }
        // All packets for the neighbour were dropped, and new packets may have come.
        self.top_up(interface, now);
        let packet = self.interfaces[interface.index()].queue.peek_for_neighbour(neighbour, now);
        self.report_drops(interface);
        packet
    }

    /// Lets each saturated source keep one packet waiting.
    #[inline(always)]
    pub(super) fn top_up(&mut self, interface: InterfaceId, now: Time) {
        for turn in 0..self.upper.begin_top_up(interface) {
            if self.is_full(interface) {
                return;
            }
            if let Some(packet) = self.upper.top_up(interface, turn, now) {
                self.enqueue(packet, now);
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
