//! The queues of Linux's mac80211: flow queues under CoDel for each station, airtime shared among the stations, and a
//! limit on the airtime of packets in the device (Høiland-Jørgensen and others, "Ending the Anomaly", USENIX ATC 2017;
//! airtime queue limits, AQL, since Linux 5.5).

use crate::Behaviour;
use crate::airtime::Airtime;
use crate::codel::CodelParams;
use crate::discipline::{
    Around, Facts, LEAST_INTERVAL, LEAST_QUANTUM, MOST_FLOW_QUEUES, Parameters, Place, memory_limit,
};
use crate::flow_hash::FlowHash;
use crate::flow_queues::{FlowQueues, Turns};
use airqueue_core::keys::check::{any, least, one_to, plain};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, Drops, Limit, LinkFeedback, NeighbourId, Packet, QueueDisc,
    RandomStream, Sent, Span, Time, take,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};

/// The parameters of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac80211Params {
    /// CoDel's parameters, for each flow queue.
    pub codel: CodelParams,
    /// Number of flow queues of all stations; 0 counts as 1. Each station has a further queue of its own.
    pub flows: u32,
    /// Bytes, link layer included, that a flow queue may send in one turn; 0 counts as 1.
    pub quantum: u32,
    /// Packets that all queues hold together.
    pub limit: u32,
    /// Bytes that all queues hold together, link layer included. (Linux counts the memory of its buffers.)
    pub memory_limit: u64,
    /// The airtime of a station's turn, its weight; less than [`LEAST_TURN`] counts as [`LEAST_TURN`]. `None`: stations
    /// take turns frame by frame, whatever airtime the frames take.
    pub airtime: Option<Span>,
    /// Limits on the airtime of packets in the device; `None`: no limits.
    pub aql: Option<AqlParams>,
}

/// The shortest turn: with shorter turns many turns would pass for each packet.
pub const LEAST_TURN: Span = Span::from_micros(50);

/// Airtime queue limits: the expected airtime of packets that were handed out and are not yet reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AqlParams {
    /// A station always gets another packet while the expected airtime of its packets is less than `low`,
    pub low: Span,
    /// or less than `high` while the expected airtime of all stations' packets is less than `threshold`.
    pub high: Span,
    /// The threshold for all stations together.
    pub threshold: Span,
}

impl Default for AqlParams {
    /// 5, 12 and 24 ms, as in Linux (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`, `..._H`, `IEEE80211_AQL_THRESHOLD`).
    fn default() -> AqlParams {
        AqlParams {
            low: Span::from_millis(5),
            high: Span::from_millis(12),
            threshold: Span::from_millis(24),
        }
    }
}

impl Default for Mac80211Params {
    /// As in Linux (`ieee80211_txq_setup_flows`, `fq_init`, `sta_info_alloc`): CoDel with 20 ms, 100 ms, ECN and no
    /// allowance for an MTU; 4096 flow queues, 300 bytes, 8192 packets, 16 MiB; turns of 256 µs; AQL.
    fn default() -> Mac80211Params {
        Mac80211Params {
            codel: CodelParams {
                target: Span::from_millis(20),
                interval: Span::from_millis(100),
                mtu: 0,
                ecn: true,
                ce_threshold: None,
                behaviour: Behaviour::Linux,
            },
            flows: 4096,
            quantum: 300,
            limit: 8192,
            memory_limit: 16 << 20,
            airtime: Some(Span::from_micros(256)),
            aql: Some(AqlParams::default()),
        }
    }
}

/// The queues of mac80211.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mac80211Table {
    /// Whether stations take turns by airtime instead of frame by frame. The default is true.
    pub airtime_fairness: Option<bool>,
    /// The airtime of a turn. The default is `256 us`.
    pub airtime_quantum: Option<Quantity<Duration>>,
    /// Whether the airtime of packets in ring and MAC is limited (airtime queue limits). The default is true.
    pub aql: Option<bool>,
    /// A station always gets another packet while the expected airtime of its packets is less than this. The default is
    /// `5 ms`.
    pub aql_low: Option<Quantity<Duration>>,
    /// The limit instead of `aql_low` while the expected airtime of all stations' packets is less than the threshold.
    /// The default is `12 ms`.
    pub aql_high: Option<Quantity<Duration>>,
    /// The threshold for all stations together. The default is `24 ms`.
    pub aql_threshold: Option<Quantity<Duration>>,
    /// The acceptable standing delay of a flow. The default is `20 ms`.
    pub target: Option<Quantity<Duration>>,
    /// Time for which the delay must have been above the target. The default is `100 ms`.
    pub interval: Option<Quantity<Duration>>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is true.
    pub ecn: Option<bool>,
    /// Number of queues to which flows of all stations are hashed. The default is 4096.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: Option<u32>,
    /// Bytes that a flow's queue sends in one turn. The default is `300 B`.
    pub quantum: Option<Quantity<Size>>,
    /// Limit of all queues together in bytes, besides a limit in packets. The default is `16777216 B`.
    pub memory_limit: Option<Quantity<Size>>,
}

impl Parameters for Mac80211Params {
    type Table = Mac80211Table;
    const NAME: &'static str = "the queues of mac80211";
    const ABOUT: &'static str = "The queues of Linux's mac80211: FQ-CoDel for each station, \
        stations take turns by airtime, and the airtime handed to the \
        MAC is limited.";

    fn check(tables: &Layers<'_, Mac80211Table>, around: &Around) -> Result<Mac80211Params> {
        let mut params = Mac80211Params::default();
        let (mut fair, mut limited) = (true, true);
        take!(fair, tables.airtime_fairness, any);
        take!(params.airtime, tables.airtime_quantum, |turn| {
            least(LEAST_TURN, "50 us")(turn).map(Some)
        });
        params.airtime = params.airtime.filter(|_| fair);
        let mut aql = AqlParams::default();
        take!(limited, tables.aql, any);
        take!(aql.low, tables.aql_low, plain);
        take!(aql.high, tables.aql_high, plain);
        take!(aql.threshold, tables.aql_threshold, plain);
        params.aql = limited.then_some(aql);
        take!(params.codel.target, tables.target, plain);
        take!(params.codel.interval, tables.interval, least(LEAST_INTERVAL, "1 ms"));
        take!(params.codel.ecn, tables.ecn, any);
        take!(params.flows, tables.flows, one_to(MOST_FLOW_QUEUES));
        take!(params.quantum, tables.quantum, least(LEAST_QUANTUM, "64 B"));
        take!(params.memory_limit, tables.memory_limit, memory_limit(around));
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts {
            limit: Limit::Packets(self.limit),
            room: Some(Limit::Bytes(self.memory_limit)),
            queues: Some(("mac80211.flows", self.flows)),
            searched: true,
            shares_airtime: true,
            drops_waiting: true,
            ..Facts::default()
        }
    }

    /// The scenario's limit replaces the parameters' limit in the same unit.
    fn make(&self, mut place: Place) -> BoxedQueue {
        let mut queue = Mac80211::new(*self, &mut place.rng).with_link_layer(place.link_layer);
        queue.set_limit(place.limit);
        Box::new(queue)
    }
}

/// The queues of one access category, for all stations (neighbours, [`Packet::neighbour`]) that the category sends to.
///
/// **Flows** of all stations are hashed to one set of queues. A queue serves one station at a time: a flow that is
/// hashed to a queue of another station's flow joins its own station's queue (`fq_flow_classify`), and stays there
/// while packets of the flow wait there, which Linux lets later packets overtake. A station's flow queues take turns by
/// bytes, new queues first, each under CoDel, as in FQ-CoDel. When the store is full, the queue with the most bytes
/// loses half of its bytes from its head, at most 32 packets (`fq_flow_drop`).
///
/// **Stations** take turns by airtime (`ieee80211_next_txq`). A station is served while some of its turn is left; the
/// airtime that its packets took is charged when [`LinkFeedback::on_sent`] reports them, and with AQL the expected
/// airtime of its packets in transit counts against the turn until then. A station whose turn is used up gets a new
/// turn and goes to the end. A station that becomes active goes to the front: if it has used less airtime than the
/// others, it waits for none of them.
///
/// **AQL**: a station whose packets in the device have too much expected airtime gets no more packets for now
/// (`ieee80211_txq_airtime_check`): [`QueueDisc::dequeue`] may return `None` although packets wait. AQL requires a link
/// that reports every packet. The expected airtime follows the recent airtime per byte of the station; Linux asks the
/// rate control.
///
/// Each access category has a set of these queues, with airtime counters of its own. Linux has one set of flow queues
/// for all categories, and one threshold.
#[derive(Clone, Debug)]
pub struct Mac80211 {
    params: Mac80211Params,
    hash: FlowHash,
    queues: FlowQueues,
    stations: Vec<Station>,
    airtime: Airtime,
    /// Stations with packets, in the order of service. A station without packets is removed when its turn comes.
    active: VecDeque<NeighbourId>,
    /// The station that `peek` has decided on.
    chosen: Option<NeighbourId>,
    /// Packets that CoDel has passed and that have not left, and their bytes.
    decided: usize,
    decided_bytes: u64,
}

#[derive(Clone, Debug)]
struct Station {
    turns: Turns,
    /// The station's own flow queue, and how many of its packets belong to which of the other queues.
    own: u32,
    diverted: BTreeMap<u32, u32>,
    active: bool,
    /// The packet that leaves next, if `peek` has decided on a packet.
    next: Option<Packet>,
}

impl Mac80211 {
    /// Empty queues that count IP bytes. `rng` gives the key of the hash.
    pub fn new(params: Mac80211Params, rng: &mut RandomStream) -> Mac80211 {
        let params = Mac80211Params {
            flows: params.flows.max(1),
            quantum: params.quantum.max(1),
            airtime: params.airtime.map(|turn| turn.max(LEAST_TURN)),
            ..params
        };
        Mac80211 {
            params,
            hash: FlowHash::new(rng),
            queues: FlowQueues::new(params.codel, params.quantum, params.flows as usize),
            stations: Vec::new(),
            airtime: Airtime::default(),
            active: VecDeque::new(),
            chosen: None,
            decided: 0,
            decided_bytes: 0,
        }
    }

    /// The queues count `bytes` on top of each IP packet. Only for empty queues.
    pub fn with_link_layer(mut self, bytes: u32) -> Mac80211 {
        self.queues.set_link_layer(bytes);
        self
    }

    fn learn(&mut self, neighbour: NeighbourId) {
        while self.stations.len() <= neighbour.index() {
            let own = self.queues.add();
            self.stations.push(Station {
                turns: Turns::default(),
                own,
                diverted: BTreeMap::new(),
                active: false,
                next: None,
            });
            self.airtime.add(self.params.airtime.unwrap_or(Span::ZERO));
        }
    }

    fn place(&self, packet: &Packet) -> u32 {
        self.hash.place(packet.flow, self.params.flows) as u32
    }

    /// The flow queue that a packet joins (`fq_flow_classify`).
    fn classify(&mut self, packet: &Packet) -> usize {
        let place = self.place(packet);
        let owner = self.queues.owner(place as usize);
        let station = &mut self.stations[packet.neighbour.index()];
        let taken = owner.is_some_and(|owner| owner != u32::from(packet.neighbour.0));
        if !taken && !station.diverted.contains_key(&place) {
            return place as usize;
        }
        *station.diverted.entry(place).or_default() += 1;
        station.own as usize
    }

    /// A packet has left its flow queue.
    fn unclassify(&mut self, packet: &Packet) {
        let place = self.place(packet);
        let diverted = &mut self.stations[packet.neighbour.index()].diverted;
        if let Some(packets) = diverted.get_mut(&place) {
            *packets -= 1;
            if *packets == 0 {
                diverted.remove(&place);
            }
        }
    }

    /// As [`unclassify`](Self::unclassify), for the drops after the first `before`.
    fn unclassify_dropped(&mut self, before: usize, drops: &Drops) {
        for drop in &drops.as_slice()[before..] {
            self.unclassify(&drop.packet);
        }
    }

    fn make_room(&mut self, drops: &mut Drops) {
        while self.len_packets() > self.params.limit as usize
            || self.len_bytes() > self.params.memory_limit
        {
            let fattest = self.queues.fattest();
            let (packets, _) = self.queues.backlog(fattest);
            if packets == 0 {
                // All packets that are left are already decided on.
                return;
            }
            let before = drops.as_slice().len();
            let shed = self.queues.shed(fattest, (packets / 2).clamp(1, 32), u64::MAX, drops);
            self.stations[shed.owner as usize].turns.shed(shed.bytes);
            self.unclassify_dropped(before, drops);
        }
    }

    /// Whether a station may be given another packet (`ieee80211_txq_airtime_check`).
    fn is_within_limit(&self, at: usize) -> bool {
        let Some(aql) = self.params.aql else { return true };
        let pending = self.airtime.pending(at);
        let low = pending == Span::ZERO || pending < aql.low;
        low || pending < aql.high && self.airtime.pending_of_all() < aql.threshold
    }

    /// Decides on the packet of a station that leaves next, if any, and stores the packet in `next`.
    fn decide(&mut self, neighbour: NeighbourId, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let at = neighbour.index();
        if self.stations.get(at)?.next.is_none() {
            let before = drops.as_slice().len();
            let next = self.queues.pop(&mut self.stations[at].turns, now, drops);
            self.unclassify_dropped(before, drops);
            if let Some(packet) = &next {
                self.unclassify(packet);
                self.decided += 1;
                self.decided_bytes += self.queues.cost(packet);
            }
            self.stations[at].next = next;
        }
        self.stations[at].next.as_ref()
    }

    /// The station whose turn it is and that has a packet, on which it decides (`ieee80211_next_txq`).
    fn choose(&mut self, now: Time, drops: &mut Drops) -> Option<NeighbourId> {
        // Stations passed over since the last station that may get a packet.
        let mut passed = 0;
        while passed < self.active.len() {
            let neighbour = *self.active.front()?;
            let at = neighbour.index();
            let within = self.is_within_limit(at);
            passed = if within { 0 } else { passed + 1 };
            if let Some(turn) = self.params.airtime
                && self.airtime.left(at, self.params.aql.is_some()) < Span::ZERO
            {
                self.airtime.refill(at, turn);
                self.active.rotate_left(1);
            } else if !within {
                self.active.rotate_left(1);
            } else if self.decide(neighbour, now, drops).is_some() {
                return Some(neighbour);
            } else {
                self.active.pop_front();
                self.stations[at].active = false;
            }
        }
        None
    }

    /// A station's decided packet leaves (`ieee80211_return_txq`).
    fn hand_out(&mut self, neighbour: NeighbourId) -> Option<Packet> {
        let at = neighbour.index();
        let packet = self.stations[at].next.take()?;
        let cost = self.queues.cost(&packet);
        self.decided -= 1;
        self.decided_bytes -= cost;
        self.airtime.on_handed_out(at, cost);
        if self.stations[at].turns.bytes() == 0 && self.active.front() == Some(&neighbour) {
            self.active.pop_front();
            self.stations[at].active = false;
        }
        Some(packet)
    }
}

impl QueueDisc for Mac80211 {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        self.learn(packet.neighbour);
        let at = self.classify(&packet);
        let station = &mut self.stations[packet.neighbour.index()];
        self.queues.push(at, packet.neighbour.0.into(), &mut station.turns, packet, now);
        if !station.active {
            station.active = true;
            // `__ieee80211_schedule_txq`
            if self.params.airtime.is_some() {
                self.active.push_front(packet.neighbour);
            } else {
                self.active.push_back(packet.neighbour);
            }
        }
        self.make_room(drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let promised =
            self.chosen.take().filter(|&neighbour| self.decide(neighbour, now, drops).is_some());
        let neighbour = promised.or_else(|| self.choose(now, drops))?;
        if self.params.airtime.is_none() && self.active.front() == Some(&neighbour) {
            self.active.rotate_left(1);
        }
        self.hand_out(neighbour)
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let promised =
            self.chosen.take().filter(|&neighbour| self.decide(neighbour, now, drops).is_some());
        self.chosen = promised.or_else(|| self.choose(now, drops));
        self.stations[self.chosen?.index()].next.as_ref()
    }

    fn len_packets(&self) -> usize {
        self.queues.packets() + self.decided
    }

    fn len_bytes(&self) -> u64 {
        self.queues.bytes() + self.decided_bytes
    }

    /// A limit in packets replaces `limit`, a limit in bytes replaces `memory_limit`.
    fn set_limit(&mut self, limit: Limit) {
        match limit {
            Limit::Packets(packets) => self.params.limit = packets,
            Limit::Bytes(bytes) => self.params.memory_limit = bytes,
        }
    }
}

impl ByNeighbour for Mac80211 {
    fn peek_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<&Packet> {
        let known = neighbour.index() < self.stations.len();
        if !(known && self.is_within_limit(neighbour.0.into())) {
            return None;
        }
        self.decide(neighbour, now, drops)
    }

    fn dequeue_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        drops: &mut Drops,
    ) -> Option<Packet> {
        self.peek_for_neighbour(neighbour, now, drops)?;
        self.hand_out(neighbour)
    }

    /// The station whose turn it is, without a decision.
    fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        now: Time,
        drops: &mut Drops,
    ) -> Option<NeighbourId> {
        self.choose(now, drops).filter(|neighbour| !neighbours.contains(neighbour))
    }
}

impl LinkFeedback for Mac80211 {
    fn on_sent(&mut self, sent: &Sent, _now: Time) {
        let bytes = self.queues.cost(&sent.packet);
        self.airtime.on_report(sent.packet.neighbour.0.into(), bytes, sent.airtime);
    }

    /// Linux buffers the packets of stations that sleep before its queues (`ieee80211_tx_h_unicast_ps_buf`), and AQL counts
    /// what leaves these (`ieee80211_tx_dequeue`).
    fn on_put_aside(&mut self, packet: &Packet) {
        let bytes = self.queues.cost(packet);
        self.airtime.on_put_aside(packet.neighbour.0.into(), bytes);
    }

    fn on_taken_up(&mut self, packet: &Packet) {
        let bytes = self.queues.cost(packet);
        self.airtime.on_handed_out(packet.neighbour.0.into(), bytes);
    }
}

#[cfg(test)]
mod tests;
