//! Packets go into the queues, and out of them into the MACs.

use super::engine::Wlan;
use super::interface::Interface;
use super::spec::RttReport;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use airqueue_core::{Packet, Span, Time};
use airqueue_wifi::mac::Msdu;

impl<U: UpperLayer> Wlan<U> {
    /// Offers a packet to the queue of its hop, now.
    ///
    /// # Panics
    ///
    /// If there is no hop of the number in [`Packet::flow`].
    #[inline]
    pub fn offer(&mut self, packet: Packet, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        let interface = self.hops[packet.flow as usize].interface;
        self.enqueue(packet, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }

    /// Lets saturated sources fill a queue up, of which there may have been none until now, or no room for their packets.
    pub fn fill(&mut self, interface: usize, queue: &mut EventQueue<U::Event>) {
        let now = queue.now();
        self.top_up(interface, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }

    /// From now on the receiver of a hop reports this round-trip time (RDQM).
    pub fn report_rtt(&mut self, hop: u32, rtt: Span) {
        self.hops[hop as usize].report = Some(RttReport { base: rtt, smoothed: false });
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, now: Time) {
        let hop = &mut self.hops[packet.flow as usize];
        let (interface, hop_number) = (hop.interface, packet.flow);
        let comes = self.interfaces[interface].backlog.add(&mut hop.presence);
        let packet = Packet { hop: hop.neighbour, ..packet };
        self.interfaces[interface].queue.enqueue(packet, now);
        self.report_drops(interface);
        if comes {
            self.extend_txop(hop_number);
        }
    }

    /// Tells the layer above what a queue has dropped. True if there was anything.
    #[inline(always)]
    fn report_drops(&mut self, interface: usize) -> bool {
        let Wlan { interfaces, hops, upper, .. } = self;
        let Interface { queue, backlog, .. } = &mut interfaces[interface];
        queue.take_drops(|drop| {
            backlog.remove(&mut hops[drop.packet.flow as usize].presence);
            upper.on_dropped(&drop);
        })
    }

    /// Takes the next packet out of a queue. Saturated sources fill the gap; a queue that keeps its packets
    /// back is asked again when it says.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        interface: usize,
        now: Time,
        queue: &mut EventQueue<U::Event>,
    ) -> Option<Msdu> {
        let mut msdu = self.take_out_of(interface, now);
        if msdu.is_none() && self.interfaces[interface].queue.stages.waiting().0 > 0 {
            // All that had waited was dropped on its way out, and there are others now.
            msdu = self.take_out_of(interface, now);
        }
        if msdu.is_none() {
            let at = self.interfaces[interface].queue.stages.next_wakeup(now);
            self.wakeups[interface].set(at, queue);
        }
        msdu
    }

    #[inline(always)]
    fn take_out_of(&mut self, interface: usize, now: Time) -> Option<Msdu> {
        let packet = self.interfaces[interface].queue.take(now);
        self.on_taken(interface, packet, now)
    }

    /// A packet goes from its queue into the MAC, if there is one.
    fn on_taken(&mut self, interface: usize, packet: Option<Packet>, now: Time) -> Option<Msdu> {
        self.report_drops(interface);
        let msdu = packet.map(|packet| {
            let chosen = self.chosen_rate(packet.flow);
            self.upper.on_taken(&packet, now);
            self.hops[packet.flow as usize].msdu(packet, chosen)
        });
        self.top_up(interface, now);
        msdu
    }

    /// A MAC has packets of a queue in hand: what it gets out of the queue for others, if it is their turn.
    pub(super) fn take_turns(&mut self, interface: usize, now: Time) -> Option<Msdu> {
        let Interface { station, category, .. } = self.interfaces[interface];
        self.neighbours.clear();
        self.neighbours.extend(self.listeners.macs[station].hops_in_hand(category));
        let other = self.interfaces[interface].queue.next_hop_beside(&self.neighbours, now);
        self.report_drops(interface);
        if self.listeners.macs[station].takes_turns(category, other.is_some()) {
            return None;
        }
        self.take_along(interface, other?, now)
    }

    /// Takes out the next packet for a neighbour, out of turn.
    fn take_along(&mut self, interface: usize, neighbour: u16, now: Time) -> Option<Msdu> {
        let packet = self.interfaces[interface].queue.take_along(neighbour, now);
        self.on_taken(interface, packet, now)
    }

    /// Makes up the exchange that a station begins now: what waits for the same receiver goes along.
    pub(super) fn compose(&mut self, station: usize, category: usize, now: Time) {
        self.choose_rate(station, category);
        if !self.listeners.macs[station].compose(category, now, &self.listeners.radio) {
            return;
        }
        let Some(&Msdu { packet: Packet { hop: neighbour, .. }, .. }) =
            self.listeners.macs[station].held(category)
        else {
            return;
        };
        let interface = self.first_queue[station] + category;
        while let Some(packet) = self.peek_along(interface, neighbour, now) {
            let chosen = self.chosen_rate(packet.flow);
            let hop = &self.hops[packet.flow as usize];
            let alike = hop.control == self.interfaces[interface].control;
            let msdu = hop.msdu(packet, chosen);
            if !(alike && self.listeners.macs[station].admits(category, &msdu)) {
                break;
            }
            let Some(msdu) = self.take_along(interface, neighbour, now) else { break };
            self.listeners.macs[station].join(category, msdu, now, &self.listeners.radio);
        }
    }

    fn peek_along(&mut self, interface: usize, neighbour: u16, now: Time) -> Option<Packet> {
        let packet = self.interfaces[interface].queue.peek_along(neighbour, now);
        if !self.report_drops(interface) || packet.is_some() {
            return packet;
        }
        // All that had waited for the neighbour was dropped, and there may be others now.
        self.top_up(interface, now);
        let packet = self.interfaces[interface].queue.peek_along(neighbour, now);
        self.report_drops(interface);
        packet
    }

    /// Every saturated source keeps a packet waiting.
    #[inline(always)]
    fn top_up(&mut self, interface: usize, now: Time) {
        for turn in 0..self.upper.begin_top_up(interface) {
            if let Some(packet) = self.upper.top_up(interface, turn, now) {
                self.enqueue(packet, now);
            }
        }
    }

    /// Gives the MAC a packet of a queue of which it holds none.
    pub(super) fn feed(&mut self, interface: usize, now: Time, queue: &mut EventQueue<U::Event>) {
        let Interface { station, category, .. } = self.interfaces[interface];
        if self.listeners.macs[station].is_empty(category)
            && let Some(msdu) = self.take(interface, now, queue)
        {
            self.listeners.split(station);
            self.listeners.macs[station].on_packet(category, msdu, now, &self.listeners.radio);
            self.listeners.settle(station, now);
        }
    }
}
