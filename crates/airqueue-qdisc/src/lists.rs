//! Many FIFO lists of packets in one store, which grows to the maximum number of waiting packets and then allocates
//! nothing.

use airqueue_core::Packet;

/// No packet.
const NONE: u32 = u32::MAX;

/// FIFO lists of packets.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    nodes: Vec<Node>,
    /// The first unused node.
    free: u32,
    lists: Vec<List>,
    packets: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    packet: Packet,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    packets: u32,
}

const EMPTY: List = List { head: NONE, tail: NONE, packets: 0 };

impl Lists {
    /// `lists` empty lists.
    pub(crate) fn new(lists: usize) -> Lists {
        Lists { nodes: Vec::new(), free: NONE, lists: vec![EMPTY; lists], packets: 0 }
    }

    /// Packets in all lists.
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Packets in a list.
    pub(crate) fn len(&self, list: usize) -> usize {
        self.lists[list].packets as usize
    }

    /// Adds a list after the others.
    pub(crate) fn add(&mut self) {
        self.lists.push(EMPTY);
    }

    /// Adds a packet to the end of a list; returns the packet's place in the store, which the packet keeps until it is
    /// taken out, and another packet has afterwards.
    pub(crate) fn push(&mut self, list: usize, packet: Packet) -> u32 {
        let node = Node { packet, next: NONE };
        let at = self.free;
        let at = if at == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        let List { head, tail, packets } = &mut self.lists[list];
        if *head == NONE {
            *head = at;
        } else {
            self.nodes[*tail as usize].next = at;
        }
        *tail = at;
        *packets += 1;
        self.packets += 1;
        at
    }

    /// The places of the packets of a list, in order.
    pub(crate) fn places(&self, list: usize) -> impl Iterator<Item = u32> {
        let known = |at: u32| (at != NONE).then_some(at);
        let next = move |&at: &u32| known(self.nodes[at as usize].next);
        // The last node of a list leads nowhere.
        std::iter::successors(known(self.lists[list].head), next)
    }

    /// Takes the packet at a place out of its list. `before`: the place of the packet before; `None` for the first
    /// packet.
    pub(crate) fn remove(&mut self, list: usize, at: u32, before: Option<u32>) -> Packet {
        let node = self.nodes[at as usize];
        let List { head, tail, packets } = &mut self.lists[list];
        match before {
            Some(before) => self.nodes[before as usize].next = node.next,
            None => *head = node.next,
        }
        if *tail == at {
            *tail = before.unwrap_or(NONE);
        }
        *packets -= 1;
        self.packets -= 1;
        self.nodes[at as usize].next = self.free;
        self.free = at;
        node.packet
    }

    pub(crate) fn pop(&mut self, list: usize) -> Option<Packet> {
        let List { head, packets, .. } = &mut self.lists[list];
        let at = *head;
        let node = self.nodes.get_mut(at as usize)?;
        *head = std::mem::replace(&mut node.next, self.free);
        self.free = at;
        *packets -= 1;
        self.packets -= 1;
        Some(node.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{FlowKey, Time};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn each_line_is_a_queue(steps in prop::collection::vec((0usize..4, any::<bool>()), 0..200)) {
            let mut lists = Lists::new(3);
            lists.add();
            let mut truth = vec![VecDeque::new(); 4];
            let mut most = 0;
            for (id, (list, arrives)) in steps.into_iter().enumerate() {
                if arrives {
                    lists.push(list, Packet::new(id as u64, FlowKey(0), 1, Time::ZERO));
                    truth[list].push_back(id as u64);
                } else {
                    prop_assert_eq!(lists.pop(list).map(|p| p.id), truth[list].pop_front());
                }
                let waiting: usize = truth.iter().map(VecDeque::len).sum();
                most = most.max(waiting);
                prop_assert_eq!(lists.packets(), waiting);
                prop_assert_eq!(lists.len(list), truth[list].len());
            }
            prop_assert_eq!(lists.nodes.len(), most, "a place that has become free is used again");
        }
    }
}
