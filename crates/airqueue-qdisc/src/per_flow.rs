//! Flows kept apart: one queue per flow, served in turn.

use airqueue_core::{Drops, Limit, Packet, QueueDisc, Time};
use std::collections::{BTreeMap, VecDeque};

/// One child discipline per flow, served round robin, packet by packet (Nagle, RFC 970). The limit
/// is each child's own. A flow's child is made when its first packet arrives.
pub struct PerFlow<Q, F> {
    make: F,
    limit: Option<Limit>,
    index: BTreeMap<u32, usize>,
    children: Vec<Child<Q>>,
    /// Children in the order of service; a child is listed at most once.
    turn: VecDeque<usize>,
}

struct Child<Q> {
    queue: Q,
    listed: bool,
}

impl<Q: QueueDisc, F: FnMut(u32) -> Q> PerFlow<Q, F> {
    /// No flows yet; `make` makes the queue of a flow.
    pub fn new(make: F) -> PerFlow<Q, F> {
        PerFlow {
            make,
            limit: None,
            index: BTreeMap::new(),
            children: Vec::new(),
            turn: VecDeque::new(),
        }
    }

    fn child_of(&mut self, flow: u32) -> usize {
        *self.index.entry(flow).or_insert_with(|| {
            let mut queue = (self.make)(flow);
            if let Some(limit) = self.limit {
                queue.set_limit(limit);
            }
            self.children.push(Child { queue, listed: false });
            self.children.len() - 1
        })
    }

    /// Brings the next child that has a packet to offer to the front of the turn and returns it.
    fn settle(&mut self, now: Time, drops: &mut Drops) -> Option<usize> {
        for _ in 0..self.turn.len() {
            let at = *self.turn.front()?;
            if self.children[at].queue.peek(now, drops).is_some() {
                return Some(at);
            }
            self.turn.pop_front();
            self.relist(at);
        }
        None
    }

    /// Puts a child that was taken off the turn at its end if it still holds packets.
    fn relist(&mut self, at: usize) {
        let child = &mut self.children[at];
        child.listed = !child.queue.is_empty();
        if child.listed {
            self.turn.push_back(at);
        }
    }
}

impl<Q: QueueDisc, F: FnMut(u32) -> Q> QueueDisc for PerFlow<Q, F> {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let at = self.child_of(packet.flow);
        self.children[at].queue.enqueue(packet, now, drops);
        if !self.children[at].listed {
            self.relist(at);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let at = self.settle(now, drops)?;
        let packet = self.children[at].queue.dequeue(now, drops);
        self.turn.pop_front();
        self.relist(at);
        packet
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let at = self.settle(now, drops)?;
        self.children[at].queue.peek(now, drops)
    }

    fn len_packets(&self) -> usize {
        self.children.iter().map(|c| c.queue.len_packets()).sum()
    }

    fn len_bytes(&self) -> u64 {
        self.children.iter().map(|c| c.queue.len_bytes()).sum()
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
}
