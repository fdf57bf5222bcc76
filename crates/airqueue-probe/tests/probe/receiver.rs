//! When the receiving half ends a run.

use airqueue_core::{Span, Time};
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::receiver::Receiver;
use airqueue_probe::records::RunEnd;
use airqueue_probe::wire::DataHeader;

/// The agreed delay of the start, and a path's delay.
const DELAY: Span = Span::from_millis(100);
const PATH: Span = Span::from_millis(10);

fn at(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn segment(flow: u8, start_ms: i64, duration_ms: i64, count: u32) -> Segment {
    let (start, duration) = (Span::from_millis(start_ms), Span::from_millis(duration_ms));
    Segment { flow, start, duration, count, size: 100, traffic_class: 0 }
}

/// A receiver whose sender begins at 0, with the packets for which `arrives` is true, each 10 ms after it was sent.
fn receiver(segments: Vec<Segment>, arrives: impl Fn(u32) -> bool) -> Receiver {
    let plan = Plan { segments };
    let mut receiver = Receiver::new(&plan, Time::ZERO, Time::ZERO - DELAY, DELAY);
    for p in plan.packets().filter(|p| arrives(p.seq)) {
        let sent_ns = p.at.as_nanos();
        let header = DataHeader { session: 1, run: 1, seq: p.seq, sent_ns };
        receiver.on_time(Time::ZERO + p.at + PATH);
        assert_eq!(receiver.end(), None, "ended before packet {}", p.seq);
        let now = Time::ZERO + p.at + PATH;
        receiver.on_data(now, now, p.traffic_class, &header);
    }
    receiver
}

/// Asserts that the receiver ends at `ms`, not a millisecond before, with this end.
fn ends(mut receiver: Receiver, ms: i64, end: RunEnd) {
    receiver.on_time(at(ms - 1));
    assert_eq!(receiver.end(), None);
    receiver.on_time(at(ms));
    assert_eq!(receiver.end(), Some(end));
}

#[test]
fn silence_in_the_middle_of_a_dense_plan() {
    let r = receiver(vec![segment(0, 0, 10_000, 1000)], |seq| seq < 200);
    ends(r, 1990 + 10 + 1800, RunEnd::SenderSilent);
}

#[test]
fn silence_counts_only_while_packets_are_due() {
    // Every five seconds one packet, each due for a second: one second of silence after the first,
    // the other 0.8 s after the second was due.
    let r = receiver(vec![segment(0, 0, 25_000, 5)], |seq| seq == 0);
    ends(r, 5000 + 10 + 800, RunEnd::SenderSilent);
    // The tail of one part is lost, then nothing is planned for ten seconds.
    let parts = || vec![segment(0, 0, 1000, 100), segment(0, 11_000, 1000, 100)];
    let r = receiver(parts(), |seq| seq < 90);
    ends(r, 11_000 + 10 + 1800 - (990 + 1000 - 890), RunEnd::SenderSilent);
    ends(receiver(parts(), |seq| !(90..100).contains(&seq)), 11_990 + 10 + 260, RunEnd::Complete);
}

#[test]
fn nothing_ever_comes() {
    let mut r = receiver(vec![segment(0, 3000, 1000, 100)], |_| false);
    r.expect_start(at(500), DELAY);
    ends(r, 500 + 100 + 3000 + 2000, RunEnd::SenderSilent);
}

#[test]
fn everything_is_there() {
    ends(receiver(vec![segment(0, 0, 1000, 100)], |_| true), 990 + 10, RunEnd::Complete);
}

#[test]
fn the_last_packet_of_every_flow_is_there_but_not_all_before() {
    let segments = || vec![segment(0, 0, 1000, 100), segment(1, 0, 1000, 10)];
    let r = receiver(segments(), |seq| seq != 50);
    ends(r, 1000 + 10 + 250, RunEnd::Complete); // the plan's end, as seen from here
    // Without the last packet of flow 1, the queue may still hold that packet.
    let last_of_1 = Plan { segments: segments() }.packets().filter(|p| p.flow == 1).last();
    let r = receiver(segments(), |seq| Some(seq) != last_of_1.map(|p| p.seq));
    ends(r, 1000 + 10 + 1000, RunEnd::Complete);
}

#[test]
fn a_queue_that_drains_is_waited_for_but_not_for_ever() {
    let mut r = receiver(vec![segment(0, 0, 1000, 1000)], |seq| seq < 10);
    for seq in 10..900 {
        let now = at(1500 + i64::from(seq - 10) * 900);
        let header = DataHeader { session: 1, run: 1, seq, sent_ns: i64::from(seq) * 1_000_000 };
        r.on_time(now);
        if r.end().is_some() {
            assert!(now > at(60_000) && now < at(62_000), "ended at {now}");
            assert_eq!(r.end(), Some(RunEnd::Complete));
            return;
        }
        r.on_data(now, now, 0, &header);
    }
    panic!("never ended");
}

#[test]
fn a_sender_that_stopped_early_is_not_waited_for() {
    let mut r = receiver(vec![segment(0, 0, 10_000, 1000)], |seq| seq < 200);
    r.on_sender_stopped(at(2005), 200);
    ends_at_once(r, at(2005));
    let mut r = receiver(vec![segment(0, 0, 10_000, 1000)], |seq| seq < 200);
    r.on_sender_stopped(at(2005), 210);
    ends(r, 2005 + 1000, RunEnd::Complete);
}

fn ends_at_once(mut receiver: Receiver, now: Time) {
    receiver.on_time(now);
    assert_eq!(receiver.end(), Some(RunEnd::Complete));
}

#[test]
fn absurd_send_times_and_sequence_numbers_are_harmless() {
    for sent_ns in [i64::MIN, -1, i64::MAX, 1 << 62] {
        let mut r = receiver(vec![segment(0, 0, 1000, 100)], |seq| seq < 10);
        for seq in [50, 100, u32::MAX] {
            r.on_data(at(600), at(600), 0, &DataHeader { session: 1, run: 1, seq, sent_ns });
        }
        assert_eq!(r.log().count(), 11);
        ends(r, 1000 + 10 + 1000, RunEnd::Complete);
    }
}
