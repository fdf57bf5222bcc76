//! RDQM, receiver-driven queue management: one queue that is divided among flows in proportion to the reports of their
//! receivers in link-layer acknowledgements (Kliazovich, Gomes, Granelli and da Fonseca, IEEE Communications Letters
//! 15(7), 2011).

use airqueue_core::{
    BoxedQueue, ByNeighbour, DropReason, Drops, Feedback, FlowKey, Limit, LinkFeedback,
    NeighbourId, Packet, QueueDisc, Sent, Span, Time, take,
};

use crate::discipline::{Around, Facts, Parameters, Place};
use crate::fifo::Fifo;
use airqueue_core::buffers::{MOST_RDQM_WEIGHT, RdqmFlows, rdqm_weight};
use airqueue_core::keys::check::{any, at_most, plain};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity};
use schemars::JsonSchema;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The weight of an RDQM flow's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RdqmWeight {
    /// Round-trip time and rate, multiplied.
    #[default]
    Bdp,
    /// The round-trip time alone, as in the authors' version of 2009.
    // Presented at GLOBECOM.
    Rtt,
}

/// The parameters of RDQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdqmParams {
    /// How the room of RDQM flows is divided.
    pub weight: RdqmWeight,
    /// A packet is dropped if its flow has more packets in the queue than the flow's limit (Algorithm 2, line 4);
    /// otherwise a packet is dropped already if its flow has as many packets as the limit.
    pub beyond_limit: bool,
    /// A limit is at least one packet, however small the share.
    pub floor: bool,
    /// A flow without packets in the queue is forgotten if none of its packets has arrived, left or been acknowledged
    /// for this long,
    pub expiry: Span,
    /// and for this many of its round-trip times.
    pub expiry_rtts: u32,
}

impl Default for RdqmParams {
    /// Bandwidth-delay products, drops above the limit, a limit of at least one packet; 1 s and four round trips.
    fn default() -> RdqmParams {
        RdqmParams {
            weight: RdqmWeight::Bdp,
            beyond_limit: true,
            floor: true,
            expiry: Span::from_secs(1),
            expiry_rtts: 4,
        }
    }
}

/// No flow is silent for as many round trips.
const MOST_EXPIRY_RTTS: u32 = 1000;

/// RDQM.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RdqmTable {
    /// The weight of the shares of flows with reports. The default is bdp.
    pub weight: Option<RdqmWeight>,
    /// Whether a packet is dropped only if more packets of its flow wait than the flow's share, not already if as many
    /// wait. The default is true.
    pub beyond_limit: Option<bool>,
    /// Whether every share is at least one packet. The default is true.
    pub floor: Option<bool>,
    /// A flow without waiting packets is forgotten after this time, or after `expiry_rtts` if that is longer. The
    /// default is `1 s`.
    pub expiry: Option<Quantity<Duration>>,
    /// The time after which a flow is forgotten, in round-trip times of the flow. The default is 4.
    #[schemars(range(max = 1000))]
    pub expiry_rtts: Option<u32>,
}

impl Parameters for RdqmParams {
    type Table = RdqmTable;
    const NAME: &'static str = "RDQM";
    const ABOUT: &'static str = "RDQM (Kliazovich and others, 2011): the limit is divided among \
        flows by the reports of their receivers.";

    fn check(tables: &Layers<'_, RdqmTable>, _: &Around) -> Result<RdqmParams> {
        let mut params = RdqmParams::default();
        take!(params.weight, tables.weight, any);
        take!(params.beyond_limit, tables.beyond_limit, any);
        take!(params.floor, tables.floor, any);
        take!(params.expiry, tables.expiry, plain);
        take!(params.expiry_rtts, tables.expiry_rtts, at_most(MOST_EXPIRY_RTTS));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        let limit = Limit::Packets(50);
        Facts { limit, searched: true, full_below_limit: true, ..Facts::default() }
    }

    /// The scenario's limit is divided among the flows.
    fn make(&self, place: Place) -> BoxedQueue {
        Box::new(Rdqm::new(*self, place.limit).with_link_layer(place.link_layer))
    }
}

/// A drop-tail queue of Q packets (or bytes) in which each flow has at most its share.
///
/// Flows whose acknowledgements carry [`Feedback`] are RDQM flows; all others are legacy flows. With N flows, N_R of
/// them RDQM flows with weights w:
///
/// * an RDQM flow's limit is w_i / Σw · Q · N_R / N, so that all RDQM flows together have Q · N_R / N;
/// * a legacy flow's limit is Q / N, and so is the limit of a flow before its first acknowledgement: the printed
///   BDP_def, the mean of the RDQM flows' weights, would give the same limit.
///
/// The limits add up to Q, but the packet beyond the limit and the minimum of one packet may grant flows more: the
/// total of Q applies besides. Waiting packets are never dropped, even when a limit shrinks.
///
/// In print (Algorithms 2 and 3) a flow's first packet is neither queued nor dropped, no counter ever falls, and flows
/// are never forgotten. Here the first packet is treated as all others, a counter falls when a packet leaves, and
/// [`RdqmParams::expiry`] ends a flow. Weights, counters and sums are whole numbers, and a limit is computed when a
/// packet of its flow arrives: an arrival or an acknowledgement costs the search for its flow, and nothing that grows
/// with the number of other flows.
#[derive(Clone, Debug)]
pub struct Rdqm {
    params: RdqmParams,
    limit: Limit,
    waiting: Fifo,
    flows: BTreeMap<FlowKey, Flow>,
    /// N_R and Σw; N is the number of `flows`.
    sums: RdqmFlows,
    /// Flows by the earliest time at which they may be forgotten; an entry whose time differs from the flow's `look` is
    /// out of date.
    idle: BinaryHeap<Reverse<(Time, FlowKey)>>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    packets: u64,
    bytes: u64,
    /// The flow's last report, as a weight and as a round-trip time; `None`: no report so far.
    report: Option<Report>,
    /// When a packet of the flow last arrived, left or was acknowledged.
    last: Time,
    /// The time of the flow's entry in `idle`.
    look: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Report {
    weight: u64,
    rtt: Span,
}

/// Larger than any limit in bytes; products of such limits and of weights stay in range.
const MOST_BYTES: u64 = 1 << 40;

impl RdqmWeight {
    /// The weight in bits, or in microseconds; at least 1, so that each flow has a share.
    fn of(self, feedback: &Feedback) -> u64 {
        match self {
            RdqmWeight::Bdp => rdqm_weight(feedback.rtt, feedback.rate),
            RdqmWeight::Rtt => u64::try_from(feedback.rtt.as_nanos() / 1000)
                .unwrap_or(0)
                .clamp(1, MOST_RDQM_WEIGHT),
        }
    }
}

impl Rdqm {
    /// An empty queue that counts IP bytes. A limit in bytes divides bytes.
    pub fn new(params: RdqmParams, limit: Limit) -> Rdqm {
        Rdqm {
            params,
            limit,
            waiting: Fifo::default(),
            flows: BTreeMap::new(),
            sums: RdqmFlows::default(),
            idle: BinaryHeap::new(),
        }
    }

    /// The queue counts `bytes` on top of each IP packet. Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> Rdqm {
        self.waiting.set_link_layer(bytes);
        self
    }

    /// The number of known flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The share of a known flow, in packets or bytes, without the minimum of one packet.
    pub fn share(&self, flow: FlowKey) -> Option<f64> {
        let (share, parts) = self.fraction(self.flows.get(&flow)?.report);
        Some(share as f64 / parts as f64)
    }

    fn fraction(&self, report: Option<Report>) -> (u128, u128) {
        let room = match self.limit {
            Limit::Packets(packets) => u64::from(packets),
            Limit::Bytes(bytes) => bytes.min(MOST_BYTES),
        };
        let sums = RdqmFlows { flows: self.flows.len() as u64, ..self.sums };
        sums.share(room, report.map(|report| report.weight))
    }

    /// Whether a flow may have another packet in the queue.
    fn admits(&self, flow: &Flow, cost: u64) -> bool {
        let (count, floor) = match self.limit {
            Limit::Packets(_) => (flow.packets, 1),
            Limit::Bytes(_) => (flow.bytes.min(MOST_BYTES), cost),
        };
        let (share, parts) = self.fraction(flow.report);
        let floor = if self.params.floor { u128::from(floor).saturating_mul(parts) } else { 0 };
        let (count, limit) = (u128::from(count).saturating_mul(parts), share.max(floor));
        count < limit || count == limit && (self.params.beyond_limit || count == 0)
    }

    /// Calls `act` on a flow, which is now active, and schedules the check of its expiry.
    fn touch(&mut self, id: FlowKey, now: Time, act: impl FnOnce(&mut Flow)) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        act(flow);
        flow.last = now;
        let expires = expires(&self.params, flow);
        // A later time needs no entry: the check at the earlier time postpones the expiry.
        if flow.packets == 0 && flow.look.is_none_or(|look| expires < look) {
            flow.look = Some(expires);
            self.idle.push(Reverse((expires, id)));
        }
    }

    /// Forgets the flows that have expired.
    fn expire(&mut self, now: Time) {
        while let Some(&Reverse((at, id))) = self.idle.peek()
            && at <= now
        {
            self.idle.pop();
            let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.look == Some(at)) else {
                continue;
            };
            flow.look = None;
            if flow.packets > 0 {
                // The flow gets an entry again when its last packet leaves.
                continue;
            }
            let expires = expires(&self.params, flow);
            if expires > now {
                flow.look = Some(expires);
                self.idle.push(Reverse((expires, id)));
            } else if let Some(Flow { report: Some(report), .. }) = self.flows.remove(&id) {
                self.sums.reporting -= 1;
                self.sums.weights -= u128::from(report.weight);
            }
        }
    }

    /// A packet leaves the queue.
    fn on_departure(&mut self, packet: Packet, now: Time) -> Packet {
        let cost = self.waiting.cost(&packet);
        self.touch(packet.flow, now, |flow| {
            flow.packets -= 1;
            flow.bytes -= cost;
        });
        packet
    }

    fn on_feedback(&mut self, id: FlowKey, feedback: &Feedback, now: Time) {
        let weight = self.params.weight.of(feedback);
        let mut before = None;
        self.touch(id, now, |flow| {
            before = Some(flow.report.replace(Report { weight, rtt: feedback.rtt }));
        });
        if let Some(before) = before {
            self.sums.reporting += u64::from(before.is_none());
            self.sums.weights += u128::from(weight);
            self.sums.weights -= before.map_or(0, |report| u128::from(report.weight));
        }
    }
}

/// When a flow without packets will be forgotten.
fn expires(params: &RdqmParams, flow: &Flow) -> Time {
    let rtts = flow.report.map_or(0, |report| report.rtt.as_nanos());
    let rtts = Span::from_nanos(rtts.saturating_mul(i64::from(params.expiry_rtts)));
    // Later than `last`: a flow does not expire at the instant of its last event.
    flow.last.saturating_add(params.expiry.max(rtts).max(Span::from_nanos(1)))
}

impl QueueDisc for Rdqm {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        self.expire(now);
        if !self.waiting.has_room(self.limit, &packet) {
            drops.push(packet, DropReason::Tail);
            return;
        }
        let cost = self.waiting.cost(&packet);
        let empty = Flow { packets: 0, bytes: 0, report: None, last: now, look: None };
        let flow = *self.flows.entry(packet.flow).or_insert(empty);
        let admitted = self.admits(&flow, cost);
        self.touch(packet.flow, now, |flow| {
            flow.packets += u64::from(admitted);
            flow.bytes += if admitted { cost } else { 0 };
        });
        if admitted {
            self.waiting.push(packet, now);
        } else {
            drops.push(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Packet> {
        self.expire(now);
        let packet = self.waiting.pop()?;
        Some(self.on_departure(packet, now))
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

impl ByNeighbour for Rdqm {
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
        now: Time,
        _drops: &mut Drops,
    ) -> Option<Packet> {
        self.expire(now);
        let packet = self.waiting.pop_for(neighbour)?;
        Some(self.on_departure(packet, now))
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

impl LinkFeedback for Rdqm {
    fn reads_reports(&self) -> bool {
        true
    }

    /// Algorithm 3. A packet that was given up reports nothing; an acknowledgement without feedback leaves an RDQM flow
    /// an RDQM flow.
    fn on_sent(&mut self, sent: &Sent, now: Time) {
        self.expire(now);
        match &sent.feedback {
            _ if !sent.acknowledged => {}
            Some(feedback) => self.on_feedback(sent.packet.flow, feedback, now),
            None => self.touch(sent.packet.flow, now, |_| {}),
        }
    }
}

#[cfg(test)]
mod tests;
