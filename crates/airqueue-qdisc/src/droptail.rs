//! The plain FIFO with a hard limit: Linux's pfifo, bfifo and pfifo_head_drop.

use crate::discipline::{Around, Counted, Facts, NoKeys, Parameters, Place, Short};
use crate::fifo::{Fifo, has_room};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DropReason, Drops, Limit, LinkFeedback, NeighbourId, Packet,
    QueueDisc, Time,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// What a full queue drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DropFrom {
    /// The packet that arrives.
    #[default]
    Tail,
    /// The oldest packets.
    Head,
}

/// The parameters of drop-tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropTailParams {
    /// What a full queue drops. With `Head`, the oldest packets are dropped until the arriving packet fits.
    pub drop_from: DropFrom,
}

impl Parameters for DropTailParams {
    type Table = NoKeys;
    const NAME: &'static str = "drop-tail";
    const ABOUT: &'static str = "First come, first served, up to the limit.";
    const SHORT: &'static [Short] = &[
        Short { word: "pfifo", counts: Counted::Packets, drop_from: DropFrom::Tail },
        Short { word: "bfifo", counts: Counted::Bytes, drop_from: DropFrom::Tail },
        Short { word: "pfifo_head_drop", counts: Counted::Packets, drop_from: DropFrom::Head },
    ];

    fn check(_: &Layers<'_, NoKeys>, around: &Around) -> Result<DropTailParams> {
        Ok(DropTailParams { drop_from: around.drop_from })
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(50),
            drops_from: true,
            fifo: true,
            searched: true,
            drops_waiting: self.drop_from == DropFrom::Head,
            ..Facts::default()
        }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        let queue = DropTail::new(place.limit).dropping_from(self.drop_from);
        Box::new(queue.with_link_layer(place.link_layer))
    }
}

/// A first-in first-out queue with a limit in packets or in bytes.
#[derive(Clone, Debug)]
pub struct DropTail {
    waiting: Fifo,
    limit: Limit,
    drop_from: DropFrom,
}

impl DropTail {
    /// An empty queue that drops arrivals when full and counts IP bytes.
    pub fn new(limit: Limit) -> DropTail {
        DropTail { waiting: Fifo::default(), limit, drop_from: DropFrom::Tail }
    }

    /// The queue with another choice of what to drop.
    pub fn dropping_from(mut self, drop_from: DropFrom) -> DropTail {
        self.drop_from = drop_from;
        self
    }

    /// The queue counts `bytes` on top of each IP packet (Linux counts the Ethernet header, 14 bytes, on an Ethernet
    /// device). Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> DropTail {
        self.waiting.set_link_layer(bytes);
        self
    }
}

impl QueueDisc for DropTail {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        if !self.waiting.has_room(self.limit, &packet) {
            let could_ever_fit = has_room(self.limit, 0, 0, self.waiting.cost(&packet));
            if self.drop_from == DropFrom::Tail || !could_ever_fit {
                drops.push(packet, DropReason::Tail);
                return;
            }
            while !self.waiting.has_room(self.limit, &packet)
                && let Some(oldest) = self.waiting.pop()
            {
                drops.push(oldest, DropReason::Head);
            }
        }
        self.waiting.push(packet, now);
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops) -> Option<Packet> {
        self.waiting.pop()
    }

    fn peek(&mut self, _now: Time, _drops: &mut Drops) -> Option<&Packet> {
        self.waiting.front()
    }

    fn len_packets(&self) -> usize {
        self.waiting.len()
    }

    fn len_bytes(&self) -> u64 {
        self.waiting.bytes()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

// As in devices, whose queues exist once per access category, and from which the MAC builds its frames.
impl ByNeighbour for DropTail {
    fn peek_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        _now: Time,
        _drops: &mut Drops,
    ) -> Option<&Packet> {
        self.waiting.first_for(neighbour)
    }

    fn dequeue_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        _now: Time,
        _drops: &mut Drops,
    ) -> Option<Packet> {
        self.waiting.pop_for(neighbour)
    }

    fn dequeue_admitted(
        &mut self,
        neighbour: NeighbourId,
        _now: Time,
        _drops: &mut Drops,
        admits: &mut dyn FnMut(&Packet) -> bool,
    ) -> Option<Packet> {
        self.waiting.pop_admitted(neighbour, admits)
    }

    fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        _now: Time,
        _drops: &mut Drops,
    ) -> Option<NeighbourId> {
        self.waiting.neighbours().find(|neighbour| !neighbours.contains(neighbour))
    }
}

impl LinkFeedback for DropTail {}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::FlowKey;
    use proptest::prelude::*;

    fn fill(queue: &mut DropTail, sizes: &[u32]) -> Drops {
        let mut drops = Drops::new();
        for (id, &size) in sizes.iter().enumerate() {
            queue.enqueue(
                Packet::new(id as u64, FlowKey(0), size, Time::ZERO),
                Time::ZERO,
                &mut drops,
            );
        }
        drops
    }

    fn ids(drops: &Drops) -> Vec<(u64, DropReason)> {
        drops.as_slice().iter().map(|d| (d.packet.id, d.reason)).collect()
    }

    #[test]
    fn tail_drop_refuses_the_newcomer() {
        let mut q = DropTail::new(Limit::Packets(2));
        assert_eq!(ids(&fill(&mut q, &[100, 100, 100])), [(2, DropReason::Tail)]);
        assert_eq!(q.len_packets(), 2);
    }

    #[test]
    fn head_drop_sacrifices_the_oldest() {
        let mut q = DropTail::new(Limit::Packets(2)).dropping_from(DropFrom::Head);
        assert_eq!(ids(&fill(&mut q, &[100, 100, 100])), [(0, DropReason::Head)]);
        let mut q = DropTail::new(Limit::Bytes(1000)).dropping_from(DropFrom::Head);
        let drops = fill(&mut q, &[400, 400, 900, 1001]);
        let expected = [(0, DropReason::Head), (1, DropReason::Head), (3, DropReason::Tail)];
        assert_eq!(ids(&drops), expected);
        assert_eq!((q.len_packets(), q.len_bytes()), (1, 900));
    }

    #[test]
    fn a_queue_without_room_accepts_nothing() {
        for from in [DropFrom::Tail, DropFrom::Head] {
            let mut q = DropTail::new(Limit::Packets(0)).dropping_from(from);
            assert_eq!(ids(&fill(&mut q, &[1])), [(0, DropReason::Tail)]);
        }
    }

    /// A small packet may still fit where a large one did not.
    #[test]
    fn byte_limit_is_met_exactly() {
        let mut q = DropTail::new(Limit::Bytes(3000)).with_link_layer(14);
        assert_eq!(ids(&fill(&mut q, &[1486, 1487, 1486])), [(1, DropReason::Tail)]);
        assert_eq!(q.len_bytes(), 3000);
    }

    #[test]
    fn a_lower_limit_drops_no_packet() {
        let mut q = DropTail::new(Limit::Packets(3));
        fill(&mut q, &[1, 1, 1]);
        q.set_limit(Limit::Packets(1));
        assert_eq!(q.len_packets(), 3);
        assert_eq!(ids(&fill(&mut q, &[1])), [(0, DropReason::Tail)]);
    }

    proptest! {
        /// Equal packets: a byte queue holds the floor of limit / (size + link layer).
        #[test]
        fn byte_queue_holds_the_floor(limit in 0u64..200_000, size in 1u32..3000, link in 0u32..40) {
            let mut q = DropTail::new(Limit::Bytes(limit)).with_link_layer(link);
            let fits = limit / u64::from(size + link);
            prop_assume!(fits < 2000);
            fill(&mut q, &vec![size; fits as usize + 3]);
            prop_assert_eq!(q.len_packets() as u64, fits);
        }

        #[test]
        fn limits_hold_whatever_arrives(
            n in 0u32..20,
            bytes in 0u64..5000,
            head: bool,
            sizes in prop::collection::vec(1u32..2000, 0..60),
        ) {
            let from = if head { DropFrom::Head } else { DropFrom::Tail };
            let mut q = DropTail::new(Limit::Packets(n)).dropping_from(from);
            fill(&mut q, &sizes);
            prop_assert_eq!(q.len_packets(), sizes.len().min(n as usize));
            let mut q = DropTail::new(Limit::Bytes(bytes)).dropping_from(from);
            fill(&mut q, &sizes);
            prop_assert!(q.len_bytes() <= bytes);
        }
    }
}
