//! Flow queues that take turns by bytes, new queues first, each under CoDel: the common part of FQ-CoDel (RFC 8290) and
//! of the queues of Linux's mac80211.

use crate::codel::{CodelParams, Control};
use crate::lists::Lists;
use airqueue_core::{DropReason, Drops, Packet, Time};
use std::collections::VecDeque;

/// Queues in a word.
const WORD: usize = u64::BITS as usize;

/// All flow queues, with their packets.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues {
    /// Bytes, link layer included, that a queue may send in one turn.
    quantum: u32,
    link_layer: u32,
    waiting: Lists,
    flows: Vec<Flow>,
    /// The backlog of each flow in bytes, stored apart from the flows: the search for the maximum reads nothing else.
    backlogs: Vec<u64>,
    /// One bit for each flow, in words: the flows with a backlog, and some that had one since the last search.
    backlogged: Vec<u64>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    control: Control,
    /// Bytes that the queue may still send in this turn.
    deficit: i64,
    /// The queue is in one of the two lists.
    listed: bool,
    /// The owner of the lists, in the caller's numbers.
    owner: u32,
}

/// The flow queues that take turns with each other, and their total backlog.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    bytes: u64,
}

/// What a full store dropped.
pub(crate) struct Shed {
    /// The owner of the queue.
    pub(crate) owner: u32,
    /// Number of packets.
    pub(crate) packets: usize,
    /// Bytes of these packets.
    pub(crate) bytes: u64,
}

impl Turns {
    /// No queues, with capacity for `queues`.
    pub(crate) fn with_capacity(queues: usize) -> Turns {
        let (new, old) = (VecDeque::with_capacity(queues), VecDeque::with_capacity(queues));
        Turns { new, old, bytes: 0 }
    }

    /// Bytes that the queues hold.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Subtracts the bytes that were shed.
    pub(crate) fn shed(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }
}

impl FlowQueues {
    pub(crate) fn new(quantum: u32, queues: usize) -> FlowQueues {
        FlowQueues {
            quantum,
            link_layer: 0,
            waiting: Lists::new(queues),
            flows: vec![Flow::default(); queues],
            backlogs: vec![0; queues],
            backlogged: vec![0; queues.div_ceil(WORD)],
            bytes: 0,
        }
    }

    /// From now on counts `bytes` on top of each IP packet. Only for empty queues.
    pub(crate) fn set_link_layer(&mut self, bytes: u32) {
        debug_assert!(self.bytes == 0);
        self.link_layer = bytes;
    }

    /// Adds a queue and returns its number.
    pub(crate) fn add(&mut self) -> u32 {
        self.waiting.add();
        self.flows.push(Flow::default());
        self.backlogs.push(0);
        self.backlogged.resize(self.flows.len().div_ceil(WORD), 0);
        self.flows.len() as u32 - 1
    }

    /// The bytes that a packet counts as.
    pub(crate) fn cost(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.link_layer)
    }

    /// Packets in all queues.
    pub(crate) fn packets(&self) -> usize {
        self.waiting.packets()
    }

    /// Bytes in all queues.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The owner of the turns that a queue takes part in, if any.
    pub(crate) fn owner(&self, at: usize) -> Option<u32> {
        let flow = &self.flows[at];
        flow.listed.then_some(flow.owner)
    }

    /// Adds a packet to a queue, which takes part in `turns`, those of `owner`.
    pub(crate) fn push(
        &mut self,
        at: usize,
        owner: u32,
        turns: &mut Turns,
        mut packet: Packet,
        now: Time,
    ) {
        packet.enqueued = now;
        let cost = self.cost(&packet);
        self.waiting.push(at, packet);
        self.backlogs[at] += cost;
        self.backlogged[at / WORD] |= 1 << (at % WORD);
        self.bytes += cost;
        turns.bytes += cost;
        let flow = &mut self.flows[at];
        if !flow.listed {
            let deficit = i64::from(self.quantum);
            *flow = Flow { listed: true, owner, deficit, ..*flow };
            turns.new.push_back(at as u32);
        }
    }

    /// Takes out the packet that leaves next under this CoDel (RFC 8290, section 4.2; Linux: `fq_tin_dequeue`).
    pub(crate) fn pop(
        &mut self,
        turns: &mut Turns,
        codel: &CodelParams,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Packet> {
        loop {
            let is_new = !turns.new.is_empty();
            let list = if is_new { &mut turns.new } else { &mut turns.old };
            let at = *list.front()?;
            let flow = &mut self.flows[at as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.quantum);
                list.pop_front();
                turns.old.push_back(at);
                continue;
            }
            if let Some(packet) = self.take_from(at as usize, turns, codel, now, drops) {
                self.flows[at as usize].deficit -= self.cost(&packet) as i64;
                return Some(packet);
            }
            // An empty new queue joins the old queues: if the queue were forgotten, its next packet would make it new
            // again and serve it first, and the old queues would starve.
            let list = if is_new { &mut turns.new } else { &mut turns.old };
            list.pop_front();
            if is_new && !turns.old.is_empty() {
                turns.old.push_back(at);
            } else {
                self.flows[at as usize].listed = false;
            }
        }
    }

    /// Takes the next packet that CoDel lets a flow send.
    fn take_from(
        &mut self,
        at: usize,
        turns: &mut Turns,
        codel: &CodelParams,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Packet> {
        let FlowQueues { waiting, backlogs, bytes, link_layer, flows, .. } = self;
        let take = || {
            let packet = waiting.pop(at)?;
            let cost = u64::from(packet.size) + u64::from(*link_layer);
            backlogs[at] -= cost;
            *bytes -= cost;
            turns.bytes -= cost;
            Some((packet, turns.bytes))
        };
        flows[at].control.dequeue(codel, now, take, drops)
    }

    /// The queue with the most bytes, the first of several. Most queues are empty: only those with a backlog are compared.
    pub(crate) fn fattest(&mut self) -> usize {
        let (mut fattest, mut most) = (0, 0);
        for (at, word) in self.backlogged.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let queue = at * WORD + rest.trailing_zeros() as usize;
                let backlog = self.backlogs[queue];
                if backlog > most {
                    (fattest, most) = (queue, backlog);
                } else if backlog == 0 {
                    *word &= !(rest & rest.wrapping_neg());
                }
                rest &= rest - 1;
            }
        }
        fattest
    }

    /// Packets and bytes of a queue.
    pub(crate) fn backlog(&self, at: usize) -> (usize, u64) {
        (self.waiting.len(at), self.backlogs[at])
    }

    /// Drops packets from the head of a queue until `most` packets or `enough` bytes are gone; at least one packet.
    pub(crate) fn shed(&mut self, at: usize, most: usize, enough: u64, drops: &mut Drops) -> Shed {
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = self.waiting.pop(at) {
            drops.push(packet, DropReason::Head);
            packets += 1;
            bytes += self.cost(&packet);
            if packets >= most || bytes >= enough {
                break;
            }
        }
        self.backlogs[at] -= bytes;
        self.bytes -= bytes;
        Shed { owner: self.flows[at].owner, packets, bytes }
    }

    /// Makes CoDel's signal stronger: `packets` of a queue were dropped for lack of room.
    pub(crate) fn add_drops(&mut self, at: usize, packets: u32) {
        self.flows[at].control.add_drops(packets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::FlowKey;
    use proptest::prelude::*;

    const QUEUES: usize = 130;

    proptest! {
        /// Packets come, leave and are shed; queues are added. The fattest is the first with the largest backlog of all.
        #[test]
        fn the_fattest_has_the_most_bytes(
            steps in prop::collection::vec((0..QUEUES, 1u32..4, 0u8..8), 1..200),
        ) {
            let (mut queues, mut turns) = (FlowQueues::new(300, QUEUES - 2), Turns::with_capacity(QUEUES));
            queues.add();
            queues.add();
            let (codel, mut drops, now) = (CodelParams::default(), Drops::new(), Time::ZERO);
            for (at, size, step) in steps {
                match step {
                    0..4 => {
                        let packet = Packet::new(0, FlowKey(0), 100 * size, now);
                        queues.push(at, 0, &mut turns, packet, now);
                    }
                    4..7 => {
                        queues.pop(&mut turns, &codel, now, &mut drops);
                    }
                    _ => {
                        let fattest = queues.fattest();
                        let shed = queues.shed(fattest, 2, u64::MAX, &mut drops);
                        turns.shed(shed.bytes);
                    }
                }
                let backlogs: Vec<u64> = (0..QUEUES).map(|queue| queues.backlog(queue).1).collect();
                let most = backlogs.iter().max().expect("there are queues");
                let first = backlogs.iter().position(|backlog| backlog == most);
                prop_assert_eq!(Some(queues.fattest()), first);
            }
        }
    }
}
