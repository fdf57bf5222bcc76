//! One queue for each flow, or for each link, served in turn.

use crate::discipline::{Around, Facts, LEAST_QUANTUM, Link, Parameters, Place};
use crate::droptail::{DropFrom, DropTail};
use airqueue_core::keys::check::least;
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, Drops, FlowKey, Limit, LinkFeedback, NeighbourId, Packet, QueueDisc,
    Time, take,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};

/// What has a queue: flows or links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueuePer {
    /// Each flow; TCP's acknowledgements are a flow besides the data.
    #[default]
    Flow,
    /// Each link to a next station.
    Link,
}

impl QueuePer {
    fn key(self, flow: FlowKey, neighbour: NeighbourId) -> u32 {
        match self {
            QueuePer::Flow => flow.0,
            QueuePer::Link => u32::from(neighbour.0),
        }
    }
}

/// The parameters of deficit round robin: one drop-tail queue for each flow or link, each with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrrParams {
    /// What has a queue: flows or links.
    pub by: QueuePer,
    /// IP bytes per turn.
    pub quantum: u32,
    /// What a full queue drops.
    pub drop_from: DropFrom,
}

impl Default for DrrParams {
    /// A queue for each flow, and turns of a packet of 1500 bytes.
    fn default() -> DrrParams {
        DrrParams { by: QueuePer::Flow, quantum: 1500, drop_from: DropFrom::Tail }
    }
}

/// Deficit round robin.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrrTable {
    /// Whether each flow has a queue, or each link to a next station. The default is flow.
    pub queue_per: Option<QueuePer>,
    /// IP bytes of a turn. The default is `1500 B`.
    pub quantum: Option<Quantity<Size>>,
}

impl Parameters for DrrParams {
    type Table = DrrTable;
    const NAME: &'static str = "deficit round robin";
    const ABOUT: &'static str = "A queue for each flow, or for each link, served by deficit \
        round robin (Shreedhar and Varghese, 1995).";

    fn check(tables: &Layers<'_, DrrTable>, around: &Around) -> Result<DrrParams> {
        let mut params = DrrParams { drop_from: around.drop_from, ..DrrParams::default() };
        take!(params.by, tables.queue_per, |by| match by {
            QueuePer::Link if around.link == Link::Wire => {
                Err("a wired link is one link; keep flows apart, or take another discipline")
            }
            by => Ok(*by),
        });
        take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "64 B"));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(50),
            apart: Some(self.by),
            drops_from: true,
            searched: true,
            drops_waiting: self.drop_from == DropFrom::Head,
            ..Facts::default()
        }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        let DrrParams { by, quantum, drop_from } = *self;
        let one = move |_| {
            DropTail::new(place.limit).dropping_from(drop_from).with_link_layer(place.link_layer)
        };
        Box::new(PerFlow::new(one).by(by).with_quantum(quantum))
    }
}

/// One child discipline per flow, or per link, served round robin: packet by packet (Nagle, RFC 970), or by bytes with
/// a quantum (deficit round robin, Shreedhar and Varghese, SIGCOMM 1995). Each child has a limit of its own, and a
/// single child's limit can be changed. The first packet of a flow or link creates the child.
pub struct PerFlow<Q, F> {
    make: F,
    by: QueuePer,
    limit: Option<Limit>,
    /// The limits of single children, some of which may not exist yet.
    limits: BTreeMap<u32, Limit>,
    /// IP bytes per turn; `None`: one packet.
    quantum: Option<u32>,
    index: BTreeMap<u32, usize>,
    children: Vec<Child<Q>>,
    /// Children in the order of service; a child is listed at most once.
    turn: VecDeque<usize>,
    /// The first child in the turn has received the quantum of this turn.
    begun: bool,
    packets: usize,
    bytes: u64,
}

struct Child<Q> {
    queue: Q,
    listed: bool,
    /// IP bytes that the child may still send in this turn, and carries over to the next; negative after packets sent
    /// out of turn.
    deficit: i64,
}

impl<Q: ByNeighbour, F: FnMut(u32) -> Q> PerFlow<Q, F> {
    /// No children yet; `make` makes the queue of a flow, or of the link to a neighbour. A turn is one packet.
    pub fn new(make: F) -> PerFlow<Q, F> {
        PerFlow {
            make,
            by: QueuePer::Flow,
            limit: None,
            limits: BTreeMap::new(),
            quantum: None,
            index: BTreeMap::new(),
            children: Vec::new(),
            turn: VecDeque::new(),
            begun: false,
            packets: 0,
            bytes: 0,
        }
    }

    /// Turns are of `bytes` IP bytes; 0 counts as 1. With a quantum below the largest packet, some turns pass without a
    /// packet, and serving costs more.
    pub fn with_quantum(mut self, bytes: u32) -> PerFlow<Q, F> {
        self.quantum = Some(bytes.max(1));
        self
    }

    /// What has a queue: flows or links. Only for an empty discipline without limits of single children.
    pub fn by(mut self, what: QueuePer) -> PerFlow<Q, F> {
        self.by = what;
        self
    }

    fn child_of(&mut self, packet: &Packet) -> usize {
        let key = self.by.key(packet.flow, packet.neighbour);
        *self.index.entry(key).or_insert_with(|| {
            let mut queue = (self.make)(key);
            if let Some(limit) = self.limits.get(&key).copied().or(self.limit) {
                queue.set_limit(limit);
            }
            self.children.push(Child { queue, listed: false, deficit: 0 });
            self.children.len() - 1
        })
    }

    /// Calls `act` on a child's queue, and updates the sums.
    fn on_child<R>(&mut self, at: usize, act: impl FnOnce(&mut Q) -> R) -> R {
        let queue = &mut self.children[at].queue;
        let before = (queue.len_packets(), queue.len_bytes());
        let result = act(queue);
        self.packets = self.packets - before.0 + queue.len_packets();
        self.bytes = self.bytes - before.1 + queue.len_bytes();
        result
    }

    /// Brings the next child that has a packet, and may send the packet, to the front of the turn and returns this
    /// child.
    fn settle(&mut self, now: Time, drops: &mut Drops) -> Option<usize> {
        // Children without a packet to send, since the last child that had one.
        let mut idle = 0;
        while idle < self.turn.len() {
            let at = *self.turn.front()?;
            let size = self.on_child(at, |queue| queue.peek(now, drops).map(|p| i64::from(p.size)));
            let Some(size) = size else {
                self.end_turn(at);
                // A child that holds no packets any more has left the turn.
                idle += usize::from(self.children[at].listed);
                continue;
            };
            idle = 0;
            let Some(quantum) = self.quantum else { return Some(at) };
            let child = &mut self.children[at];
            if !std::mem::replace(&mut self.begun, true) {
                child.deficit += i64::from(quantum);
            }
            if size <= child.deficit {
                return Some(at);
            }
            self.end_turn(at);
        }
        None
    }

    /// The child that has a packet for a neighbour; of several, the child with the most bytes left to send.
    fn along(&mut self, neighbour: NeighbourId, now: Time, drops: &mut Drops) -> Option<usize> {
        let mut best: Option<usize> = None;
        for place in 0..self.turn.len() {
            let at = self.turn[place];
            let deficit = self.children[at].deficit;
            if best.is_none_or(|best| self.children[best].deficit < deficit)
                && self
                    .on_child(at, |queue| queue.peek_for_neighbour(neighbour, now, drops).is_some())
            {
                best = Some(at);
            }
        }
        best
    }

    /// Moves the first child in the turn to the end.
    fn end_turn(&mut self, at: usize) {
        self.turn.pop_front();
        self.begun = false;
        self.relist(at);
    }

    /// Puts a child that is not in the turn at the end of the turn if the child holds packets.
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

impl<Q: ByNeighbour, F: FnMut(u32) -> Q> QueueDisc for PerFlow<Q, F> {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let at = self.child_of(&packet);
        self.on_child(at, |queue| queue.enqueue(packet, now, drops));
        if !self.children[at].listed {
            self.relist(at);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let at = self.settle(now, drops)?;
        let packet = self.on_child(at, |queue| queue.dequeue(now, drops))?;
        let child = &mut self.children[at];
        child.deficit -= i64::from(packet.size);
        if self.quantum.is_none() || child.queue.is_empty() {
            self.end_turn(at);
        }
        Some(packet)
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let at = self.settle(now, drops)?;
        self.children[at].queue.peek(now, drops)
    }

    // The aggregate that starts with the turn's packet also takes packets that other children hold for the same
    // neighbour, evenly from these children: each child pays for its packets in its later turns.

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
        self.limits.clear();
        for child in &mut self.children {
            child.queue.set_limit(limit);
        }
    }
}

impl<Q: ByNeighbour, F: FnMut(u32) -> Q> ByNeighbour for PerFlow<Q, F> {
    fn peek_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<&Packet> {
        let at = self.along(neighbour, now, drops)?;
        self.children[at].queue.peek_for_neighbour(neighbour, now, drops)
    }

    fn dequeue_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Packet> {
        let at = self.along(neighbour, now, drops)?;
        let packet =
            self.on_child(at, |queue| queue.dequeue_for_neighbour(neighbour, now, drops))?;
        self.children[at].deficit -= i64::from(packet.size);
        Some(packet)
    }

    fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        now: Time,
        drops: &mut Drops,
    ) -> Option<NeighbourId> {
        (0..self.turn.len()).find_map(|place| {
            let at = self.turn[place];
            self.on_child(at, |queue| queue.other_neighbour(neighbours, now, drops))
        })
    }
}

impl<Q: ByNeighbour, F: FnMut(u32) -> Q> LinkFeedback for PerFlow<Q, F> {
    fn set_limit_of(&mut self, flow: FlowKey, neighbour: NeighbourId, limit: Limit) -> bool {
        let key = self.by.key(flow, neighbour);
        self.limits.insert(key, limit);
        if let Some(&at) = self.index.get(&key) {
            self.children[at].queue.set_limit(limit);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropTail;

    fn packet(id: u64, flow: FlowKey) -> Packet {
        Packet::new(id, flow, 100, Time::ZERO)
    }

    #[test]
    fn a_flood_costs_only_itself() {
        let mut q = PerFlow::new(|_| DropTail::new(Limit::Packets(3)));
        let mut drops = Drops::new();
        for id in 0..10 {
            q.enqueue(packet(id, FlowKey(0)), Time::ZERO, &mut drops);
        }
        q.enqueue(packet(100, FlowKey(1)), Time::ZERO, &mut drops);
        q.enqueue(packet(101, FlowKey(1)), Time::ZERO, &mut drops);
        assert!(drops.as_slice().iter().all(|d| d.packet.flow == FlowKey(0)));
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
            q.enqueue(packet(id, FlowKey(7)), Time::ZERO, &mut drops);
        }
        assert_eq!(q.len_packets(), 1);
    }

    /// Offers each flow ten packets, for the neighbour whose number is half the flow's; returns how many of each flow
    /// then wait.
    fn kept(q: &mut impl QueueDisc, flows: &[u32]) -> Vec<usize> {
        let mut drops = Drops::new();
        let mut kept = |&flow: &u32| {
            let before = q.len_packets();
            for id in 0..10 {
                let packet =
                    Packet { neighbour: NeighbourId(flow as u16 / 2), ..packet(id, FlowKey(flow)) };
                q.enqueue(packet, Time::ZERO, &mut drops);
            }
            q.len_packets() - before
        };
        flows.iter().map(&mut kept).collect()
    }

    /// The limit of one flow changes no other flow's limit, neither of present flows nor of later ones.
    #[test]
    fn each_flow_has_the_limit_that_was_given_to_it() {
        let mut q = PerFlow::new(|_| DropTail::new(Limit::Packets(3)));
        assert!(q.set_limit_of(FlowKey(2), NeighbourId(1), Limit::Packets(5)));
        assert_eq!(kept(&mut q, &[1, 2, 3]), [3, 5, 3]);
        assert!(q.set_limit_of(FlowKey(3), NeighbourId(1), Limit::Packets(7)));
        assert!(q.set_limit_of(FlowKey(2), NeighbourId(1), Limit::Packets(1)));
        assert_eq!(q.len_packets(), 11, "a lower limit drops no waiting packet");
        assert_eq!(kept(&mut q, &[1, 2, 3]), [0, 0, 4], "and a higher one holds at once");
        q.set_limit(Limit::Packets(6));
        assert_eq!(kept(&mut q, &[1, 2, 3, 4]), [3, 1, 0, 6], "one for all is for all");
    }

    /// With queues by link, the flows for a neighbour share a queue and its limit, and take one turn together.
    #[test]
    fn links_are_kept_apart_as_flows_are() {
        let mut q = PerFlow::new(|_| DropTail::new(Limit::Packets(3))).by(QueuePer::Link);
        assert!(q.set_limit_of(FlowKey(3), NeighbourId(1), Limit::Packets(5)));
        assert_eq!(kept(&mut q, &[0, 1, 2, 3]), [3, 0, 5, 0]);
        let mut drops = Drops::new();
        let neighbours: Vec<NeighbourId> =
            std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut drops)).map(|p| p.neighbour).collect();
        assert_eq!(neighbours, [0, 1, 0, 1, 0, 1, 1, 1].map(NeighbourId));
    }

    /// An aggregate for a neighbour takes packets of all flows that have some for this neighbour, and the flows pay in
    /// later turns: five flows of one neighbour and one flow of another share twenty aggregates of up to eight packets
    /// equally.
    #[test]
    fn frames_take_packets_of_all_flows_to_their_neighbour() {
        let make = |_| DropTail::new(Limit::Packets(100));
        let mut q = PerFlow::new(make).with_quantum(100);
        let mut drops = Drops::new();
        let mut offer = |q: &mut dyn QueueDisc, flow: FlowKey| {
            let packet =
                Packet { neighbour: NeighbourId(u16::from(flow == FlowKey(5))), ..packet(0, flow) };
            q.enqueue(packet, Time::ZERO, &mut drops);
        };
        (0..6).for_each(|flow| (0..50).for_each(|_| offer(&mut q, FlowKey(flow))));
        let mut sent = [0i64; 6];
        let mut drops = Drops::new();
        for _ in 0..20 {
            let first = q.dequeue(Time::ZERO, &mut drops).expect("all have packets");
            sent[first.flow.index()] += 1;
            for _ in 1..8 {
                let along = q.dequeue_for_neighbour(first.neighbour, Time::ZERO, &mut drops);
                sent[along.expect("all have packets").flow.index()] += 1;
            }
        }
        let fair = 160 / 6;
        assert!(sent.iter().all(|sent| (sent - fair).abs() <= 8), "{sent:?}");
    }

    fn order(quantum: u32, offered: &[(u32, u32)]) -> Vec<u32> {
        let make = |_| DropTail::new(Limit::Packets(100));
        let mut q = PerFlow::new(make).with_quantum(quantum);
        let mut drops = Drops::new();
        for &(flow, size) in offered {
            q.enqueue(Packet::new(0, FlowKey(flow), size, Time::ZERO), Time::ZERO, &mut drops);
        }
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut drops)).map(|p| p.flow.0).collect()
    }

    /// The example of Shreedhar and Varghese, Figures 2 and 3: quantum 500, the first queue's packets of
    /// 200, 750 and 20 bytes, the second's of 500 and 500. The first sends 200 and keeps 300; the second
    /// sends 500; the first has 800, sends 750 and 20.
    #[test]
    fn deficit_round_robin_counts_bytes() {
        let offered = [(1, 200), (1, 750), (1, 20), (2, 500), (2, 500)];
        assert_eq!(order(500, &offered), [1, 2, 1, 1, 2]);
    }

    /// Their Theorem: over any time in which two flows are backlogged, their bytes differ by at most a quantum and two
    /// packets, whatever the packet sizes and however small the quantum.
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
