//! A small model of two ends that pause, on both sides of a point that listens: no sample is too long.

use super::*;
use crate::flows::{Segment, Timestamps};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;

const BYTES: u32 = 1000;

/// What happens, at µs: an application writes segments at an end, a segment passes the point, arrives, or an acknowledgement
/// that waits is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Write { end: usize, segments: u32 },
    Pass { from: usize, segment: Sent },
    Arrive { at: usize, segment: Sent },
    Due { end: usize, number: u32 },
}

/// Numbers count segments here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    first: u32,
    segments: u32,
    acknowledged: u32,
    value: u32,
    echo: u32,
}

/// An end of TCP: a window, acknowledgements for every second segment or when they are due, and RFC 7323's TS.Recent.
#[derive(Clone, Debug, Default)]
struct Peer {
    unsent: u32,
    next: u32,
    first_in_flight: u32,
    window: u32,
    expected: u32,
    told: u32,
    recent: u32,
    clock_ahead: u32,
}

/// Delays in µs.
#[derive(Clone, Debug)]
struct World {
    peers: [Peer; 2],
    /// From each end to the point, and back.
    way: [i64; 2],
    due: [i64; 2],
    tick: i64,
    events: BinaryHeap<Reverse<(i64, u32, Event)>>,
    count: u32,
}

impl World {
    fn add(&mut self, at: i64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// Sends what the window admits; an acknowledgement alone if nothing and one is wanted.
    fn send(&mut self, end: usize, now: i64, answer: bool) {
        let mut answer = answer;
        loop {
            let peer = &mut self.peers[end];
            let in_flight = peer.next - peer.first_in_flight;
            let segments = u32::from(peer.unsent > 0 && in_flight < peer.window);
            if segments == 0 && !answer {
                return;
            }
            let value = peer.clock_ahead.wrapping_add((now / self.tick) as u32);
            let segment = Sent {
                first: peer.next,
                segments,
                acknowledged: peer.expected,
                value,
                echo: peer.recent,
            };
            peer.unsent -= segments;
            peer.next += segments;
            peer.told = peer.expected;
            answer = false;
            self.add(now + self.way[end], Event::Pass { from: end, segment });
        }
    }

    fn arrive(&mut self, at: usize, segment: Sent, now: i64) {
        let peer = &mut self.peers[at];
        peer.first_in_flight = peer.first_in_flight.max(segment.acknowledged);
        // RFC 7323, section 4.3: the segment that begins at or before what was acknowledged last.
        if segment.first <= peer.told {
            peer.recent = segment.value;
        }
        assert_eq!(segment.first, peer.expected, "nothing is lost or overtaken here");
        peer.expected += segment.segments;
        let owed = peer.expected - peer.told;
        let (number, wait) = (peer.expected, self.due[at]);
        if segment.segments > 0 && owed == 1 {
            self.add(now + wait, Event::Due { end: at, number });
        }
        self.send(at, now, owed >= 2);
    }
}

fn packet(from: usize, sent: Sent) -> Packet {
    let end = |host: u8| End { address: Ipv4Addr::new(10, 0, 0, host).into(), port: 1 };
    // The numbers wrap in the middle.
    let number = |segment: u32| segment.wrapping_mul(BYTES).wrapping_sub(20_000);
    Packet {
        source: end(from as u8),
        destination: end(1 - from as u8),
        protocol: Protocol::Tcp,
        source_mac: None,
        destination_mac: None,
        payload_bytes: sent.segments * BYTES,
        segment: Some(Segment {
            sequence: number(sent.first),
            acknowledged: Some(number(sent.acknowledged)),
            syn: false,
            fin: false,
            rst: false,
            timestamps: Some(Timestamps { value: sent.value, echo: sent.echo }),
        }),
    }
}

proptest! {
    /// However long applications of both ends pause, a sample is not shorter than its half, and longer by no more than the other
    /// half, a delayed acknowledgement and a tick. The end 0 is the station's.
    #[test]
    fn pauses_make_no_sample_long(
        writes in prop::collection::vec((0usize..2, 1u32..30, prop_oneof![0i64..2_000, 0i64..5_000_000]), 1..60),
        way in prop::array::uniform2(1i64..100_000), due in prop::array::uniform2(0i64..200_000),
        window in prop::array::uniform2(1u32..20), tick in prop::sample::select(vec![1_000i64, 4_000, 10_000, 100_000]),
        ahead in prop::array::uniform2(any::<u32>()),
    ) {
        let peer = |end: usize| Peer { window: window[end], clock_ahead: ahead[end], ..Peer::default() };
        let mut world = World { peers: [peer(0), peer(1)], way, due, tick, events: BinaryHeap::new(), count: 0 };
        let mut at = 0;
        for (end, segments, pause) in writes {
            at += pause;
            world.add(at, Event::Write { end, segments });
        }
        let mut flows = Flows::new(Time::ZERO);
        // Samples so far and the smoothed one, of which the latest sample follows.
        let mut seen = [(0, 0); 2];
        let longest = |half: usize| {
            let other = 1 - half;
            2 * way[half] + due[half].max(2 * way[other] + due[other]) + tick
        };
        while let Some(Reverse((now, _, event))) = world.events.pop() {
            match event {
                Event::Write { end, segments } => {
                    world.peers[end].unsent += segments;
                    world.send(end, now, false);
                }
                Event::Due { end, number } => {
                    let peer = &world.peers[end];
                    if peer.told < number && peer.expected == number {
                        world.send(end, now, true);
                    }
                }
                Event::Arrive { at, segment } => world.arrive(at, segment, now),
                Event::Pass { from, segment } => {
                    world.add(now + way[1 - from], Event::Arrive { at: 1 - from, segment });
                    let time = Time::ZERO + Span::from_micros(now);
                    flows.on_packet(&packet(from, segment), from == 1, time);
                    // What came from an end may have been a sample of its half.
                    let entry = flows.flows.values().next().unwrap();
                    let half = [&entry.station, &entry.far][from];
                    let smoothed = half.smoothed().map_or(0, Span::as_nanos);
                    let before = std::mem::replace(&mut seen[from], (half.samples(), smoothed));
                    if half.samples() > before.0 {
                        // RFC 6298: an eighth of each sample, in whole nanoseconds.
                        let eighths = if before.0 == 0 { 1 } else { 8 };
                        let sample = (before.1 + eighths * (smoothed - before.1)) / 1000;
                        prop_assert!(sample >= 2 * way[from] - 1, "{sample} us of {way:?}");
                        prop_assert!(sample <= longest(from) + 1, "{sample} us of {way:?} and {due:?}");
                    }
                }
            }
        }
    }
}
