//! Random calls of a discipline, and the checks after each call.

use airqueue_core::{
    DataRate, DropReason, Dropped, Drops, Ecn, EcnFlags, Feedback, FlowKey, Hosts, Limit,
    LinkQueue, NeighbourId, OctetRange, Packet, SackBlocks, Sent, Span, TcpHeader, Time,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// One call, `after` microseconds after the previous call.
#[derive(Clone, Debug)]
pub enum Call {
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
    /// Looks for a packet for a neighbour, and dequeues this packet.
    Along {
        after: i64,
        neighbour: NeighbourId,
    },
    /// The link is done with the oldest packet in transit, and reports the packet.
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

/// What a discipline drops for lack of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The arriving packet, if the limit leaves no room for this packet.
    Arrivals,
    /// Waiting packets, as many as necessary.
    Waiting,
    /// The arriving packet, also because of a limit of the discipline's own within the limit that is set.
    Own,
    /// Arriving or waiting packets, also because of a limit of the discipline's own.
    Any,
}

/// Mostly intervals as on a busy link; now and then the clock jumps by days.
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

/// Some hundred calls.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    prop::collection::vec(call(), 0..300)
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        50 => (after(), 0u32..4, 1u32..=1514, ecn())
            .prop_map(|(after, flow, size, ecn)| Call::Enqueue { after, flow, size, ecn }),
        30 => after().prop_map(|after| Call::Dequeue { after }),
        10 => after().prop_map(|after| Call::Peek { after }),
        20 => sent(),
        10 => (after(), 0u16..4).prop_map(|(after, neighbour)| Call::Along { after, neighbour: NeighbourId(neighbour) }),
        1 => (after(), limit()).prop_map(|(after, limit)| Call::Limit { after, limit }),
        1 => (after(), 0u32..4, limit())
            .prop_map(|(after, flow, limit)| Call::LimitOf { after, flow, limit }),
        1 => after().prop_map(|after| Call::Raise { after }),
    ]
}

/// The queue under test, and a model of its contents.
struct Trial<Q> {
    queue: Q,
    full: Full,
    /// The present limit cannot be reached.
    raised: bool,
    now: Time,
    drops: Drops,
    inside: BTreeMap<u64, (Packet, Time)>,
    /// Packets that were dequeued and that the link is not done with.
    handed_out: VecDeque<Packet>,
    last_of_flow: BTreeMap<u32, u64>,
    next_id: u64,
    /// Packets that left with a mark that they did not have on arrival.
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
                self.queue.set_flow_hosts(FlowKey(flow), hosts);
                self.enqueue(flow, size, ecn);
            }
            Call::Dequeue { .. } => {
                self.dequeue();
            }
            Call::Peek { .. } => self.peek_then_dequeue(),
            Call::Along { neighbour, .. } => self.peek_then_dequeue_along(neighbour),
            Call::Sent { acknowledged, airtime, feedback, .. } => {
                if let Some(packet) = self.handed_out.pop_front() {
                    let sent = Sent { packet, acknowledged, airtime, rate: None, feedback };
                    self.queue.on_sent(&sent, self.now);
                }
            }
            Call::Limit { limit, .. } => {
                self.queue.set_limit(limit);
                self.raised = false;
            }
            Call::LimitOf { flow, limit, .. } => {
                self.raised &=
                    !self.queue.set_limit_of(FlowKey(flow), NeighbourId(hop_of(flow)), limit);
            }
            Call::Raise { .. } => {
                // Some disciplines have limits of both kinds.
                self.queue.set_limit(Limit::Packets(u32::MAX));
                self.queue.set_limit(Limit::Bytes(u64::MAX));
                self.raised = true;
            }
        }
        self.check_contents();
    }

    fn enqueue(&mut self, flow: u32, size: u32, ecn: Ecn) {
        let neighbour = hop_of(flow);
        let dscp = [0, 8, 46, 34][flow as usize % 4];
        let packet = Packet {
            ecn,
            neighbour: NeighbourId(neighbour),
            dscp,
            ..Packet::new(self.next_id, FlowKey(flow), size, self.now)
        };
        self.next_id += 1;
        self.inside.insert(packet.id, (packet, self.now));
        if let Some(header) = header_of(&packet)
            && self.queue.reads_tcp_headers()
        {
            self.queue.set_tcp_header(packet.id, &header);
        }
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
        let last = self.last_of_flow.insert(packet.flow.0, packet.id);
        assert!(last.is_none_or(|last| last < packet.id), "packets of a flow keep their order");
        self.log.push((packet.id, true));
        self.handed_out.push_back(packet);
        Some(packet.id)
    }

    /// The ECN field that a departing packet may have.
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

    fn peek_then_dequeue_along(&mut self, neighbour: NeighbourId) {
        let peeked = self.queue.peek_for_neighbour(neighbour, self.now, &mut self.drops).copied();
        self.collect_drops();
        assert!(
            peeked.is_none_or(|packet| packet.neighbour == neighbour),
            "it is for that neighbour"
        );
        let (now, drops) = (self.now, &mut self.drops);
        let refused = self.queue.dequeue_admitted(neighbour, now, drops, &mut |packet| {
            assert_eq!(Some(*packet), peeked, "the packet that was promised is to be admitted");
            false
        });
        assert_eq!(refused, None, "a packet that is not admitted stays");
        let packet = if peeked.is_none_or(|packet| packet.id % 2 == 0) {
            self.queue.dequeue_for_neighbour(neighbour, now, drops)
        } else {
            self.queue.dequeue_admitted(neighbour, now, drops, &mut |_| true)
        };
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

    /// A lowered limit removes no waiting packet from a discipline that drops arrivals, and a raised limit applies from
    /// the next arrival on.
    fn check_reason(&self, drop: &Dropped) {
        let arrives = drop.packet.id + 1 == self.next_id;
        match drop.reason {
            DropReason::Tail => assert!(arrives, "a packet that waited is no tail"),
            DropReason::Head => assert!(matches!(self.full, Full::Waiting | Full::Any)),
            DropReason::AckFilter => {
                let header = header_of(&drop.packet).expect("a filter reads headers");
                assert!(self.queue.reads_tcp_headers());
                assert!(!arrives && !header.has_data, "an arrival makes a bare one redundant");
                return;
            }
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

    /// Dequeues all packets. The link reports its packets if the discipline waits for the reports; otherwise the
    /// discipline states until when it holds packets back.
    fn drain(&mut self) {
        while !self.queue.is_empty() {
            if self.dequeue().is_some() || self.queue.is_empty() {
                // Nothing is held back.
            } else if let Some(packet) = self.handed_out.pop_front() {
                let airtime = Span::from_micros(100);
                let sent = Sent { packet, acknowledged: true, airtime, rate: None, feedback: None };
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

/// The TCP header of a packet, drawn from the packet's number; every fourth packet is of another protocol.
fn header_of(packet: &Packet) -> Option<TcpHeader> {
    let draw = |shift: u32| packet.id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift & 15;
    let ack = packet.id / 3 * 1000 + 1;
    let block = |n| OctetRange { start: ack + 1000 * (n + 1), end: ack + 1000 * (n + 2) };
    let blocks: Vec<OctetRange> = (0..draw(60) / 4).map(block).collect();
    let header = TcpHeader {
        connection: (draw(40) / 8) as u32,
        ack: Some(ack),
        ecn: EcnFlags { ece: draw(44) > 10, cwr: false },
        has_data: draw(48) == 0,
        sack: SackBlocks::from(&blocks[..]),
        ..TcpHeader::default()
    };
    (!packet.id.is_multiple_of(4)).then_some(header)
}

/// Checks a discipline's guarantees in two runs of the same calls: the outcome depends on the calls alone.
pub fn conform<Q: LinkQueue>(make: impl Fn() -> Q, full: Full, calls: &[Call]) {
    let run = || {
        let mut trial = Trial::new(make(), full);
        calls.iter().for_each(|call| trial.step(call));
        trial.drain();
        (trial.log, trial.drops.marks())
    };
    assert_eq!(run(), run(), "the same calls have the same effects");
}
