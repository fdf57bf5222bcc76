//! Segments cause no allocations, not even lost ones.

use crate::counting::allocations;
use airqueue_core::keys::Word;
use airqueue_core::{Span, Time};
use airqueue_transport::tcp::{CongestionName, Receiver, Segment, Sender, TcpSpec};
use std::collections::VecDeque;

/// A path that carries one segment per 100 us, and loses every 97th data segment.
struct Path {
    sender: Sender,
    receiver: Receiver,
    there: VecDeque<Segment>,
    sent: u64,
    now: Time,
}

impl Path {
    fn step(&mut self) {
        self.now += Span::from_micros(100);
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.sent += 1;
            if !self.sent.is_multiple_of(97) {
                self.there.push_back(segment);
            }
        }
        match self.there.pop_front() {
            Some(segment) => self.receiver.on_segment(&segment, self.now),
            None => {
                self.now = self.now.max(self.receiver.next_timer().min(self.sender.next_timer()))
            }
        }
        self.receiver.on_timer(self.now);
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            self.sender.on_segment(&ack, self.now);
        }
        self.sender.on_timer(self.now);
    }
}

#[test]
fn segments_allocate_nothing() {
    let standard = TcpSpec::standard(1460);
    let counting = TcpSpec { sack: false, ..standard };
    let specs = [counting, standard, TcpSpec::linux(1460)];
    for (congestion, mut spec) in
        CongestionName::ALL.iter().flat_map(|&name| specs.map(|spec| (name, spec)))
    {
        spec.sender.congestion = congestion;
        congestion.requirements().meet(&mut spec);
        let mut path = Path {
            sender: Sender::new(&spec).unwrap(),
            receiver: Receiver::new(&spec).unwrap(),
            there: VecDeque::with_capacity(1 << 12),
            sent: 0,
            now: Time::ZERO,
        };
        path.sender.write(u64::MAX / 2);
        (0..20_000).for_each(|_| path.step());
        let (before, acknowledged) = (allocations(), path.sender.counters().acknowledged_bytes);
        assert!(before > 0, "the counter counts");
        (0..20_000).for_each(|_| path.step());
        assert_eq!(allocations(), before, "{spec:?}");
        let counters = path.sender.counters();
        assert!(counters.acknowledged_bytes - acknowledged > 10_000 * 1460, "{counters:?}");
        assert!(counters.retransmitted > 200, "{counters:?}");
    }
}
