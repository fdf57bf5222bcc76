//! SFQ, stochastic fairness queueing (McKenney, INFOCOM 1990), as in Linux's `sch_sfq`: flows are hashed to queues that
//! take turns by bytes, the key of the hash may change at intervals, and a full store drops from the longest queue.

mod depths;

use crate::discipline::{Around, Facts, LEAST_INTERVAL, LEAST_QUANTUM, Parameters, Place};
use crate::flow_hash::FlowHash;
use airqueue_core::keys::check::{any, least, one_to};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DropReason, Drops, Limit, LinkFeedback, Packet, QueueDisc,
    RandomStream, Span, Time, take,
};
use depths::Depths;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::VecDeque;

/// The maximum length of a flow's queue in Linux (`SFQ_MAX_DEPTH`).
pub const MOST_DEPTH: u32 = 127;
/// The maximum number of queues in Linux (`SFQ_MAX_FLOWS`).
pub const MOST_FLOWS: u32 = 65_408;
/// The maximum size of the hash table in Linux (`sfq_change`).
pub const MOST_DIVISOR: u32 = 65_536;

/// No queue.
const NONE: u32 = u32::MAX;

/// The parameters of SFQ, named as in `tc qdisc add ... sfq`. The RED mode (`min`, `max`, `probability`, ...) is not
/// modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfqParams {
    /// Bytes, link layer included, that a queue may send in one turn.
    pub quantum: u32,
    /// Packets that one queue holds, 1 to [`MOST_DEPTH`].
    pub depth: u32,
    /// The maximum number of queues that hold packets at the same time, 1 to [`MOST_FLOWS`]; at most `divisor`, and at
    /// most a limit in packets.
    pub flows: u32,
    /// Places of the hash table, 1 to [`MOST_DIVISOR`]. (Linux requires a power of two.)
    pub divisor: u32,
    /// A full queue drops its oldest packet instead of its newest.
    pub headdrop: bool,
    /// The interval at which the hash gets a new key; `None`: the hash keeps its first key.
    pub perturb: Option<Span>,
}

impl Default for SfqParams {
    /// The defaults of `sfq_init`; tc changes none of them.
    fn default() -> SfqParams {
        SfqParams {
            quantum: 1514,
            depth: MOST_DEPTH,
            flows: 128,
            divisor: 1024,
            headdrop: false,
            perturb: None,
        }
    }
}

/// SFQ, with the parameters of `tc qdisc add ... sfq`, without the RED mode.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SfqTable {
    /// Bytes that a queue sends in one turn. The default is `1514 B`.
    pub quantum: Option<Quantity<Size>>,
    /// Largest number of packets of one queue. The default is 127.
    #[schemars(range(min = 1, max = 127))]
    pub depth: Option<u32>,
    /// Largest number of queues that hold packets at the same time. The default is 128.
    #[schemars(range(min = 1, max = 65_408))]
    pub flows: Option<u32>,
    /// Number of places of the hash; more flows than places share queues. The default is 1024.
    #[schemars(range(min = 1, max = 65_536))]
    pub divisor: Option<u32>,
    /// Whether a full queue drops its oldest packet instead of its newest. The default is false.
    pub headdrop: Option<bool>,
    /// Interval after which the key of the hash changes, so that no two flows share a queue for long. The default is
    /// never.
    pub perturb: Option<Quantity<Duration>>,
}

impl Parameters for SfqParams {
    type Table = SfqTable;
    const NAME: &'static str = "SFQ";
    const ABOUT: &'static str = "SFQ (McKenney, 1990), as in Linux: flows hashed to queues that \
        take turns, and drops from the longest queue.";

    fn check(tables: &Layers<'_, SfqTable>, _: &Around) -> Result<SfqParams> {
        let mut params = SfqParams::default();
        take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "64 B"));
        take!(params.depth, tables.depth, one_to(MOST_DEPTH));
        take!(params.flows, tables.flows, one_to(MOST_FLOWS));
        take!(params.divisor, tables.divisor, one_to(MOST_DIVISOR));
        take!(params.headdrop, tables.headdrop, any);
        take!(params.perturb, tables.perturb, |given| least(LEAST_INTERVAL, "1 ms")(given)
            .map(Some));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(MOST_DEPTH),
            // All packets in one queue, or each in a queue of its own.
            room: Some(Limit::Packets(self.depth.min(self.flows))),
            queues: Some(("sfq.divisor", self.divisor)),
            drops_waiting: true,
            full_below_limit: true,
            ..Facts::default()
        }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        Box::new(Sfq::new(*self, place.limit, place.rng).with_link_layer(place.link_layer))
    }
}

/// Hashed queues that take turns, with one limit for all. (tc: `sfq`.)
///
/// An arrival takes constant time, also in a full store: chains of queues of equal length give the longest queue at
/// once. Among queues of equal length, the queue that reached the length last loses a packet, as in `sfq_drop`.
#[derive(Clone, Debug)]
pub struct Sfq {
    params: SfqParams,
    limit: Limit,
    random: RandomStream,
    hash: FlowHash,
    /// When the hash gets its next key.
    perturb_at: Option<Time>,
    /// The queue of each place of the hash.
    places: Vec<u32>,
    slots: Vec<Slot>,
    depths: Depths,
    /// The queue that was served last: the next turn is that of the queue after this one.
    tail: u32,
    active: usize,
    packets: usize,
    bytes: u64,
    link_layer: u32,
    /// The packet that `peek` has decided on. Linux counts the packet as waiting, but not in its queue
    /// (`qdisc_peek_dequeued`).
    decided: Option<Packet>,
}

/// A queue of a flow.
#[derive(Clone, Debug, Default)]
struct Slot {
    waiting: VecDeque<Packet>,
    /// The queue's place in the hash table.
    place: u32,
    /// The queue whose turn comes next.
    next: u32,
    /// Bytes that the queue may still send in this turn.
    allot: i64,
}

impl Sfq {
    /// Empty queues that count IP bytes. `random` gives the keys of the hash.
    pub fn new(params: SfqParams, limit: Limit, mut random: RandomStream) -> Sfq {
        let divisor = params.divisor.clamp(1, MOST_DIVISOR);
        let params = SfqParams {
            quantum: params.quantum.max(1),
            depth: params.depth.clamp(1, MOST_DEPTH),
            flows: params.flows.clamp(1, MOST_FLOWS.min(divisor)),
            divisor,
            perturb: params.perturb.filter(|&period| period > Span::ZERO),
            ..params
        };
        Sfq {
            hash: FlowHash::new(&mut random),
            perturb_at: params.perturb.map(|period| Time::ZERO.saturating_add(period)),
            places: vec![NONE; divisor as usize],
            slots: vec![Slot::default(); params.flows as usize],
            depths: Depths::new(params.flows as usize, params.depth as usize),
            params,
            limit,
            random,
            tail: NONE,
            active: 0,
            packets: 0,
            bytes: 0,
            link_layer: 0,
            decided: None,
        }
    }

    /// The queues count `bytes` on top of each IP packet. Only for empty queues.
    pub fn with_link_layer(mut self, bytes: u32) -> Sfq {
        self.link_layer = bytes;
        self
    }

    fn cost(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.link_layer)
    }

    fn is_over_limit(&self) -> bool {
        match self.limit {
            Limit::Packets(most) => self.len_packets() > most as usize,
            Limit::Bytes(most) => self.len_bytes() > most,
        }
    }

    /// A free queue for a place of the hash table that has no queue, unless as many queues are in use as the limit
    /// allows (`sfq_change`).
    fn open(&mut self, place: u32) -> Option<u32> {
        if let Limit::Packets(most) = self.limit
            && self.active >= most as usize
        {
            return None;
        }
        let slot = self.depths.first_of(0)?;
        self.places[place as usize] = slot;
        self.slots[slot as usize].place = place;
        Some(slot)
    }

    fn push(&mut self, slot: u32, packet: Packet) {
        self.packets += 1;
        self.bytes += self.cost(&packet);
        let at = slot as usize;
        self.slots[at].waiting.push_back(packet);
        self.depths.deepen(slot);
        if self.slots[at].waiting.len() > 1 {
            return;
        }
        // A queue that was empty gets the last turn.
        self.slots[at].allot = i64::from(self.params.quantum);
        let first = if self.tail == NONE { slot } else { self.slots[self.tail as usize].next };
        self.slots[at].next = first;
        if self.tail != NONE {
            self.slots[self.tail as usize].next = slot;
        }
        self.tail = slot;
        self.active += 1;
    }

    /// Takes the oldest packet of a queue, or its newest.
    fn take(&mut self, slot: u32, oldest: bool) -> Packet {
        let waiting = &mut self.slots[slot as usize].waiting;
        let packet = if oldest { waiting.pop_front() } else { waiting.pop_back() };
        let packet = packet.expect("the queue has its turn, or is the longest");
        self.depths.shorten(slot);
        self.packets -= 1;
        self.bytes -= self.cost(&packet);
        packet
    }

    /// The queue after the queue that was served last has become empty, and leaves the turns and its place of the hash
    /// table.
    fn close_first(&mut self, slot: u32) {
        let Slot { place, next, .. } = self.slots[slot as usize];
        self.places[place as usize] = NONE;
        self.active -= 1;
        if next == slot {
            self.tail = NONE;
        } else {
            self.slots[self.tail as usize].next = next;
        }
    }

    /// Drops a packet of the longest queue (`sfq_drop`); if no queue has more than one packet, the packet of the queue
    /// that sends next.
    fn drop_from_longest(&mut self) -> Option<Packet> {
        match self.depths.longest() {
            (0, _) => None,
            (1, _) => {
                let slot = self.slots[self.tail as usize].next;
                let packet = self.take(slot, true);
                self.close_first(slot);
                Some(packet)
            }
            (_, slot) => Some(self.take(slot, self.params.headdrop)),
        }
    }

    /// Gives the hash a new key at the end of an interval, and moves the packets to the queues that the new key assigns
    /// (`sfq_perturbation`, `sfq_rehash`). Queues that now share a place may become too long; Linux drops the excess.
    fn perturb(&mut self, now: Time, drops: &mut Drops) {
        let (Some(due), Some(period)) = (self.perturb_at, self.params.perturb) else { return };
        if now < due {
            return;
        }
        let periods = (now - due).as_nanos() / period.as_nanos() + 1;
        let passed = period.as_nanos().saturating_mul(periods);
        self.perturb_at = Some(due.saturating_add(Span::from_nanos(passed)));
        self.hash = FlowHash::new(&mut self.random);
        let mut all = VecDeque::with_capacity(self.packets);
        for slot in 0..self.slots.len() as u32 {
            for _ in 0..self.slots[slot as usize].waiting.len() {
                let packet = self.take(slot, true);
                all.push_back(packet);
            }
        }
        self.places.fill(NONE);
        (self.tail, self.active) = (NONE, 0);
        for packet in all {
            match self.slot_for(&packet) {
                Some(slot) if !self.is_full(slot) => self.push(slot, packet),
                _ => drops.push(packet, DropReason::Head),
            }
        }
    }

    fn slot_for(&mut self, packet: &Packet) -> Option<u32> {
        let place = self.hash.place(packet.flow, self.params.divisor) as u32;
        match self.places[place as usize] {
            NONE => self.open(place),
            slot => Some(slot),
        }
    }

    fn is_full(&self, slot: u32) -> bool {
        self.slots[slot as usize].waiting.len() >= self.params.depth as usize
    }

    fn decide(&mut self) -> Option<Packet> {
        if self.tail == NONE {
            return None;
        }
        loop {
            let slot = self.slots[self.tail as usize].next;
            let own = &mut self.slots[slot as usize];
            if own.allot <= 0 {
                own.allot += i64::from(self.params.quantum);
                self.tail = slot;
                continue;
            }
            let packet = self.take(slot, true);
            let cost = self.cost(&packet) as i64;
            let own = &mut self.slots[slot as usize];
            if own.waiting.is_empty() {
                self.close_first(slot);
            } else {
                own.allot -= cost;
            }
            return Some(packet);
        }
    }
}

impl QueueDisc for Sfq {
    fn enqueue(&mut self, mut packet: Packet, now: Time, drops: &mut Drops) {
        self.perturb(now, drops);
        packet.enqueued = now;
        let Some(slot) = self.slot_for(&packet) else {
            return drops.push(packet, DropReason::Tail);
        };
        if self.is_full(slot) {
            if !self.params.headdrop {
                return drops.push(packet, DropReason::Tail);
            }
            let oldest = self.slots[slot as usize].waiting.pop_front();
            let oldest = oldest.expect("a full queue holds packets");
            self.bytes = self.bytes - self.cost(&oldest) + self.cost(&packet);
            self.slots[slot as usize].waiting.push_back(packet);
            return drops.push(oldest, DropReason::Head);
        }
        self.push(slot, packet);
        while self.is_over_limit()
            && let Some(dropped) = self.drop_from_longest()
        {
            let arrived = dropped.id == packet.id;
            drops.push(dropped, if arrived { DropReason::Tail } else { DropReason::Head });
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        self.perturb(now, drops);
        self.decided.take().or_else(|| self.decide())
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        self.decided = self.dequeue(now, drops);
        self.decided.as_ref()
    }

    fn len_packets(&self) -> usize {
        self.packets + usize::from(self.decided.is_some())
    }

    fn len_bytes(&self) -> u64 {
        self.bytes + self.decided.as_ref().map_or(0, |packet| self.cost(packet))
    }

    /// The packets that wait stay until the next arrival, which shortens the queues to the limit. (Linux has a limit in
    /// packets only, and drops at once, `sfq_change`.)
    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

impl ByNeighbour for Sfq {}

impl LinkFeedback for Sfq {}

#[cfg(test)]
mod tests;
