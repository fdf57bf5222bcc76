//! A FIFO delay line: packets leave in the order in which they enter, after serialisation (if the line has a rate) and
//! a constant delay.

use airqueue_core::rate::work_for;
use airqueue_core::{DataRate, Packet, Serializer, Span, Time};
use std::collections::VecDeque;

/// A point-to-point line of unlimited capacity.
#[derive(Clone, Debug)]
pub struct DelayLine {
    serializer: Option<Serializer>,
    delay: Span,
    free_at: Time,
    in_transit: VecDeque<InTransit>,
}

/// A packet in a line.
#[derive(Clone, Copy, Debug)]
struct InTransit {
    /// When the packet is serialised.
    sent: Time,
    /// When the packet leaves.
    at: Time,
    packet: Packet,
}

impl DelayLine {
    /// An empty line. Without a rate a packet takes only the delay.
    pub fn new(rate: Option<DataRate>, delay: Span) -> DelayLine {
        DelayLine {
            serializer: rate.map(Serializer::new),
            delay,
            free_at: Time::ZERO,
            in_transit: VecDeque::new(),
        }
    }

    /// A packet enters at `now`.
    pub fn send(&mut self, packet: Packet, now: Time) {
        if self.free_at < now {
            self.free_at = now;
            if let Some(serializer) = &mut self.serializer {
                serializer.rest();
            }
        }
        if let Some(serializer) = &mut self.serializer {
            // A slow line may have work beyond the last time that the clock can express.
            self.free_at = self.free_at.saturating_add(serializer.send(packet.size));
        }
        let sent = self.free_at;
        let at = self.in_order(sent, self.in_transit.back().map(|before| before.at));
        self.in_transit.push_back(InTransit { sent, at, packet });
    }

    /// When a packet leaves that is serialised at `sent`, behind a packet that leaves at `before`.
    fn in_order(&self, sent: Time, before: Option<Time>) -> Time {
        sent.saturating_add(self.delay).max(before.unwrap_or(Time::ZERO))
    }

    /// Changes the rate from `now` on, also for the bits of packets that are in the line and not serialised yet.
    pub fn set_rate(&mut self, rate: DataRate, now: Time) {
        let before = self.serializer.replace(Serializer::new(rate)).map(|of| of.rate());
        let first = self.in_transit.partition_point(|packet| packet.sent <= now);
        let mut last = first.checked_sub(1).map(|at| self.in_transit[at].at);
        let mut sent = now;
        for at in first..self.in_transit.len() {
            let InTransit { sent: planned, packet, .. } = self.in_transit[at];
            let whole = work_for(packet.size);
            // A part of the first packet is on its way already.
            let left = match before {
                Some(before) if at == first => whole.min(before.work_in(planned - now)),
                _ => whole,
            };
            sent = sent.saturating_add(rate.time_for_work(left));
            let leaves = self.in_order(sent, last);
            self.in_transit[at] = InTransit { sent, at: leaves, packet };
            last = Some(leaves);
        }
        if first < self.in_transit.len() {
            self.free_at = sent;
        }
    }

    /// Changes the delay of packets that enter from now on. A packet never overtakes an earlier packet.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// When the next packet leaves.
    pub fn next_at(&self) -> Option<Time> {
        self.in_transit.front().map(|packet| packet.at)
    }

    /// The packets in transit, in the order in which they leave.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.in_transit.iter().map(|of| &of.packet)
    }

    /// Removes the next packet that has arrived by `now`.
    pub fn take_due(&mut self, now: Time) -> Option<Packet> {
        self.next_at().filter(|&at| at <= now)?;
        self.in_transit.pop_front().map(|of| of.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::FlowKey;

    #[test]
    fn packets_queue_for_the_line_and_not_for_the_delay() {
        let at = |ns| Time::from_nanos(ns);
        let mut line = DelayLine::new(DataRate::from_bps(8_000_000), Span::from_micros(10));
        for id in 0..2 {
            line.send(Packet::new(id, FlowKey(0), 100, at(0)), at(0)); // 100 µs each
        }
        line.send(Packet::new(2, FlowKey(0), 100, at(500_000)), at(500_000));
        let mut arrivals = Vec::new();
        while let Some(next) = line.next_at() {
            assert!(line.take_due(next - Span::from_nanos(1)).is_none());
            arrivals.push((next.as_nanos(), line.take_due(next).unwrap().id));
        }
        assert_eq!(arrivals, [(110_000, 0), (210_000, 1), (610_000, 2)]);
    }

    /// Three packets of 100 bytes at 8 Mb/s take 100 µs each; after 150 µs the rate falls to 1 Mb/s: half of the second
    /// packet takes 400 µs then, and the third 800 µs.
    #[test]
    fn a_new_rate_is_that_of_the_bits_that_are_left() {
        let at = |us| Time::ZERO + Span::from_micros(us);
        let mut line = DelayLine::new(DataRate::from_bps(8_000_000), Span::from_micros(10));
        for id in 0..3 {
            line.send(Packet::new(id, FlowKey(0), 100, at(0)), at(0));
        }
        line.set_rate(DataRate::from_bps(1_000_000).unwrap(), at(150));
        line.send(Packet::new(3, FlowKey(0), 100, at(150)), at(150));
        let mut leaves = Vec::new();
        while let Some(next) = line.next_at() {
            line.take_due(next).unwrap();
            leaves.push(next);
        }
        assert_eq!(leaves, [at(110), at(560), at(1360), at(2160)]);
    }

    #[test]
    fn a_shorter_delay_reorders_nothing() {
        let at = |us| Time::ZERO + Span::from_micros(us);
        let mut line = DelayLine::new(None, Span::from_micros(100));
        line.send(Packet::new(0, FlowKey(0), 100, at(0)), at(0));
        line.set_delay(Span::from_micros(10));
        line.send(Packet::new(1, FlowKey(0), 100, at(50)), at(50));
        line.send(Packet::new(2, FlowKey(0), 100, at(95)), at(95));
        let mut leaves = Vec::new();
        while let Some(next) = line.next_at() {
            leaves.push((line.take_due(next).unwrap().id, next));
        }
        assert_eq!(leaves, [(0, at(100)), (1, at(100)), (2, at(105))]);
    }

    #[test]
    fn without_a_rate_only_the_delay_counts() {
        let mut line = DelayLine::new(None, Span::from_nanos(3));
        line.send(Packet::new(0, FlowKey(0), 1500, Time::ZERO), Time::ZERO);
        line.send(Packet::new(1, FlowKey(0), 1500, Time::ZERO), Time::ZERO);
        assert_eq!(line.take_due(Time::from_nanos(3)).map(|p| p.id), Some(0));
        assert_eq!(line.take_due(Time::from_nanos(3)).map(|p| p.id), Some(1));
    }
}
