//! Transfer of packets into the queues, and from the queues into the MACs.

use super::engine::Wlan;
use super::interface::Interface;
use super::spec::RttReport;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use crate::{HopId, InterfaceId};
use airqueue_core::{NeighbourId, Packet, Span, Time};
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
        self.enqueue(packet, self.counted_in_hand(interface), now);
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

    /// `in_hand`: see [`Self::counted_in_hand`].
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, in_hand: u32, now: Time) {
        let id = HopId::of(&packet);
        let hop = &mut self.hops[id.index()];
        let interface = &mut self.interfaces[hop.interface.index()];
        let comes = interface.backlog.add(&mut hop.presence);
        interface.count_in_hand(in_hand);
        interface.queue.enqueue(Packet { neighbour: hop.neighbour, ..packet }, now);
        let interface = hop.interface;
        self.report_drops(interface);
        if comes {
            self.extend_txop(id);
        }
    }

    /// Number of packets of a queue that the MAC holds, where they count.
    #[inline]
    fn counted_in_hand(&self, interface: InterfaceId) -> u32 {
        let Interface { station, ac, counted, .. } = self.interfaces[interface.index()];
        counted.map_or(0, |_| self.listeners.macs[station.index()].unfinished(ac) as u32)
    }

    /// Reports the drops of a queue to the upper layer. True if there were any.
    #[inline(always)]
    pub(super) fn report_drops(&mut self, interface: InterfaceId) -> bool {
        let Wlan { interfaces, hops, upper, .. } = self;
        let Interface { queue, backlog, .. } = &mut interfaces[interface.index()];
        queue.take_drops(|drop| {
            backlog.remove(&mut hops[HopId::of(&drop.packet).index()].presence, 1);
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
    #[inline(always)]
    fn on_taken(
        &mut self,
        interface: InterfaceId,
        packet: Option<Packet>,
        now: Time,
    ) -> Option<Msdu> {
        self.report_drops(interface);
        let msdu = packet.map(|packet| {
            let hop = HopId::of(&packet);
            let chosen = self.chosen_rate(hop);
            self.upper.on_taken(&packet, now);
            self.hops[hop.index()].msdu(packet, chosen)
        });
        // The MAC does not have this packet yet.
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
        while let Some(msdu) = self.take_admitted(interface, neighbour, now) {
            self.listeners.macs[station.index()].join(ac, msdu, now);
        }
    }

    /// Dequeues the next packet for a neighbour, out of turn, if the packet may join the exchange that is being prepared.
    #[inline]
    fn take_admitted(
        &mut self,
        interface: InterfaceId,
        neighbour: NeighbourId,
        now: Time,
    ) -> Option<Msdu> {
        if self.power.is_used()
            && let Some(packet) = self.peek_released(interface, neighbour)
        {
            let chosen = self.chosen_rate(HopId::of(&packet));
            let Interface { station, ac, control, .. } = self.interfaces[interface.index()];
            let (hop, mac) = (&self.hops[HopId::of(&packet).index()], &self.listeners.macs);
            let admitted = hop.is_admitted(&packet, chosen, control, (&mac[station.index()], ac));
            return if admitted { self.take_released_for(interface, neighbour) } else { None };
        }
        let (mut admitted, mut packet) = self.take_if_admitted(interface, neighbour, now);
        if admitted.is_none() && self.report_drops(interface) {
            // All packets for the neighbour were dropped, and new packets may have come.
            self.top_up(interface, now);
            (admitted, packet) = self.take_if_admitted(interface, neighbour, now);
        }
        if admitted == Some(true) {
            return self.on_taken(interface, packet, now);
        }
        self.report_drops(interface);
        None
    }

    /// Whether the packet may join, if there is one, and the packet if it may.
    #[inline(always)]
    fn take_if_admitted(
        &mut self,
        interface: InterfaceId,
        neighbour: NeighbourId,
        now: Time,
    ) -> (Option<bool>, Option<Packet>) {
        let Wlan { interfaces, hops, controls, listeners, .. } = self;
        let &mut Interface { station, ac, control, ref mut queue, .. } =
            &mut interfaces[interface.index()];
        let mac = &listeners.macs[station.index()];
        let mut admitted = None;
        let packet = queue.take_admitted(neighbour, now, &mut |packet| {
            let hop = &hops[HopId::of(packet).index()];
            let chosen = hop.control.map(|control| controls[control].choose());
            let is_admitted = hop.is_admitted(packet, chosen, control, (mac, ac));
            admitted = Some(is_admitted);
            is_admitted
        });
        (admitted, packet)
    }

    /// Lets each saturated source keep one packet waiting.
    #[inline]
    pub(super) fn top_up(&mut self, interface: InterfaceId, now: Time) {
        self.top_up_beside(interface, 0, now);
    }

    /// The same, while `handed` packets are on their way from the queue to the MAC.
    #[inline(always)]
    fn top_up_beside(&mut self, interface: InterfaceId, handed: u32, now: Time) {
        let sources = self.upper.begin_top_up(interface);
        if sources == 0 {
            return;
        }
        let in_hand = self.counted_in_hand(interface) + handed;
        for turn in 0..sources {
            if self.interfaces[interface.index()].is_full(in_hand) {
                return;
            }
            if let Some(packet) = self.upper.top_up(interface, turn, now) {
                self.enqueue(packet, in_hand, now);
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
