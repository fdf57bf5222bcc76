//! What every queue discipline owes its caller, checked on random sequences of calls. A discipline
//! joins with one line at the end of this file.

use airqueue_core::{
    DataRate, DropReason, Dropped, Drops, Ecn, Feedback, Hosts, Limit, LinkQueue, Packet, Seed,
    Sent, Span, Stream, Time,
};
use airqueue_qdisc::{
    Adaptive, AdaptiveParams, AqlParams, Behaviour, Cake, CakeParams, Codel, CodelParams, Diffserv,
    DropFrom, DropTail, FqCodel, FqCodelParams, Isolation, KeptApart, Mac80211, Mac80211Params,
    PerFlow, Pie, PieParams, Rdqm, RdqmParams, RdqmWeight, Red, RedParams, Sfq, SfqParams,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// One call, `after` microseconds after the one before.
#[derive(Clone, Debug)]
enum Call {
    Enqueue {
        after: i64,
        flow: u32,
        size: u32,
        ecn: Ecn,
    },
    Dequeue {
        after: i64,
    },
    Peek {
        after: i64,
    },
    /// Looks for a packet for a neighbour, and takes it.
    Along {
        after: i64,
        hop: u16,
    },
    /// The link is done with the oldest packet that it has; what it tells of it.
    Sent {
        after: i64,
        acknowledged: bool,
        airtime: Span,
        feedback: Option<Feedback>,
    },
    Limit {
        after: i64,
        limit: Limit,
    },
    /// The limit of the queue of one flow and neighbour.
    LimitOf {
        after: i64,
        flow: u32,
        limit: Limit,
    },
    /// A limit that nothing reaches, in packets and in bytes.
    Raise {
        after: i64,
    },
}

/// What a discipline drops for want of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// The arriving packet, if the limit leaves no room for it.
    Arrivals,
    /// Packets that wait, as many as it takes.
    Waiting,
    /// The arriving packet, also by a limit of its own within the one that is set.
    Own,
    /// Either of them, also by a limit of its own.
    Any,
}

/// Mostly as on a busy link; now and then the clock leaps by days.
fn after() -> impl Strategy<Value = i64> {
    prop_oneof![60 => 0i64..3000, 3 => 0i64..1_000_000, 1 => Just(1_000_000_000_000i64)]
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect), Just(Ecn::Ce)]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(0u32..12).prop_map(Limit::Packets), (0u64..9000).prop_map(Limit::Bytes)]
}

fn feedback() -> impl Strategy<Value = Option<Feedback>> {
    let rate = (1u64..1_000_000_000).prop_map(|bps| DataRate::from_bps(bps).unwrap());
    let reported =
        (0i64..2000, rate).prop_map(|(ms, rate)| Feedback { rtt: Span::from_millis(ms), rate });
    prop::option::of(reported)
}

fn sent() -> impl Strategy<Value = Call> {
    let airtime = (0i64..20_000).prop_map(Span::from_micros);
    (after(), any::<bool>(), airtime, feedback()).prop_map(
        |(after, acknowledged, airtime, feedback)| Call::Sent {
            after,
            acknowledged,
            airtime,
            feedback: feedback.filter(|_| acknowledged),
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        50 => (after(), 0u32..4, 1u32..=1514, ecn())
            .prop_map(|(after, flow, size, ecn)| Call::Enqueue { after, flow, size, ecn }),
        30 => after().prop_map(|after| Call::Dequeue { after }),
        10 => after().prop_map(|after| Call::Peek { after }),
        20 => sent(),
        10 => (after(), 0u16..4).prop_map(|(after, hop)| Call::Along { after, hop }),
        1 => (after(), limit()).prop_map(|(after, limit)| Call::Limit { after, limit }),
        1 => (after(), 0u32..4, limit())
            .prop_map(|(after, flow, limit)| Call::LimitOf { after, flow, limit }),
        1 => after().prop_map(|after| Call::Raise { after }),
    ]
}

/// The queue under test, and beside it what must be in it.
struct Trial<Q> {
    queue: Q,
    full: Full,
    /// The limit is one that nothing reaches.
    raised: bool,
    now: Time,
    drops: Drops,
    inside: BTreeMap<u64, (Packet, Time)>,
    /// Taken out, and with the link.
    handed_out: VecDeque<Packet>,
    last_of_flow: BTreeMap<u32, u64>,
    next_id: u64,
    /// Packets seen to leave with a mark that they did not come with.
    marked: u64,
    log: Vec<(u64, bool)>,
}

impl<Q: LinkQueue> Trial<Q> {
    fn new(queue: Q, full: Full) -> Trial<Q> {
        Trial {
            queue,
            full,
            raised: false,
            now: Time::ZERO,
            drops: Drops::new(),
            inside: BTreeMap::new(),
            handed_out: VecDeque::new(),
            last_of_flow: BTreeMap::new(),
            next_id: 0,
            marked: 0,
            log: Vec::new(),
        }
    }

    fn step(&mut self, call: &Call) {
        let (Call::Enqueue { after, .. }
        | Call::Dequeue { after }
        | Call::Peek { after }
        | Call::Along { after, .. }
        | Call::Sent { after, .. }
        | Call::Limit { after, .. }
        | Call::LimitOf { after, .. }
        | Call::Raise { after }) = *call;
        self.now += Span::from_micros(after);
        match *call {
            Call::Enqueue { flow, size, ecn, .. } => {
                let hosts = Hosts { source: flow / 2, destination: flow % 2 };
                self.queue.know_flow(flow, hosts);
                self.enqueue(flow, size, ecn);
            }
            Call::Dequeue { .. } => {
                self.dequeue();
            }
            Call::Peek { .. } => self.peek_then_dequeue(),
            Call::Along { hop, .. } => self.peek_then_dequeue_along(hop),
            Call::Sent { acknowledged, airtime, feedback, .. } => {
                if let Some(packet) = self.handed_out.pop_front() {
                    let sent = Sent { packet, acknowledged, airtime, feedback };
                    self.queue.on_sent(&sent, self.now);
                }
            }
            Call::Limit { limit, .. } => {
                self.queue.set_limit(limit);
                self.raised = false;
            }
            Call::LimitOf { flow, limit, .. } => {
                self.raised &= !self.queue.set_limit_of(flow, hop_of(flow), limit);
            }
            Call::Raise { .. } => {
                // Some have limits of both kinds.
                self.queue.set_limit(Limit::Packets(u32::MAX));
                self.queue.set_limit(Limit::Bytes(u64::MAX));
                self.raised = true;
            }
        }
        self.check_contents();
    }

    fn enqueue(&mut self, flow: u32, size: u32, ecn: Ecn) {
        let hop = hop_of(flow);
        let dscp = [0, 8, 46, 34][flow as usize % 4];
        let packet = Packet { ecn, hop, dscp, ..Packet::new(self.next_id, flow, size, self.now) };
        self.next_id += 1;
        self.inside.insert(packet.id, (packet, self.now));
        self.queue.enqueue(packet, self.now, &mut self.drops);
        self.collect_drops();
    }

    fn dequeue(&mut self) -> Option<u64> {
        let packet = self.queue.dequeue(self.now, &mut self.drops);
        self.collect_drops();
        self.leave(packet?)
    }

    fn leave(&mut self, packet: Packet) -> Option<u64> {
        let (offered, at) =
            self.inside.remove(&packet.id).expect("a delivered packet was offered and not gone");
        let ecn = self.check_mark(&offered, &packet);
        assert_eq!(
            packet,
            Packet { enqueued: at, ecn, ..offered },
            "only the stamp and a mark are the queue's"
        );
        let last = self.last_of_flow.insert(packet.flow, packet.id);
        assert!(last.is_none_or(|last| last < packet.id), "packets of a flow keep their order");
        self.log.push((packet.id, true));
        self.handed_out.push_back(packet);
        Some(packet.id)
    }

    /// What the ECN field of a packet that leaves may be.
    fn check_mark(&mut self, offered: &Packet, left: &Packet) -> Ecn {
        if left.ecn != offered.ecn {
            assert_eq!((offered.ecn, left.ecn), (Ecn::Ect, Ecn::Ce), "marks are for ECT packets");
            self.marked += 1;
        }
        left.ecn
    }

    fn peek_then_dequeue(&mut self) {
        let peeked = self.queue.peek(self.now, &mut self.drops).map(|p| p.id);
        self.collect_drops();
        let len = self.queue.len_packets();
        assert_eq!(peeked, self.dequeue(), "dequeue keeps to what peek promised");
        assert_eq!(self.queue.len_packets(), len - usize::from(peeked.is_some()));
    }

    fn peek_then_dequeue_along(&mut self, hop: u16) {
        let peeked = self.queue.peek_along(hop, self.now, &mut self.drops).copied();
        self.collect_drops();
        assert!(peeked.is_none_or(|packet| packet.hop == hop), "it is for that neighbour");
        let packet = self.queue.dequeue_along(hop, self.now, &mut self.drops);
        self.collect_drops();
        assert_eq!(peeked.map(|p| p.id), packet.map(|p| p.id), "it keeps to what was promised");
        packet.map(|packet| self.leave(packet));
    }

    fn collect_drops(&mut self) {
        let drops: Vec<_> = self.drops.drain().collect();
        for drop in drops {
            let known = self.inside.remove(&drop.packet.id);
            let (offered, _) = known.expect("a dropped packet was offered and not gone");
            self.check_mark(&offered, &drop.packet);
            self.check_reason(&drop);
            self.log.push((drop.packet.id, false));
        }
    }

    /// A limit that was lowered takes nothing that waits from a discipline that refuses arrivals, and one that was
    /// raised holds from the next arrival on.
    fn check_reason(&self, drop: &Dropped) {
        let arrives = drop.packet.id + 1 == self.next_id;
        match drop.reason {
            DropReason::Tail => assert!(arrives, "a packet that waited is no tail"),
            DropReason::Head => assert!(matches!(self.full, Full::Waiting | Full::Any)),
            _ => return,
        }
        assert!(!self.raised || matches!(self.full, Full::Own | Full::Any), "there was room");
    }

    fn check_contents(&self) {
        let bytes: u64 = self.inside.values().map(|(p, _)| u64::from(p.size)).sum();
        assert_eq!(self.queue.len_packets(), self.inside.len());
        assert!(self.queue.len_bytes() >= bytes, "the own measure may only add overhead");
        assert_eq!(self.queue.is_empty(), self.inside.is_empty());
        assert_eq!(self.queue.len_bytes() == 0, self.inside.is_empty());
    }

    /// Takes out everything. The link is done with what it has where the discipline waits for that; otherwise it
    /// says until when.
    fn drain(&mut self) {
        while !self.queue.is_empty() {
            if self.dequeue().is_some() || self.queue.is_empty() {
                // Nothing is held back.
            } else if let Some(packet) = self.handed_out.pop_front() {
                let airtime = Span::from_micros(100);
                let sent = Sent { packet, acknowledged: true, airtime, feedback: None };
                self.queue.on_sent(&sent, self.now);
            } else {
                let wake = self.queue.next_wakeup(self.now);
                let wake = wake.expect("a queue that holds packets back says until when");
                assert!(wake > self.now, "a wake-up lies in the future");
                self.now = wake;
            }
            self.check_contents();
        }
        assert_eq!(self.queue.dequeue(self.now, &mut self.drops), None);
        assert_eq!(self.drops.marks(), self.marked, "every mark is counted once");
    }
}

/// The neighbour that a flow's packets are for.
fn hop_of(flow: u32) -> u16 {
    (flow % 3) as u16
}

fn conform<Q: LinkQueue>(make: impl Fn() -> Q, full: Full, calls: &[Call]) {
    let run = || {
        let mut trial = Trial::new(make(), full);
        calls.iter().for_each(|call| trial.step(call));
        trial.drain();
        (trial.log, trial.drops.marks())
    };
    assert_eq!(run(), run(), "the same calls have the same effects");
}

fn chance() -> Stream {
    Seed(7).stream("queue")
}

/// A CoDel that has much to do within some milliseconds.
fn hasty_codel() -> CodelParams {
    CodelParams {
        target: Span::from_micros(500),
        interval: Span::from_millis(5),
        ecn: true,
        ..CodelParams::default()
    }
}

/// RED and PIE that drop and mark often.
fn hasty_red() -> RedParams {
    RedParams { min: 1, max: 8, max_p: 0.5, weight: 0.3, ecn: true, ..RedParams::default() }
}

fn hasty_pie() -> PieParams {
    PieParams {
        target: Span::from_millis(2),
        update: Span::from_millis(1),
        alpha: 12.5,
        beta: 125.0,
        max_burst: Span::from_millis(3),
        ecn: true,
        mark_up_to: 0.5,
        ..PieParams::default()
    }
}

/// Queues that flows of several stations must share, and a limit that holds packets back.
fn hasty_mac80211() -> Mac80211Params {
    let aql = AqlParams {
        low: Span::from_micros(900),
        high: Span::from_millis(3),
        threshold: Span::from_millis(4),
    };
    let aql = Some(aql);
    Mac80211Params { codel: hasty_codel(), flows: 2, limit: 20, aql, ..Mac80211Params::default() }
}

/// A rate that these packets exceed now and then, and a short interval.
fn hasty_cake() -> CakeParams {
    CakeParams {
        rate: DataRate::from_bps(8_000_000),
        rtt: Span::from_millis(5),
        memory_limit: Some(20_000),
        ..CakeParams::default()
    }
}

fn hasty_adaptive() -> AdaptiveParams {
    AdaptiveParams {
        rtt: Span::from_millis(20),
        floor_bytes: 0,
        window: Span::from_millis(50),
        ..AdaptiveParams::default()
    }
}

macro_rules! conforms {
    ($full:expr; $($name:ident: $make:expr;)*) => {
        proptest! { $(
            #[test]
            fn $name(calls in prop::collection::vec(call(), 0..300)) {
                conform(|| $make, $full, &calls);
            }
        )* }
    };
}

conforms! {
    Full::Arrivals;
    pfifo: DropTail::new(Limit::Packets(9));
    pfifo_of_nothing: DropTail::new(Limit::Packets(0));
    bfifo: DropTail::new(Limit::Bytes(6000)).with_link_layer(14);
    per_flow_pfifo: PerFlow::new(|_| DropTail::new(Limit::Packets(5)));
    codel: Codel::new(hasty_codel(), Limit::Packets(20)).with_link_layer(14);
    codel_of_nothing: Codel::new(hasty_codel(), Limit::Bytes(0));
    codel_as_in_linux: Codel::new(CodelParams { behaviour: Behaviour::Linux, ..hasty_codel() }, Limit::Packets(20));
    red: Red::new(hasty_red(), Limit::Packets(20), chance()).with_link_layer(14);
    red_by_size: Red::new(RedParams { in_bytes: true, min: 500, max: 3000, gentle: true, by_size: true, hard_drop: true, ..hasty_red() }, Limit::Bytes(9000), chance());
    red_of_nothing: Red::new(RedParams { min: 0, max: 0, ..hasty_red() }, Limit::Packets(0), chance());
    pie: Pie::new(hasty_pie(), Limit::Packets(20), chance());
    pie_by_size: Pie::new(PieParams { by_size: true, derandomize: false, ..hasty_pie() }, Limit::Bytes(9000), chance()).with_link_layer(14);
    pie_as_in_linux: Pie::new(PieParams { behaviour: Behaviour::Linux, ..hasty_pie() }, Limit::Packets(20), chance());
    pie_of_nothing: Pie::new(hasty_pie(), Limit::Packets(0), chance());
    deficit_round_robin: PerFlow::new(|_| DropTail::new(Limit::Packets(5)).with_link_layer(14)).with_quantum(1500);
    deficit_round_robin_by_link: PerFlow::new(|_| DropTail::new(Limit::Packets(5))).by(KeptApart::Link).with_quantum(300);
    deficit_round_robin_of_codel: PerFlow::new(|_| Codel::new(hasty_codel(), Limit::Packets(9))).with_quantum(1);
    boxed: Box::new(DropTail::new(Limit::Packets(9))) as Box<dyn LinkQueue>;
    per_link_pfifo: PerFlow::new(|_| DropTail::new(Limit::Packets(5))).by(KeptApart::Link);
}

conforms! {
    Full::Waiting;
    pfifo_head_drop: DropTail::new(Limit::Packets(9)).dropping_from(DropFrom::Head);
    bfifo_head_drop: DropTail::new(Limit::Bytes(6000)).dropping_from(DropFrom::Head);
    per_flow_head_drop: PerFlow::new(|_| DropTail::new(Limit::Bytes(3000)).dropping_from(DropFrom::Head));
    fq_codel: FqCodel::new(FqCodelParams { codel: hasty_codel(), flows: 3, limit: 20, ..FqCodelParams::default() }, &mut chance());
    fq_codel_of_nothing: FqCodel::new(FqCodelParams { limit: 0, ..FqCodelParams::default() }, &mut chance()).with_link_layer(14);
    cake: Cake::new(hasty_cake(), chance());
    cake_by_precedence: Cake::new(CakeParams { diffserv: Diffserv::Precedence, isolation: Isolation::Hosts, memory_limit: Some(6000), ..hasty_cake() }, chance()).with_link_layer(14);
    cake_without_rate: Cake::new(CakeParams { rate: None, isolation: Isolation::Blind, ..hasty_cake() }, chance());
    cake_of_nothing: Cake::new(CakeParams { rate: DataRate::from_bps(1_000_000), overhead: Some(-2000), rtt: Span::ZERO, mtu: 0, memory_limit: Some(0), ..hasty_cake() }, chance());
    mac80211: Mac80211::new(hasty_mac80211(), &mut chance()).with_link_layer(14);
    mac80211_by_turns: Mac80211::new(Mac80211Params { airtime: None, aql: None, ..hasty_mac80211() }, &mut chance());
    mac80211_of_nothing: Mac80211::new(Mac80211Params { flows: 0, quantum: 0, limit: 0, airtime: Some(Span::ZERO), aql: Some(AqlParams { low: Span::ZERO, high: Span::ZERO, threshold: Span::ZERO }), ..hasty_mac80211() }, &mut chance());
}

conforms! {
    Full::Own;
    adaptive: Adaptive::new(hasty_adaptive(), Limit::Packets(20), &mut chance());
    adaptive_of_nothing: Adaptive::new(AdaptiveParams { rtt: Span::ZERO, ..hasty_adaptive() }, Limit::Bytes(0), &mut chance()).with_link_layer(14);
    rdqm: Rdqm::new(RdqmParams::default(), Limit::Packets(20)).with_link_layer(14);
    rdqm_by_rtt: Rdqm::new(RdqmParams { weight: RdqmWeight::Rtt, beyond_limit: false, floor: false, expiry: Span::from_millis(5), expiry_rtts: 1 }, Limit::Bytes(9000));
    rdqm_of_nothing: Rdqm::new(RdqmParams { expiry: Span::ZERO, ..RdqmParams::default() }, Limit::Packets(0));
}

conforms! {
    Full::Any;
    sfq: Sfq::new(SfqParams { quantum: 300, depth: 6, divisor: 3, ..SfqParams::default() }, Limit::Packets(12), chance()).with_link_layer(14);
    sfq_head_drop: Sfq::new(SfqParams { depth: 6, headdrop: true, ..SfqParams::default() }, Limit::Bytes(9000), chance());
    sfq_perturbed: Sfq::new(SfqParams { depth: 6, divisor: 3, perturb: Some(Span::from_millis(2)), ..SfqParams::default() }, Limit::Packets(12), chance());
    sfq_of_nothing: Sfq::new(SfqParams { quantum: 0, depth: 0, flows: 0, divisor: 0, headdrop: true, perturb: Some(Span::ZERO) }, Limit::Packets(0), chance());
}
