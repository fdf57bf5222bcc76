//! A plan over time: its packets one by one, its last packets, and the times at which packets are due.

use crate::plan::{Plan, PlannedPacket, Segment};
use airqueue_core::Span;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

/// The packets of a plan in the order of sending; ties keep the order of the segments. Allocates
/// when made, never when asked for the next packet.
#[derive(Clone, Debug)]
pub struct Packets {
    segments: Vec<Segment>,
    heap: BinaryHeap<Reverse<(Span, usize, u32)>>,
    seq: u32,
}

impl Packets {
    /// All packets of these segments.
    pub fn new(segments: Vec<Segment>) -> Self {
        let starts = segments.iter().enumerate().filter(|(_, s)| s.count > 0);
        let heap = starts.map(|(i, s)| Reverse((s.start, i, 0))).collect();
        Packets { segments, heap, seq: 0 }
    }
}

impl Iterator for Packets {
    type Item = PlannedPacket;

    fn next(&mut self) -> Option<PlannedPacket> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((at, i, k)) = *top;
        let segment = self.segments[i];
        if k + 1 < segment.count {
            *top = Reverse((segment.packet_at(k + 1), i, k + 1));
        } else {
            PeekMut::pop(top);
        }
        let Segment { flow, size, traffic_class, .. } = segment;
        let packet = PlannedPacket { seq: self.seq, at, flow, size, traffic_class };
        self.seq += 1;
        Some(packet)
    }
}

/// Sequence number of the last packet of each of these flows that has packets, without walking the plan.
pub fn last_of_each_flow(plan: &Plan, flows: Range<u8>) -> Vec<u32> {
    let mut last: [Option<(Span, usize)>; 256] = [None; 256];
    for (i, s) in plan.segments.iter().enumerate().filter(|(_, s)| s.count > 0) {
        let slot = &mut last[usize::from(s.flow)];
        *slot = (*slot).max(Some((s.packet_at(s.count - 1), i)));
    }
    let last = last.iter().zip(0..=u8::MAX).filter(|(_, flow)| flows.contains(flow));
    last.filter_map(|(last, _)| *last).map(|(at, i)| packets_up_to(plan, at, i) - 1).collect()
}

/// Number of packets up to and including the last one of segment `i` at offset `at`.
fn packets_up_to(plan: &Plan, at: Span, i: usize) -> u32 {
    let before = |(j, s): (usize, &Segment)| {
        let (mut low, mut high) = (0, s.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if (s.packet_at(middle), j) <= (at, i) { low = middle + 1 } else { high = middle }
        }
        low
    };
    plan.segments.iter().enumerate().map(before).sum()
}

/// Packets count as due for this long after a planned packet.
const DUE_FOR: Span = Span::from_secs(1);

/// When packets are due: the disjoint intervals, in order, of plan time at most a second after some planned packet.
/// Outside of these intervals silence is expected.
pub fn due_windows(plan: &Plan) -> Vec<(Span, Span)> {
    let mut all: Vec<(Span, Span)> = Vec::new();
    for s in plan.segments.iter().filter(|s| s.count > 0) {
        if s.duration.as_nanos() / i64::from(s.count) <= DUE_FOR.as_nanos() {
            all.push((s.start, s.packet_at(s.count - 1) + DUE_FOR));
        } else {
            all.extend((0..s.count).map(|k| (s.packet_at(k), s.packet_at(k) + DUE_FOR)));
        }
    }
    all.sort_unstable();
    all.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
    all
}
