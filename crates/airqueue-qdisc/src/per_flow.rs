//! Flows kept apart: one queue per flow, served in turn.

use airqueue_core::{Drops, Limit, Packet, QueueDisc, Time};
use std::collections::{BTreeMap, VecDeque};

/// One child discipline per flow, served round robin: packet by packet (Nagle, RFC 970), or by bytes with
/// a quantum (deficit round robin, Shreedhar and Varghese, SIGCOMM 1995). The limit is each child's
/// own. A flow's child is made when its first packet arrives.
pub struct PerFlow<Q, F> {
    make: F,
    limit: Option<Limit>,
    /// IP bytes for each turn; `None`: a packet.
    quantum: Option<u32>,
    index: BTreeMap<u32, usize>,
    children: Vec<Child<Q>>,
    /// Children in the order of service; a child is listed at most once.
    turn: VecDeque<usize>,
    /// The first of them has been given the quantum of this turn.
    begun: bool,
    packets: usize,
    bytes: u64,
}

struct Child<Q> {
    queue: Q,
    listed: bool,
    /// IP bytes that it may still send in this turn, and takes with it into the next.
    deficit: u64,
}

impl<Q: QueueDisc, F: FnMut(u32) -> Q> PerFlow<Q, F> {
    /// No flows yet; `make` makes the queue of a flow. Turns are of one packet.
    pub fn new(make: F) -> PerFlow<Q, F> {
        PerFlow {
            make,
            limit: None,
            quantum: None,
            index: BTreeMap::new(),
            children: Vec::new(),
            turn: VecDeque::new(),
            begun: false,
            packets: 0,
            bytes: 0,
        }
    }

    /// The same with turns of `bytes` IP bytes; 0 is taken for 1. With less than the largest packet some
    /// turns pass without one, and serving costs more.
    pub fn with_quantum(mut self, bytes: u32) -> PerFlow<Q, F> {
        self.quantum = Some(bytes.max(1));
        self
    }

    fn child_of(&mut self, flow: u32) -> usize {
        *self.index.entry(flow).or_insert_with(|| {
            let mut queue = (self.make)(flow);
            if let Some(limit) = self.limit {
                queue.set_limit(limit);
            }
            self.children.push(Child { queue, listed: false, deficit: 0 });
            self.children.len() - 1
        })
    }

    /// Does something with a child's queue, and keeps the sums.
    fn on_child<R>(&mut self, at: usize, act: impl FnOnce(&mut Q) -> R) -> R {
        let queue = &mut self.children[at].queue;
        let before = (queue.len_packets(), queue.len_bytes());
        let result = act(queue);
        self.packets = self.packets - before.0 + queue.len_packets();
        self.bytes = self.bytes - before.1 + queue.len_bytes();
        result
    }

    /// Brings the next child that has a packet to offer, and may send it, to the front of the turn and
    /// returns it.
    fn settle(&mut self, now: Time, drops: &mut Drops) -> Option<usize> {
        // Children that have been asked in vain since one had an offer.
        let mut idle = 0;
        while idle < self.turn.len() {
            let at = *self.turn.front()?;
            let size = self.on_child(at, |queue| queue.peek(now, drops).map(|p| u64::from(p.size)));
            let Some(size) = size else {
                idle += 1;
                self.end_turn(at);
                continue;
            };
            idle = 0;
            let Some(quantum) = self.quantum else { return Some(at) };
            let child = &mut self.children[at];
            if !std::mem::replace(&mut self.begun, true) {
                child.deficit += u64::from(quantum);
            }
            if size <= child.deficit {
                return Some(at);
            }
            self.end_turn(at);
        }
        None
    }

    /// The first in the turn goes to its end.
    fn end_turn(&mut self, at: usize) {
        self.turn.pop_front();
        self.begun = false;
        self.relist(at);
    }

    /// Puts a child that is not in the turn at its end if it holds packets.
    fn relist(&mut self, at: usize) {
        let child = &mut self.children[at];
        child.listed = !child.queue.is_empty();
        if child.listed {
            self.turn.push_back(at);
        } else {
            child.deficit = 0;
        }
    }
}

impl<Q: QueueDisc, F: FnMut(u32) -> Q> QueueDisc for PerFlow<Q, F> {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let at = self.child_of(packet.flow);
        self.on_child(at, |queue| queue.enqueue(packet, now, drops));
        if !self.children[at].listed {
            self.relist(at);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let at = self.settle(now, drops)?;
        let packet = self.on_child(at, |queue| queue.dequeue(now, drops))?;
        let child = &mut self.children[at];
        child.deficit = child.deficit.saturating_sub(u64::from(packet.size));
        if self.quantum.is_none() || child.queue.is_empty() {
            self.end_turn(at);
        }
        Some(packet)
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let at = self.settle(now, drops)?;
        self.children[at].queue.peek(now, drops)
    }

    fn len_packets(&self) -> usize {
        self.packets
    }

    fn len_bytes(&self) -> u64 {
        self.bytes
    }

    fn next_wakeup(&self, now: Time) -> Option<Time> {
        self.children.iter().filter_map(|c| c.queue.next_wakeup(now)).min()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = Some(limit);
        for child in &mut self.children {
            child.queue.set_limit(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropTail;

    fn packet(id: u64, flow: u32) -> Packet {
        Packet::new(id, flow, 100, Time::ZERO)
    }

    #[test]
    fn a_flood_costs_only_itself() {
        let mut q = PerFlow::new(|_| DropTail::new(Limit::Packets(3)));
        let mut drops = Drops::new();
        for id in 0..10 {
            q.enqueue(packet(id, 0), Time::ZERO, &mut drops);
        }
        q.enqueue(packet(100, 1), Time::ZERO, &mut drops);
        q.enqueue(packet(101, 1), Time::ZERO, &mut drops);
        assert!(drops.as_slice().iter().all(|d| d.packet.flow == 0));
        assert_eq!(drops.as_slice().len(), 7);
        let order: Vec<u64> =
            std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut drops)).map(|p| p.id).collect();
        assert_eq!(order, [0, 100, 1, 101, 2]);
    }

    #[test]
    fn new_limits_reach_flows_that_come_later() {
        let mut q = PerFlow::new(|_| DropTail::new(Limit::Packets(3)));
        let mut drops = Drops::new();
        q.set_limit(Limit::Packets(1));
        for id in 0..3 {
            q.enqueue(packet(id, 7), Time::ZERO, &mut drops);
        }
        assert_eq!(q.len_packets(), 1);
    }

    fn order(quantum: u32, offered: &[(u32, u32)]) -> Vec<u32> {
        let make = |_| DropTail::new(Limit::Packets(100));
        let mut q = PerFlow::new(make).with_quantum(quantum);
        let mut drops = Drops::new();
        for &(flow, size) in offered {
            q.enqueue(Packet::new(0, flow, size, Time::ZERO), Time::ZERO, &mut drops);
        }
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut drops)).map(|p| p.flow).collect()
    }

    /// The example of Shreedhar and Varghese, Figures 2 and 3: quantum 500, the first queue's packets of
    /// 200, 750 and 20 bytes, the second's of 500 and 500. The first sends 200 and keeps 300; the second
    /// sends 500; the first has 800, sends 750 and 20.
    #[test]
    fn deficit_round_robin_counts_bytes() {
        let offered = [(1, 200), (1, 750), (1, 20), (2, 500), (2, 500)];
        assert_eq!(order(500, &offered), [1, 2, 1, 1, 2]);
    }

    /// Their Theorem: over any time in which two flows are backlogged they differ by at most a quantum
    /// and two packets, whatever their sizes and however small the quantum.
    #[test]
    fn flows_of_unequal_packets_have_equal_rates() {
        for quantum in [0, 100, 1514] {
            let offered: Vec<_> =
                (0..50).map(|_| (1, 1500)).chain((0..100).map(|_| (2, 200))).collect();
            let served = order(quantum, &offered);
            let (mut big, mut small) = (0i64, 0i64);
            for flow in &served[..60] {
                if *flow == 1 {
                    big += 1500
                } else {
                    small += 200
                }
                assert!((big - small).abs() <= i64::from(quantum) + 2 * 1500, "{big} {small}");
            }
            assert_eq!(served.len(), 150);
        }
    }
}
