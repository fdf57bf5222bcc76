//! The queues of Linux's mac80211: flow queues under CoDel for each station, airtime shared among the stations, and a
//! limit on the airtime of packets in the device (Høiland-Jørgensen and others, "Ending the Anomaly", USENIX ATC 2017;
//! airtime queue limits, AQL, since Linux 5.5).

use crate::airtime::Airtime;
use crate::codel::CodelParams;
use crate::flow_hash::FlowHash;
use crate::flow_queues::{FlowQueues, Turns};
use airqueue_core::{
    ByNeighbour, Device, Drops, Limit, LinkFeedback, NeighbourFacts, NeighbourId, Packet,
    QueueDisc, RandomStream, Sent, Span, Time,
};
use std::collections::{BTreeMap, VecDeque};

pub use keys::{AqlParams, LEAST_TURN, Mac80211Params, Mac80211Table};

mod keys;

/// A station is slow if it would have less than this, times the number of stations (`STA_SLOW_THRESHOLD`).
const SLOW_BPS: u64 = 6_000_000;

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
/// others, it waits for none of them. A station's turn is as long as its weight says ([`LinkFeedback::set_neighbour`]):
/// stations that always have packets share the airtime in proportion to their weights.
///
/// **Packets for all stations in range** wait as those of one more station, which has a packet in turn whatever airtime
/// the packet takes, comes in at the end, and has a limit of its own instead of AQL's (the TXQ of the interface).
///
/// **Slow stations**: [`Mac80211Params::slow_stations`]. Linux asks the rate control for the throughput, and counts all
/// associated stations; here the throughput follows the recent airtime per byte, and the stations are those that the
/// category may send to.
///
/// **AQL**: a station whose packets in the device have too much expected airtime gets no more packets for now
/// (`ieee80211_txq_airtime_check`): [`QueueDisc::dequeue`] may return `None` although packets wait. AQL requires a link
/// that reports every packet. What a packet is expected to take is decided when it is handed out, by the rate of the
/// station's last report ([`AirRate::expected_us`](airqueue_core::AirRate::expected_us)), and counts until the packet is
/// reported. All stations together get `high` for one active station and half of `low` for each further one
/// (`ieee80211_txq_schedule_airtime_check`); only packets that join a frame of their station go beyond.
///
/// **A station that sleeps** ([`LinkFeedback::set_asleep`]) has no turns. Its packets wait, under the limits of all, until
/// the station is awake or asks for them.
///
/// Each access category has a set of these queues, with turns and limits of its own. The threshold is for the device: for the
/// packets of all categories ([`LinkFeedback::set_device`]). Linux has one set of flow queues for all categories.
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
    /// The station sleeps: its packets wait until it is awake, or asks for them.
    asleep: bool,
    /// Packets of the station, [`Self::next`] included.
    waiting: usize,
    /// The packets are for all stations in range.
    is_group: bool,
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
            queues: FlowQueues::new(params.quantum, params.flows as usize),
            stations: Vec::new(),
            airtime: Airtime::new(params.aql.is_some()),
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
                asleep: false,
                waiting: 0,
                is_group: false,
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
            self.stations[drop.packet.neighbour.index()].waiting -= 1;
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
        if pending == Span::ZERO {
            return true;
        }
        if self.stations[at].is_group {
            return pending < aql.multicast;
        }
        pending < aql.low || pending < aql.high && self.airtime.pending_in_device() < aql.threshold
    }

    /// Whether any station may have a turn (`ieee80211_txq_schedule_airtime_check`).
    fn may_schedule(&self) -> bool {
        let Some(aql) = self.params.aql else { return true };
        let pending = self.airtime.pending_of_all();
        let others = self.active.len().saturating_sub(1) as i64;
        let share = Span::from_nanos((aql.low.as_nanos() / 2).saturating_mul(others));
        pending == Span::ZERO || pending - share < aql.high
    }

    /// Whether a station takes turns by airtime, and has used up its turn.
    fn is_used_up(&self, at: usize) -> bool {
        self.params.airtime.is_some()
            && !self.stations[at].is_group
            && self.airtime.left(at, self.params.aql.is_some()) < Span::ZERO
    }

    /// Whether a station takes turns packet by packet.
    fn has_a_packet_in_turn(&self, at: usize) -> bool {
        self.params.airtime.is_none() || self.stations[at].is_group
    }

    /// CoDel for the packets of a station (`sta_update_codel_params`).
    fn codel(&self, at: usize) -> CodelParams {
        let codel = self.params.codel;
        if !self.params.slow_stations || self.stations[at].is_group {
            return codel;
        }
        let stations = self.stations.iter().filter(|station| !station.is_group).count() as u64;
        let slow = |bps| bps < SLOW_BPS * stations;
        if self.airtime.throughput_bps(at).is_some_and(slow) {
            codel.for_slow_stations()
        } else {
            codel
        }
    }

    /// Decides on the packet of a station that leaves next, if any, and stores the packet in `next`.
    fn decide(&mut self, neighbour: NeighbourId, now: Time, drops: &mut Drops) -> Option<&Packet> {
        let at = neighbour.index();
        if self.stations.get(at)?.next.is_none() {
            let before = drops.as_slice().len();
            let codel = self.codel(at);
            let next = self.queues.pop(&mut self.stations[at].turns, &codel, now, drops);
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
        if !self.may_schedule() {
            return None;
        }
        // Stations passed over since the last station that may get a packet.
        let mut passed = 0;
        while passed < self.active.len() {
            let neighbour = *self.active.front()?;
            let at = neighbour.index();
            let within = self.is_within_limit(at);
            passed = if within { 0 } else { passed + 1 };
            if self.is_used_up(at) {
                self.airtime.refill(at);
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

    /// A station with packets takes part in the turns (`__ieee80211_schedule_txq`), unless it sleeps.
    fn activate(&mut self, neighbour: NeighbourId) {
        let station = &mut self.stations[neighbour.index()];
        if station.asleep || std::mem::replace(&mut station.active, true) {
            return;
        }
        if self.has_a_packet_in_turn(neighbour.index()) {
            self.active.push_back(neighbour);
        } else {
            self.active.push_front(neighbour);
        }
    }

    /// A station's decided packet leaves (`ieee80211_return_txq`).
    fn hand_out(&mut self, neighbour: NeighbourId) -> Option<Packet> {
        let at = neighbour.index();
        let packet = self.stations[at].next.take()?;
        self.stations[at].waiting -= 1;
        let cost = self.queues.cost(&packet);
        self.decided -= 1;
        self.decided_bytes -= cost;
        self.airtime.on_handed_out(at, &packet);
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
        station.waiting += 1;
        self.activate(packet.neighbour);
        self.make_room(drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let promised =
            self.chosen.take().filter(|&neighbour| self.decide(neighbour, now, drops).is_some());
        let neighbour = promised.or_else(|| self.choose(now, drops))?;
        if self.has_a_packet_in_turn(neighbour.index()) && self.active.front() == Some(&neighbour) {
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
    fn reads_reports(&self) -> bool {
        true
    }

    fn set_device(&mut self, device: &Device) {
        self.airtime.set_device(device);
    }

    fn expected_airtime(&self, neighbour: NeighbourId) -> Span {
        let is_known = neighbour.index() < self.stations.len();
        if is_known { self.airtime.pending(neighbour.index()) } else { Span::ZERO }
    }

    fn set_neighbour(&mut self, neighbour: NeighbourId, facts: NeighbourFacts) {
        self.learn(neighbour);
        let at = neighbour.index();
        self.stations[at].is_group = facts.is_group;
        let usual = self.params.airtime.unwrap_or(Span::ZERO).as_nanos();
        let weight = i128::from(facts.airtime_weight.max(1));
        let turn = i128::from(usual) * weight / i128::from(NeighbourFacts::USUAL_WEIGHT);
        let turn = Span::from_nanos(i64::try_from(turn).unwrap_or(i64::MAX / 4));
        self.airtime.set_station(at, turn, facts.is_group);
    }

    fn on_sent(&mut self, sent: &Sent, _now: Time) {
        let bytes = self.queues.cost(&sent.packet);
        self.airtime.on_report(sent, bytes);
    }

    /// Linux buffers the packets of stations that sleep before its queues (`ieee80211_tx_h_unicast_ps_buf`), and AQL counts
    /// what leaves these (`ieee80211_tx_dequeue`).
    fn on_put_aside(&mut self, packet: &Packet) {
        self.airtime.on_put_aside(packet);
    }

    fn on_taken_up(&mut self, packet: &Packet) {
        self.airtime.on_handed_out(packet.neighbour.0.into(), packet);
    }

    /// A station that falls asleep leaves the turns (`sta_ps_start`), and comes back to their front with what has waited
    /// (`ieee80211_sta_ps_deliver_wakeup`).
    fn set_asleep(&mut self, neighbour: NeighbourId, asleep: bool) {
        self.learn(neighbour);
        let station = &mut self.stations[neighbour.index()];
        station.asleep = asleep;
        if asleep {
            station.active = false;
            self.active.retain(|&active| active != neighbour);
            self.chosen = self.chosen.filter(|&chosen| chosen != neighbour);
        } else if station.waiting > 0 {
            self.activate(neighbour);
        }
    }

    fn held_for(&self, neighbour: NeighbourId) -> usize {
        let station = self.stations.get(neighbour.index()).filter(|station| station.asleep);
        station.map_or(0, |station| station.waiting)
    }
}

#[cfg(test)]
mod tests;
