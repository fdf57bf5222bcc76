//! FQ-CoDel (RFC 8290): flows are hashed to queues that take turns by bytes, new queues first, each under CoDel.

use crate::Behaviour;
use crate::codel::CodelParams;
use crate::discipline::{
    Around, Facts, LEAST_INTERVAL, MOST_FLOW_QUEUES, Parameters, Place, memory_limit,
};
use crate::flow_hash::FlowHash;
use crate::flow_queues::{FlowQueues, Turns};
use airqueue_core::keys::check::{any, least, one_to, plain, some};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Packets, Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, Drops, Limit, LinkFeedback, Packet, QueueDisc, RandomStream, Time,
    take,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of FQ-CoDel, named as in `tc qdisc add ... fq_codel` (RFC 8290, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelParams {
    /// CoDel's parameters, for each queue.
    pub codel: CodelParams,
    /// Number of queues; 0 counts as 1.
    pub flows: u32,
    /// Bytes, link layer included, that a queue may send in one turn. As in Linux, less than 256 counts as 256.
    pub quantum: u32,
    /// Packets that all queues hold together.
    pub limit: u32,
    /// Bytes that all queues hold together, link layer included. (Linux counts the memory of its buffers.)
    pub memory_limit: u64,
    /// The maximum number of packets dropped at once when the queues are full; 0 counts as 1.
    pub drop_batch: u32,
}

impl Default for FqCodelParams {
    /// The defaults of the RFC and of tc: CoDel with ECN, 1024 queues, 1514 bytes, 10 240 packets,
    /// 32 MiB, 64 packets.
    fn default() -> FqCodelParams {
        FqCodelParams {
            codel: CodelParams { ecn: true, ..CodelParams::default() },
            flows: 1024,
            quantum: 1514,
            limit: 10_240,
            memory_limit: 32 << 20,
            drop_batch: 64,
        }
    }
}

/// As in Linux.
const LEAST_QUANTUM: u32 = 256;

/// FQ-CoDel, with the parameters of `tc qdisc add ... fq_codel`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodelTable {
    /// The acceptable standing delay of a flow. The default is `5 ms`.
    pub target: Option<Quantity<Duration>>,
    /// Time for which the delay must have been above the target. The default is `100 ms`.
    pub interval: Option<Quantity<Duration>>,
    /// A backlog of all flows of up to this many bytes is never too long. The default is `1514 B`.
    pub mtu: Option<Quantity<Size>>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is true.
    pub ecn: Option<bool>,
    /// Also marks every ECN-capable packet that has waited longer than this. The default is never.
    pub ce_threshold: Option<Quantity<Duration>>,
    /// How the rate of drops is computed: as in the RFC or as in Linux. The default is rfc.
    pub behaviour: Option<Behaviour>,
    /// Number of queues to which flows are hashed. The default is 1024.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: Option<u32>,
    /// Bytes that a queue sends in one turn. The default is `1514 B`.
    pub quantum: Option<Quantity<Size>>,
    /// Limit of all queues together in bytes, besides a limit in packets. The default is `33554432 B`.
    pub memory_limit: Option<Quantity<Size>>,
    /// Largest number of packets dropped at once when the queues are full. The default is `64 packets`.
    pub drop_batch: Option<Quantity<Packets>>,
}

impl Parameters for FqCodelParams {
    type Table = FqCodelTable;
    const NAME: &'static str = "FQ-CoDel";
    const ABOUT: &'static str =
        "FQ-CoDel (RFC 8290): a queue under CoDel for each flow, new flows first.";

    fn check(tables: &Layers<'_, FqCodelTable>, around: &Around) -> Result<FqCodelParams> {
        let mut params = FqCodelParams::default();
        take!(params.codel.target, tables.target, plain);
        take!(params.codel.interval, tables.interval, least(LEAST_INTERVAL, "1 ms"));
        take!(params.codel.mtu, tables.mtu, plain);
        take!(params.codel.ecn, tables.ecn, any);
        take!(params.codel.ce_threshold, tables.ce_threshold, some);
        take!(params.codel.behaviour, tables.behaviour, any);
        take!(params.flows, tables.flows, one_to(MOST_FLOW_QUEUES));
        take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "256 B"));
        take!(params.memory_limit, tables.memory_limit, memory_limit(around));
        take!(params.drop_batch, tables.drop_batch, least(1, "1 packet"));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(self.limit),
            room: Some(Limit::Bytes(self.memory_limit)),
            queues: Some(("fq_codel.flows", self.flows)),
            drops_waiting: true,
            ..Facts::default()
        }
    }

    /// The scenario's limit replaces the parameters' limit in the same unit.
    fn make(&self, mut place: Place) -> BoxedQueue {
        let mut queue = FqCodel::new(*self, &mut place.rng).with_link_layer(place.link_layer);
        queue.set_limit(place.limit);
        Box::new(queue)
    }
}

/// Flow queues under CoDel. (tc: `fq_codel`.)
///
/// An arrival takes constant time. Only a full store searches all queues, for the queue with the most bytes (RFC 8290,
/// section 4.1.3, as Linux does). Nothing is allocated once the store has grown to the maximum number of waiting
/// packets.
///
/// As in Linux, CoDel compares the bytes of *all* queues with one MTU, not the bytes of the flow: a flow's only packet
/// may be dropped while other flows have a backlog. The RFC leaves this open.
#[derive(Clone, Debug)]
pub struct FqCodel {
    params: FqCodelParams,
    hash: FlowHash,
    queues: FlowQueues,
    /// The turns of all queues.
    turns: Turns,
    /// The packet that `peek` has decided on.
    decided: Option<Packet>,
}

impl FqCodel {
    /// Empty queues that count IP bytes. `rng` gives the key of the hash.
    pub fn new(params: FqCodelParams, rng: &mut RandomStream) -> FqCodel {
        let params = FqCodelParams {
            flows: params.flows.max(1),
            quantum: params.quantum.max(LEAST_QUANTUM),
            drop_batch: params.drop_batch.max(1),
            ..params
        };
        let flows = params.flows as usize;
        FqCodel {
            params,
            hash: FlowHash::new(rng),
            queues: FlowQueues::new(params.quantum, flows),
            turns: Turns::with_capacity(flows),
            decided: None,
        }
    }

    /// The queues count `bytes` on top of each IP packet. Only for empty queues.
    pub fn with_link_layer(mut self, bytes: u32) -> FqCodel {
        self.queues.set_link_layer(bytes);
        self
    }

    /// Drops packets from the head of the queue with the most bytes until half of its bytes are gone, but at most a
    /// batch (section 4.1.3). The drops make CoDel's signal stronger: the signal was too weak.
    fn drop_from_fattest(&mut self, drops: &mut Drops) {
        let fattest = self.queues.fattest();
        let (_, bytes) = self.queues.backlog(fattest);
        let most = self.params.drop_batch as usize;
        let shed = self.queues.shed(fattest, most, bytes / 2, drops);
        self.turns.shed(shed.bytes);
        self.queues.add_drops(fattest, shed.packets as u32);
    }
}

impl QueueDisc for FqCodel {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let at = self.hash.place(packet.flow, self.params.flows);
        self.queues.push(at, 0, &mut self.turns, packet, now);
        let full = self.len_packets() > self.params.limit as usize
            || self.len_bytes() > self.params.memory_limit;
        if full {
            self.drop_from_fattest(drops);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let FqCodel { params, queues, turns, decided, .. } = self;
        decided.take().or_else(|| queues.pop(turns, &params.codel, now, drops))
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        self.decided = self.dequeue(now, drops);
        self.decided.as_ref()
    }

    fn len_packets(&self) -> usize {
        self.queues.packets() + usize::from(self.decided.is_some())
    }

    fn len_bytes(&self) -> u64 {
        self.queues.bytes() + self.decided.as_ref().map_or(0, |packet| self.queues.cost(packet))
    }

    /// A limit in packets replaces `limit`, a limit in bytes replaces `memory_limit`.
    fn set_limit(&mut self, limit: Limit) {
        match limit {
            Limit::Packets(packets) => self.params.limit = packets,
            Limit::Bytes(bytes) => self.params.memory_limit = bytes,
        }
    }
}

impl ByNeighbour for FqCodel {}

impl LinkFeedback for FqCodel {}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{DropReason, Ecn, FlowKey, Seed, Span};

    fn queue(params: FqCodelParams) -> FqCodel {
        FqCodel::new(params, &mut Seed(1).stream("hash"))
    }

    fn offer(q: &mut FqCodel, flow: FlowKey, packets: usize, size: u32) -> Drops {
        let mut drops = Drops::new();
        for id in 0..packets {
            q.enqueue(Packet::new(id as u64, flow, size, Time::ZERO), Time::ZERO, &mut drops);
        }
        drops
    }

    fn flows_in_order(q: &mut FqCodel, packets: usize) -> Vec<u32> {
        let mut drops = Drops::new();
        (0..packets).map(|_| q.dequeue(Time::ZERO, &mut drops).unwrap().flow.0).collect()
    }

    /// Two flows in different queues.
    fn two_flows(q: &FqCodel) -> (u32, u32) {
        let place = |flow| q.hash.place(flow, q.params.flows);
        (1, (2..).find(|&flow| place(FlowKey(flow)) != place(FlowKey(1))).unwrap())
    }

    /// RFC 8290, section 4.2, by hand: a queue sends until its quantum of 1500 bytes is used up or overdrawn.
    #[test]
    fn bytes_not_packets_take_turns() {
        let mut q = queue(FqCodelParams { quantum: 1500, ..FqCodelParams::default() });
        let (a, b) = two_flows(&q);
        offer(&mut q, FlowKey(a), 10, 1000);
        offer(&mut q, FlowKey(b), 20, 500);
        // a: 1500 - 1000 - 1000 < 0, two packets; b: 1500 - 3 · 500 = 0, three. From the old list: a's
        // deficit is -500 + 1500, one packet; b's is 1500, three; a's is 1500, two.
        let order = [a, a, b, b, b, a, b, b, b, a, a, b, b, b, a];
        assert_eq!(flows_in_order(&mut q, order.len()), order);
    }

    /// A flow with occasional packets is new each time and never waits behind the bulk flow, but its next packet waits
    /// until the old queues have had a turn.
    #[test]
    fn sparse_flows_come_first() {
        let mut q = queue(FqCodelParams::default());
        let (bulk, sparse) = two_flows(&q);
        offer(&mut q, FlowKey(bulk), 20, 1500);
        assert_eq!(flows_in_order(&mut q, 4), [bulk; 4]);
        offer(&mut q, FlowKey(sparse), 1, 100);
        assert_eq!(flows_in_order(&mut q, 2), [sparse, bulk]);
        offer(&mut q, FlowKey(sparse), 1, 100);
        let next = flows_in_order(&mut q, 2);
        assert!(next.contains(&sparse), "{next:?}");
        // The sparse flow is now on the old list with its deficit, since its queue was found empty there.
        assert_eq!(flows_in_order(&mut q, 2), [bulk; 2]);
    }

    /// Section 4.1.3: half of the fattest queue, at most 64 packets, from its head.
    #[test]
    fn overflow_halves_the_fattest() {
        let mut q = queue(FqCodelParams { limit: 100, ..FqCodelParams::default() });
        let (fat, lean) = two_flows(&q);
        assert!(offer(&mut q, FlowKey(fat), 90, 1000).as_slice().is_empty());
        assert!(offer(&mut q, FlowKey(lean), 10, 1000).as_slice().is_empty());
        let drops = offer(&mut q, FlowKey(lean), 1, 1000);
        let dropped: Vec<_> =
            drops.as_slice().iter().map(|d| (d.packet.flow, d.packet.id)).collect();
        assert_eq!(dropped, (0..45).map(|id| (FlowKey(fat), id)).collect::<Vec<_>>());
        assert!(drops.as_slice().iter().all(|d| d.reason == DropReason::Head));
        let mut q = queue(FqCodelParams { limit: 1000, ..FqCodelParams::default() });
        assert_eq!(offer(&mut q, FlowKey(fat), 1001, 1000).as_slice().len(), 64);
    }

    #[test]
    fn memory_is_a_limit_too() {
        let mut q = queue(FqCodelParams::default()).with_link_layer(14);
        q.set_limit(Limit::Bytes(10_140));
        assert!(offer(&mut q, FlowKey(1), 10, 1000).as_slice().is_empty());
        // Eleven packets, 11 154 bytes: six are the first to reach half.
        assert_eq!(offer(&mut q, FlowKey(1), 1, 1000).as_slice().len(), 6);
        q.set_limit(Limit::Bytes(0));
        assert_eq!(offer(&mut q, FlowKey(1), 1, 1000).as_slice().len(), 3);
        assert_eq!(q.len_packets(), 3, "a lower limit is approached with each arrival");
    }

    /// Each queue has a control law of its own: packets of the standing queue are marked, packets of the other flow are
    /// not.
    #[test]
    fn only_the_flow_that_stands_is_marked() {
        let mut q = queue(FqCodelParams::default());
        let (standing, sparse) = two_flows(&q);
        let mut drops = Drops::new();
        let enqueue = |q: &mut FqCodel, flow, t: Time| {
            let packet = Packet { ecn: Ecn::Ect, ..Packet::new(0, flow, 1000, t) };
            q.enqueue(packet, t, &mut Drops::new());
        };
        (0..1000).for_each(|_| enqueue(&mut q, FlowKey(standing), Time::ZERO));
        let mut marked = Vec::new();
        for t in 1..=600 {
            let now = Time::ZERO + Span::from_millis(t);
            if t % 20 == 0 {
                enqueue(&mut q, FlowKey(sparse), now);
            }
            let packet = q.dequeue(now, &mut drops).unwrap();
            marked.extend((packet.ecn == Ecn::Ce).then_some((packet.flow, t)));
        }
        assert!(drops.as_slice().is_empty());
        assert!(marked.iter().all(|&(flow, _)| flow == FlowKey(standing)), "{marked:?}");
        // 5 ms + interval, + 100, + 70.7, + 57.7, ... as in codel.rs, or later by a packet of the sparse flow.
        let law = [105, 205, 276, 334, 384, 429, 469, 507, 543, 576];
        assert_eq!(marked.len(), law.len());
        assert!(
            marked.iter().zip(law).all(|(&(_, t), due)| (due..=due + 2).contains(&t)),
            "{marked:?}"
        );
    }

    #[test]
    fn foolish_parameters_are_survived() {
        let params =
            FqCodelParams { flows: 0, quantum: 0, limit: 0, drop_batch: 0, ..Default::default() };
        let mut q = queue(params);
        assert_eq!(offer(&mut q, FlowKey(9), 5, 1500).as_slice().len(), 5);
        assert!(q.is_empty());
        q.set_limit(Limit::Packets(2));
        assert!(offer(&mut q, FlowKey(9), 2, 60_000).as_slice().is_empty());
        assert_eq!(flows_in_order(&mut q, 2), [9, 9]);
    }
}
