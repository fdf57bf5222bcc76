//! A drop-tail queue, and one connection through it.

use crate::link::{Link, Network, To};
use crate::script::{MSS, at};
use airqueue_core::{DataRate, Serializer, Span, Time};
use airqueue_transport::tcp::{Segment, TcpSpec};
use std::collections::VecDeque;

/// Round-trip time without queueing.
pub const RTT_MS: i64 = 100;

/// A link of constant rate with room for `buffer` packets, the packet in service included, in one direction.
pub struct Bottleneck {
    rate: DataRate,
    line: Serializer,
    batches: Option<Batches>,
    buffer: usize,
    /// Bytes that the link adds to each packet.
    overhead: u32,
    /// Departure times of the packets inside.
    inside: VecDeque<Time>,
    free: Time,
    one_way: Span,
    pub dropped: u64,
    /// Packets times seconds, up to `counted`.
    pub area: f64,
    counted: Time,
}

/// A link that sends up to so many packets at one instant, and again after `every`, or `every` after the arrival of a
/// packet that finds no other: netem's slots.
#[derive(Clone, Copy)]
struct Batches {
    most: u32,
    every: Span,
    next: Time,
    room: u32,
}

impl Batches {
    /// When a packet that arrives now is sent.
    fn send(&mut self, now: Time) -> Time {
        if self.next < now {
            (self.next, self.room) = (now + self.every, self.most);
        }
        let at = self.next;
        self.room -= 1;
        if self.room == 0 {
            (self.next, self.room) = (at + self.every, self.most);
        }
        at
    }
}

impl Bottleneck {
    pub fn in_batches(most: u32, every: Span, buffer: usize) -> Bottleneck {
        let batches = Batches { most, every, next: Time::ZERO, room: most };
        let batches = Some(batches);
        Bottleneck { batches, ..Bottleneck::new(1, buffer, Span::ZERO, 0) }
    }

    pub fn new(bps: u64, buffer: usize, one_way: Span, overhead: u32) -> Bottleneck {
        let rate = DataRate::from_bps(bps).unwrap();
        Bottleneck {
            rate,
            line: Serializer::new(rate),
            batches: None,
            buffer,
            overhead,
            inside: VecDeque::new(),
            free: Time::ZERO,
            one_way,
            dropped: 0,
            area: 0.0,
            counted: Time::ZERO,
        }
    }

    /// Counts packets inside up to `now`.
    pub fn count(&mut self, now: Time) {
        while let Some(&left) = self.inside.front().filter(|&&left| left <= now) {
            self.add(left);
            self.inside.pop_front();
        }
        self.add(now);
    }

    fn add(&mut self, now: Time) {
        self.area += (now - self.counted).as_secs_f64() * self.inside.len() as f64;
        self.counted = now;
    }
}

impl Network for Bottleneck {
    fn carry(&mut self, to: To, segment: &mut Segment, now: Time, arrivals: &mut Vec<Time>) {
        if to == To::Sender {
            arrivals.push(now + self.one_way);
            return;
        }
        self.count(now);
        if self.inside.len() >= self.buffer {
            self.dropped += 1;
            return;
        }
        if self.inside.is_empty() {
            self.line = Serializer::new(self.rate);
        }
        self.free = match &mut self.batches {
            Some(batches) => batches.send(now),
            None => self.free.max(now) + self.line.send(segment.size_bytes() + self.overhead),
        };
        self.inside.push_back(self.free);
        arrivals.push(self.free + self.one_way);
    }
}

/// Results of one connection between 50 s and 450 s.
pub struct Seen {
    /// Goodput as a share of the rate, headers of 40 bytes counted.
    pub share: f64,
    /// Mean number of packets in the buffer.
    pub queue: f64,
    /// Packets delivered.
    pub packets: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Timeouts.
    pub timeouts: u64,
}

pub fn through_bottleneck(spec: &TcpSpec, bps: u64, buffer: usize) -> Seen {
    let one_way = Span::from_millis(RTT_MS / 2);
    let mut link = Link::new(spec, Bottleneck::new(bps, buffer, one_way, 0));
    link.sender.write(u64::MAX / 2);
    let mut mark = |ms| {
        link.run_until(at(ms));
        link.network.count(at(ms));
        let timeouts = link.sender.counters().timeouts;
        let packets = link.receiver.delivered_bytes() / MSS;
        (packets, timeouts, link.network.dropped, link.network.area)
    };
    let (before, after) = (mark(50_000), mark(450_000));
    let packets = after.0 - before.0;
    Seen {
        share: packets as f64 * 1040.0 * 8.0 / (bps as f64 * 400.0),
        queue: (after.3 - before.3) / 400.0,
        packets,
        dropped: after.2 - before.2,
        timeouts: after.1 - before.1,
    }
}
