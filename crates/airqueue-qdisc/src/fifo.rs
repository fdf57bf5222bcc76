//! Packets in order of arrival, and their bytes: the store of all disciplines with a single FIFO.

use airqueue_core::{Limit, NeighbourId, Packet, Time};
use std::collections::VecDeque;

/// A FIFO of packets, and their bytes with link-layer overhead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    waiting: VecDeque<Packet>,
    bytes: u64,
    link_layer: u32,
    /// The neighbour has no packet before this position.
    none_before: Option<(NeighbourId, usize)>,
}

/// Whether a packet of `cost` bytes may join `packets` others of `bytes` bytes.
pub(crate) fn has_room(limit: Limit, packets: usize, bytes: u64, cost: u64) -> bool {
    match limit {
        Limit::Packets(most) => packets < most as usize,
        Limit::Bytes(most) => bytes.saturating_add(cost) <= most,
    }
}

impl Fifo {
    /// From now on counts `bytes` on top of each IP packet. Only for an empty FIFO.
    pub(crate) fn set_link_layer(&mut self, bytes: u32) {
        debug_assert!(self.waiting.is_empty());
        self.link_layer = bytes;
    }

    /// The bytes that a packet counts as.
    pub(crate) fn cost(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.link_layer)
    }

    /// Whether a packet fits beside the packets that wait now.
    pub(crate) fn has_room(&self, limit: Limit, packet: &Packet) -> bool {
        has_room(limit, self.waiting.len(), self.bytes, self.cost(packet))
    }

    /// Appends a packet, with its time of arrival.
    pub(crate) fn push(&mut self, mut packet: Packet, now: Time) {
        packet.enqueued = now;
        self.bytes += self.cost(&packet);
        self.waiting.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Packet> {
        self.none_before = None;
        let packet = self.waiting.pop_front()?;
        self.bytes -= self.cost(&packet);
        Some(packet)
    }

    /// The first packet for a neighbour. The MAC looks for the packets of an aggregate one after the other: each search
    /// continues where the search before ended.
    pub(crate) fn first_for(&mut self, neighbour: NeighbourId) -> Option<&Packet> {
        self.find(neighbour).map(|place| &self.waiting[place])
    }

    /// The neighbours that the packets are for, in the packets' order.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = NeighbourId> {
        self.waiting.iter().map(|packet| packet.neighbour)
    }

    /// Takes out the first packet for a neighbour.
    pub(crate) fn pop_for(&mut self, neighbour: NeighbourId) -> Option<Packet> {
        let place = self.find(neighbour)?;
        self.remove(place)
    }

    /// Takes out the first packet for a neighbour, if the packet is admitted.
    #[inline]
    pub(crate) fn pop_admitted(
        &mut self,
        neighbour: NeighbourId,
        admits: &mut dyn FnMut(&Packet) -> bool,
    ) -> Option<Packet> {
        let place = self.find(neighbour)?;
        if admits(&self.waiting[place]) { self.remove(place) } else { None }
    }

    #[inline]
    fn remove(&mut self, place: usize) -> Option<Packet> {
        // Mostly the first packet, which leaves without moving others.
        let packet = match place {
            0 => self.waiting.pop_front()?,
            _ => self.waiting.remove(place)?,
        };
        self.bytes -= self.cost(&packet);
        Some(packet)
    }

    #[inline]
    fn find(&mut self, neighbour: NeighbourId) -> Option<usize> {
        if self.waiting.front().is_some_and(|first| first.neighbour == neighbour) {
            self.none_before = Some((neighbour, 0));
            return Some(0);
        }
        let from = self.none_before.filter(|of| of.0 == neighbour).map_or(0, |of| of.1);
        let found = self.waiting.range(from..).position(|packet| packet.neighbour == neighbour);
        let place = found.map(|place| from + place);
        self.none_before = Some((neighbour, place.unwrap_or(self.waiting.len())));
        place
    }

    pub(crate) fn front(&self) -> Option<&Packet> {
        self.waiting.front()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
