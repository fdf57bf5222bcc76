//! A FIFO delay line: packets leave in the order in which they enter, after serialisation (if the line has a rate) and
//! a constant delay.

use airqueue_core::{DataRate, Packet, Serializer, Span, Time};
use std::collections::VecDeque;

/// A point-to-point line of unlimited capacity.
#[derive(Clone, Debug)]
pub struct DelayLine {
    serializer: Option<Serializer>,
    delay: Span,
    free_at: Time,
    in_transit: VecDeque<(Time, Packet)>,
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
        self.in_transit.push_back((self.free_at.saturating_add(self.delay), packet));
    }

    /// When the next packet leaves.
    pub fn next_at(&self) -> Option<Time> {
        self.in_transit.front().map(|(at, _)| *at)
    }

    /// The packets in transit, in the order in which they leave.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.in_transit.iter().map(|(_, packet)| packet)
    }

    /// Removes the next packet that has arrived by `now`.
    pub fn take_due(&mut self, now: Time) -> Option<Packet> {
        self.next_at().filter(|&at| at <= now)?;
        self.in_transit.pop_front().map(|(_, packet)| packet)
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

    #[test]
    fn without_a_rate_only_the_delay_counts() {
        let mut line = DelayLine::new(None, Span::from_nanos(3));
        line.send(Packet::new(0, FlowKey(0), 1500, Time::ZERO), Time::ZERO);
        line.send(Packet::new(1, FlowKey(0), 1500, Time::ZERO), Time::ZERO);
        assert_eq!(line.take_due(Time::from_nanos(3)).map(|p| p.id), Some(0));
        assert_eq!(line.take_due(Time::from_nanos(3)).map(|p| p.id), Some(1));
    }
}
