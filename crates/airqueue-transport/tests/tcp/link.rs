//! Two ends and a network between them, in virtual time.

use airqueue_core::{Span, Time};
use airqueue_transport::tcp::{Receiver, Segment, Sender, TcpSpec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// `NAPI_POLL_WEIGHT` of Linux.
const MOST_IN_BATCH: usize = 64;

/// The destination of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Receiver,
    Sender,
}

/// A network between the ends: when copies of a segment arrive, and whether they are marked.
pub trait Network {
    fn carry(&mut self, to: To, segment: &mut Segment, now: Time, arrivals: &mut Vec<Time>);
}

pub struct Link<N> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub network: N,
    pub now: Time,
    /// Arrival time, order, and index in `segments`.
    wire: BinaryHeap<Reverse<(Time, u64, usize)>>,
    carried: u64,
    segments: Vec<(To, Segment)>,
    /// Free places in `segments`.
    unused: Vec<usize>,
    arrivals: Vec<Time>,
    window: u64,
    mss: u64,
    acknowledged: u64,
}

impl<N: Network> Link<N> {
    pub fn new(spec: &TcpSpec, network: N) -> Link<N> {
        let mss = u64::from(spec.mss_bytes);
        let mut link = Link {
            sender: Sender::new(spec).unwrap(),
            receiver: Receiver::new(spec).unwrap(),
            network,
            now: Time::ZERO,
            wire: BinaryHeap::new(),
            carried: 0,
            segments: vec![],
            unused: vec![],
            arrivals: vec![],
            window: u64::from(spec.sender.window_segments) * mss,
            mss,
            acknowledged: 1,
        };
        link.receiver.open();
        link
    }

    /// Sends all segments of both ends, and checks invariants.
    pub fn flush(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let data_end = segment.seq + u64::from(segment.payload_bytes);
            assert!(data_end <= self.acknowledged + self.window, "beyond the window: {segment:?}");
            assert!(u64::from(segment.payload_bytes) <= self.mss);
            self.put(To::Receiver, segment);
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            self.put(To::Sender, segment);
        }
        assert!(self.sender.cwnd_bytes() >= self.mss);
    }

    fn put(&mut self, to: To, mut segment: Segment) {
        self.network.carry(to, &mut segment, self.now, &mut self.arrivals);
        for at in self.arrivals.drain(..) {
            let slot = self.unused.pop().unwrap_or(self.segments.len());
            if slot == self.segments.len() {
                self.segments.push((to, segment));
            }
            self.segments[slot] = (to, segment);
            self.wire.push(Reverse((at, self.carried, slot)));
            self.carried += 1;
        }
    }

    fn next_arrival(&self) -> Time {
        self.wire.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Time of the next event, after both ends have sent all segments.
    pub fn next_at(&self) -> Time {
        let timer = self.sender.next_timer().min(self.receiver.next_timer());
        self.next_arrival().min(timer)
    }

    /// Advances to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        self.flush();
        let arrival = self.next_arrival();
        let timer = self.sender.next_timer().min(self.receiver.next_timer());
        if arrival.min(timer) == Time::MAX {
            return false;
        }
        self.now = self.now.max(arrival.min(timer));
        if arrival <= timer {
            self.take_batch(arrival);
        } else {
            self.sender.on_timer(self.now);
            self.receiver.on_timer(self.now);
        }
        self.flush();
        true
    }

    /// Delivers the segments of one instant, to the receiver at most as many as a host takes at once.
    fn take_batch(&mut self, at: Time) {
        let mut room = MOST_IN_BATCH;
        while room > 0 && self.next_arrival() == at {
            let Some(Reverse((.., slot))) = self.wire.pop() else { break };
            let (to, segment) = self.segments[slot];
            self.unused.push(slot);
            match to {
                To::Receiver => {
                    self.receiver.on_batched(&segment, self.now);
                    room -= 1;
                }
                To::Sender => {
                    self.acknowledged = self.acknowledged.max(segment.ack.unwrap_or(0));
                    self.sender.on_segment(&segment, self.now);
                }
            }
            self.flush();
        }
        self.receiver.end_batch(self.now);
    }

    /// Runs up to `at`, or until no events are left.
    pub fn run_until(&mut self, at: Time) {
        loop {
            self.flush();
            if self.next_at() > at || !self.step() {
                self.now = at;
                return;
            }
        }
    }
}

/// A network with a constant delay and without losses.
pub struct Wire {
    pub one_way: Span,
}

impl Network for Wire {
    fn carry(&mut self, _: To, _: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        arrivals.push(now + self.one_way);
    }
}
