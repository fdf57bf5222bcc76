//! Packets go into the queues, and out of them into the MACs.

use super::engine::{Event, Wlan};
use super::flow::Flow;
use super::interface::Interface;
use super::spec::RttReport;
use crate::event::EventQueue;
use crate::outcome::Outcome;
use airqueue_core::{Packet, Span, Time};
use airqueue_wifi::mac::Msdu;

impl Wlan {
    /// Offers a packet from outside to the queue of a flow, now. Its size, its payload, what it says of congestion
    /// and when it was made stay as they are.
    pub fn offer(&mut self, flow: u32, packet: Packet, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        self.next_packet += 1;
        let &Flow { hop, interface, .. } = &self.flows[flow as usize];
        self.enqueue(Packet { id: self.next_packet, flow, hop, ..packet }, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }

    /// Whether nothing has become of any packet of a collected flow since [`Self::exchange_outcomes`].
    #[inline]
    pub fn has_no_outcomes(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// What became of packets of collected flows since the last call, in the order in which it did, in exchange
    /// for a list that is empty.
    #[inline]
    pub fn exchange_outcomes(&mut self, empty: &mut Vec<Outcome>) {
        if !self.outcomes.is_empty() {
            std::mem::swap(&mut self.outcomes, empty);
        }
    }

    /// From now on the receiver of a flow reports this round-trip time (RDQM).
    pub fn report_rtt(&mut self, flow: u32, rtt: Span) {
        self.flows[flow as usize].report = Some(RttReport { base: rtt, smoothed: false });
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, flow: u32, now: Time) {
        self.next_packet += 1;
        let &Flow { ref source, ecn, hop, .. } = &self.flows[flow as usize];
        let packet = Packet::new(self.next_packet, flow, source.size_bytes(), now);
        self.enqueue(Packet { ecn, hop, ..packet }, now);
    }

    #[inline(always)]
    pub(super) fn enqueue(&mut self, packet: Packet, now: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        flow.tally.offered.add(&packet);
        flow.waiting += 1;
        let interface = flow.interface;
        let comes = self.interfaces[interface].backlog.add(&mut flow.presence);
        self.interfaces[interface].queue.enqueue(packet, now);
        self.account_drops(interface);
        if comes {
            self.extend_txop(packet.flow);
        }
    }

    /// True if there were any.
    #[inline(always)]
    fn account_drops(&mut self, interface: usize) -> bool {
        let Wlan { interfaces, flows, outcomes, .. } = self;
        let Interface { queue, backlog, .. } = &mut interfaces[interface];
        queue.take_drops(|drop| {
            let flow = &mut flows[drop.packet.flow as usize];
            flow.tally.dropped.add(&drop.packet);
            flow.waiting -= 1;
            backlog.remove(&mut flow.presence);
            if flow.collected {
                outcomes.push(Outcome::Dropped(drop.packet, drop.reason));
            }
        })
    }

    /// Takes the next packet out of a queue. Saturated flows fill the gap; a queue that keeps its packets
    /// back is asked again when it says.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        interface: usize,
        now: Time,
        queue: &mut EventQueue<Event>,
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
        self.account_drops(interface);
        let msdu = packet.map(|packet| {
            let chosen = self.chosen_rate(packet.flow);
            let flow = &mut self.flows[packet.flow as usize];
            flow.waiting -= 1;
            flow.msdu(packet, chosen)
        });
        self.top_up(interface, now);
        msdu
    }

    /// A MAC has packets of a queue in hand: what it gets out of it for others, if it is their turn.
    pub(super) fn take_turns(&mut self, interface: usize, now: Time) -> Option<Msdu> {
        let Interface { station, category, .. } = self.interfaces[interface];
        self.hops.clear();
        self.hops.extend(self.macs[station].hops_in_hand(category));
        let other = self.interfaces[interface].queue.next_hop_beside(&self.hops, now);
        self.account_drops(interface);
        if self.macs[station].takes_turns(category, other.is_some()) {
            return None;
        }
        self.take_along(interface, other?, now)
    }

    /// Takes out the next packet for a hop, out of turn.
    fn take_along(&mut self, interface: usize, hop: u16, now: Time) -> Option<Msdu> {
        let packet = self.interfaces[interface].queue.take_along(hop, now);
        self.on_taken(interface, packet, now)
    }

    /// Makes up the exchange that a station begins now: what waits for the same receiver goes along.
    pub(super) fn compose(&mut self, station: usize, category: usize, now: Time) {
        self.choose_rate(station, category);
        if !self.macs[station].compose(category, now, &self.net) {
            return;
        }
        let Some(&Msdu { packet: Packet { hop, .. }, .. }) = self.macs[station].held(category)
        else {
            return;
        };
        let interface = self.first_queue[station] + category;
        while let Some(packet) = self.peek_along(interface, hop, now) {
            let chosen = self.chosen_rate(packet.flow);
            let flow = &self.flows[packet.flow as usize];
            let alike = flow.control == self.interfaces[interface].control;
            let msdu = flow.msdu(packet, chosen);
            if !(alike && self.macs[station].admits(category, &msdu)) {
                break;
            }
            let Some(msdu) = self.take_along(interface, hop, now) else { break };
            self.macs[station].join(category, msdu, now, &self.net);
        }
    }

    fn peek_along(&mut self, interface: usize, hop: u16, now: Time) -> Option<Packet> {
        let packet = self.interfaces[interface].queue.peek_along(hop, now);
        if !self.account_drops(interface) || packet.is_some() {
            return packet;
        }
        // All that had waited for it was dropped, and there may be others now.
        self.top_up(interface, now);
        let packet = self.interfaces[interface].queue.peek_along(hop, now);
        self.account_drops(interface);
        packet
    }

    /// Every saturated flow keeps a packet waiting. Each in turn is the first: where the queue has no room for
    /// all, they share it.
    #[inline(always)]
    pub(super) fn top_up(&mut self, interface: usize, now: Time) {
        let flows = &mut self.interfaces[interface].saturated;
        if flows.len() > 1 {
            flows.rotate_left(1);
        }
        for at in 0..self.interfaces[interface].saturated.len() {
            let id = self.interfaces[interface].saturated[at];
            let flow = &self.flows[id as usize];
            if flow.waiting == 0 && flow.source.is_saturated(now) {
                self.emit(id, now);
            }
        }
    }

    /// Gives the MAC a packet of a queue of which it holds none.
    pub(super) fn feed(&mut self, interface: usize, now: Time, queue: &mut EventQueue<Event>) {
        let Interface { station, category, .. } = self.interfaces[interface];
        if self.macs[station].is_empty(category)
            && let Some(msdu) = self.take(interface, now, queue)
        {
            self.set_apart(station);
            self.macs[station].on_packet(category, msdu, now, &self.net);
            self.settle(station, now);
        }
    }
}
