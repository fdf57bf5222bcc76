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

    pub(crate) fn push(&mut self, list: usize, packet: Packet) {
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
