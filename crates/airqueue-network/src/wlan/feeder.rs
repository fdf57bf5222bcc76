//! Packets on their way from the sources into a queue, and from the queue into the MAC.

use super::engine::Wlan;
use super::hop::Hop;
use super::interface::Interface;
use super::rates::Control;
use super::upper::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{Limit, NeighbourId, Packet, Time};
use airqueue_wifi::mac::{Joining, Mac, Msdu};

/// A queue with all that its packets meet: looked up once, for all packets of an A-MPDU.
pub(super) struct Feeder<'a, U> {
    id: InterfaceId,
    pub(super) interface: &'a mut Interface,
    pub(super) hops: &'a mut [Hop],
    controls: &'a mut [Control],
    pub(super) mac: &'a mut Mac,
    upper: &'a mut U,
    /// Stations sleep: what comes may wait elsewhere, which [`Wlan`] decides.
    beside_sleepers: bool,
}

impl<U: UpperLayer> Wlan<U> {
    #[inline(always)]
    pub(super) fn feeder(&mut self, id: InterfaceId) -> Feeder<'_, U> {
        let beside_sleepers = self.power.is_used();
        let Wlan { interfaces, hops, controls, listeners, upper, .. } = self;
        let interface = &mut interfaces[id.index()];
        let mac = &mut listeners.macs[interface.station.index()];
        Feeder { id, interface, hops, controls, mac, upper, beside_sleepers }
    }
}

impl<U: UpperLayer> Feeder<'_, U> {
    /// A packet comes to the queue, while `handed` packets are on their way from the queue to the MAC.
    #[inline]
    pub(super) fn offer(&mut self, packet: Packet, handed: u32, now: Time) {
        self.enqueue(packet, self.in_hand() + handed, now);
    }

    /// A packet that counts in the backlog enters the queue.
    pub(super) fn enter(&mut self, packet: Packet, now: Time) {
        self.put(packet, self.in_hand(), now);
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, in_hand: u32, now: Time) {
        let id = HopId::of(&packet);
        let hop = &mut self.hops[id.index()];
        debug_assert_eq!(hop.interface, self.id, "the packets of a hop wait in one queue");
        let comes = self.interface.backlog.add(&mut hop.presence);
        let packet = Packet { neighbour: hop.neighbour, ..packet };
        self.put(packet, in_hand, now);
        if comes {
            self.extend_txop(id);
        }
    }

    #[inline(always)]
    fn put(&mut self, packet: Packet, in_hand: u32, now: Time) {
        let Interface { queue, counted, .. } = &mut *self.interface;
        if let Some(limit) = *counted {
            // The rest of a limit that counts the packets that the MAC holds.
            queue.tx_queue.set_limit(Limit::Packets(limit.saturating_sub(in_hand)));
        }
        queue.enqueue(packet, now);
        self.report_drops();
    }

    /// Number of packets of the queue that the MAC holds, where they count.
    #[inline]
    fn in_hand(&self) -> u32 {
        let Interface { ac, counted, .. } = *self.interface;
        counted.map_or(0, |_| self.mac.unfinished(ac) as u32)
    }

    /// Whether a limit that counts the packets that the MAC holds, or gets now, is reached.
    #[inline]
    pub(super) fn is_full(&self, handed: u32) -> bool {
        self.holds_all(self.in_hand() + handed)
    }

    #[inline]
    fn holds_all(&self, in_hand: u32) -> bool {
        let packets = self.interface.queue.waiting() + u64::from(in_hand);
        self.interface.counted.is_some_and(|limit| packets >= u64::from(limit))
    }

    /// Reports the drops of the queue to the upper layer. True if there were any.
    #[inline(always)]
    pub(super) fn report_drops(&mut self) -> bool {
        let Interface { queue, backlog, .. } = &mut *self.interface;
        queue.take_drops(|drop| {
            backlog.remove(&mut self.hops[HopId::of(&drop.packet).index()].presence, 1);
            self.upper.on_dropped(&drop);
        })
    }

    /// Lets each saturated source keep one packet waiting, while `handed` packets are on their way from the queue to the
    /// MAC.
    #[inline(always)]
    pub(super) fn top_up(&mut self, handed: u32, now: Time) {
        if self.beside_sleepers {
            return;
        }
        let sources = self.upper.begin_top_up(self.id);
        if sources == 0 {
            return;
        }
        let in_hand = self.in_hand() + handed;
        for turn in 0..sources {
            if self.holds_all(in_hand) {
                return;
            }
            if let Some(packet) = self.upper.top_up(self.id, turn, now) {
                self.enqueue(packet, in_hand, now);
            }
        }
    }

    /// Hands a dequeued packet, if there is one, to the MAC.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, packet: Option<Packet>, now: Time) -> Option<Msdu> {
        self.report_drops();
        let msdu = packet.map(|packet| self.on_taken(packet, now));
        self.top_up(u32::from(msdu.is_some()), now);
        msdu
    }

    #[inline(always)]
    fn on_taken(&mut self, packet: Packet, now: Time) -> Msdu {
        let hop = &self.hops[HopId::of(&packet).index()];
        let chosen = hop.control.map(|control| self.controls[control].choose());
        self.upper.on_taken(&packet, now);
        hop.msdu(packet, chosen)
    }

    /// Packets that wait for a neighbour join the exchange that is being prepared, as far as they fit.
    pub(super) fn join_all(&mut self, neighbour: NeighbourId, joining: &mut Joining, now: Time) {
        while self.join_next(neighbour, joining, now) {}
    }

    /// The next packet for a neighbour joins, if there is one and it fits.
    #[inline(always)]
    pub(super) fn join_next(
        &mut self,
        neighbour: NeighbourId,
        joining: &mut Joining,
        now: Time,
    ) -> bool {
        let Some(packet) = self.take_admitted(neighbour, joining, now) else { return false };
        let msdu = self.on_taken(packet, now);
        self.mac.join(self.interface.ac, msdu, now);
        self.top_up(0, now);
        true
    }

    /// Dequeues the next packet for a neighbour, out of turn, if the packet may join.
    #[inline(always)]
    fn take_admitted(
        &mut self,
        neighbour: NeighbourId,
        joining: &mut Joining,
        now: Time,
    ) -> Option<Packet> {
        let mut taken = self.look_for(neighbour, joining, now);
        if self.report_drops() && taken.is_none() {
            // All packets for the neighbour were dropped, and new packets may have come.
            self.top_up_after_drops(now);
            taken = self.look_for(neighbour, joining, now);
            self.report_drops();
        }
        taken.flatten()
    }

    #[cold]
    fn top_up_after_drops(&mut self, now: Time) {
        self.top_up(0, now);
    }

    /// Looks for a packet, and dequeues the packet if it may join. `None`: there is none.
    #[inline(always)]
    fn look_for(
        &mut self,
        neighbour: NeighbourId,
        joining: &mut Joining,
        now: Time,
    ) -> Option<Option<Packet>> {
        let Feeder { interface, hops, controls, .. } = self;
        let Interface { queue, control: of_exchange, .. } = &mut **interface;
        let mut found = false;
        let packet = queue.take_admitted(neighbour, now, &mut |packet| {
            found = true;
            let hop = &hops[HopId::of(packet).index()];
            let rate = hop.control.map_or(hop.rate, |control| controls[control].choose());
            hop.control == *of_exchange && joining.admit(hop.to, rate, hop.mpdu_bytes(packet))
        });
        found.then_some(packet)
    }
}
