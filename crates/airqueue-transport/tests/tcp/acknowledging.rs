//! Acknowledgements of a receiver, and their times.

use crate::script::{MSS, at, bare, data, octet, plain, selective, stamped};
use airqueue_core::{Ecn, Time};
use airqueue_transport::tcp::{AckEvery, AckTimer, Range, Receiver, Segment, TcpSpec};

/// A receiver under test; times in milliseconds.
struct Script {
    receiver: Receiver,
    now: Time,
}

impl Script {
    fn new(spec: &TcpSpec) -> Script {
        Script { receiver: Receiver::new(spec).unwrap(), now: Time::ZERO }
    }

    fn every(n: u32) -> Script {
        let mut spec = plain(1);
        spec.receiver.acknowledge = AckEvery::Fixed(n);
        Script::new(&spec)
    }

    fn on(&mut self, segment: &Segment) -> Option<Segment> {
        self.receiver.on_segment(segment, self.now);
        let ack = self.receiver.poll_transmit(self.now);
        assert_eq!(self.receiver.poll_transmit(self.now), None);
        ack
    }

    /// How many segments are acknowledged when segment `number` arrives; `None`: silence.
    fn data(&mut self, number: u64) -> Option<u64> {
        self.on(&data(number)).map(|s| (s.ack.unwrap() - 1) / MSS)
    }

    fn timer(&mut self) -> Option<Segment> {
        self.now = self.receiver.next_timer();
        self.receiver.on_timer(self.now);
        self.receiver.poll_transmit(self.now)
    }
}

/// RFC 5681, section 4.2: every second segment; RFC 1122, section 4.2.3.2: a lone one after the delay.
#[test]
fn every_second_segment_or_the_timer() {
    let mut s = Script::every(2);
    assert_eq!(s.data(1), None);
    s.now = at(50);
    assert_eq!(s.data(2), Some(2));
    assert_eq!(s.receiver.next_timer(), Time::MAX);
    assert_eq!(s.data(3), None);
    assert_eq!(s.receiver.next_timer(), at(250));
    s.receiver.on_timer(at(249));
    assert_eq!(s.receiver.poll_transmit(at(249)), None);
    assert_eq!(s.timer().unwrap().ack, Some(octet(4)));
    assert_eq!(s.receiver.next_timer(), Time::MAX);
}

#[test]
fn every_dth_segment() {
    for d in 1..=5 {
        let mut s = Script::every(d);
        let acked: Vec<u64> = (1..=20).filter(|&n| s.data(n) == Some(n)).collect();
        let expected: Vec<u64> = (1..=20).filter(|n| n % u64::from(d) == 0).collect();
        assert_eq!(acked, expected);
        assert_eq!(s.receiver.delivered_bytes(), 20 * MSS);
    }
}

/// The delay counts from the first unacknowledged segment, not from the latest.
#[test]
fn the_timer_counts_from_the_first() {
    let mut s = Script::every(4);
    for ms in [0, 60, 120] {
        s.now = at(ms);
        assert_eq!(s.data(1 + ms as u64 / 60), None);
    }
    assert_eq!(s.receiver.next_timer(), at(200));
    assert_eq!(s.timer().unwrap().ack, Some(octet(4)));
}

/// The clock of 4.4BSD ticks every 200 ms: a delayed acknowledgement is sent at the next tick.
#[test]
fn a_clock_that_ticks_whatever_arrives() {
    let mut spec = plain(1);
    spec.receiver.acknowledge = AckEvery::Fixed(3);
    spec.receiver.timer = AckTimer::Ticks;
    let mut s = Script::new(&spec);
    s.now = at(30);
    assert_eq!(s.data(1), None);
    assert_eq!(s.receiver.next_timer(), at(200));
    assert_eq!(s.timer().unwrap().ack, Some(octet(2)));
    s.now = at(590);
    assert_eq!(s.data(2), None);
    assert_eq!(s.receiver.next_timer(), at(600));
    s.now = at(595);
    assert_eq!((s.data(3), s.data(4)), (None, Some(4)));
    // A tick without a delayed acknowledgement has no effect; a segment that arrives on a tick waits for the next one.
    s.now = at(600);
    assert_eq!(s.data(5), None);
    assert_eq!(s.receiver.next_timer(), at(800));
}

/// ns-2's sinks acknowledge the first segment at once.
#[test]
fn the_first_segment_may_be_answered_at_once() {
    let mut spec = plain(1);
    spec.receiver.at_once_first = 1;
    let mut s = Script::new(&spec);
    assert_eq!(
        (1..=5).map(|n| s.data(n)).collect::<Vec<_>>(),
        [Some(1), None, Some(3), None, Some(5)]
    );
}

/// The segments that Linux acknowledges at once (`TCP_MAX_QUICKACKS`), then every second one.
#[test]
fn the_beginning_may_be_answered_at_once() {
    let mut s = Script::new(&{
        let mut spec = plain(1);
        spec.receiver.at_once_first = 16;
        spec
    });
    let acked: Vec<u64> = (1..=20).filter_map(|n| s.data(n)).collect();
    assert_eq!(acked, (1..=16).chain([18, 20]).collect::<Vec<_>>());
}

/// Altman and Jiménez: the first segment alone, then two, three from segment 5 on, four from segment 9 on.
#[test]
fn the_dynamic_scheme() {
    let mut spec = plain(1);
    spec.receiver.acknowledge = AckEvery::Dynamic([2, 5, 9]);
    let mut s = Script::new(&spec);
    let acked: Vec<u64> = (1..=22).filter_map(|n| s.data(n)).collect();
    assert_eq!(acked, [1, 3, 6, 10, 14, 18, 22]);
}

/// RFC 5681, section 4.2: at once out of order, and at once when a gap is filled, in part or whole.
#[test]
fn disorder_is_answered_at_once() {
    let mut s = Script::every(2);
    assert_eq!(s.data(1), None);
    assert_eq!(s.data(3), Some(1));
    assert_eq!(s.data(5), Some(1));
    assert_eq!(s.data(2), Some(3));
    assert_eq!(s.data(4), Some(5));
    assert_eq!(s.data(6), None);
    assert_eq!(s.data(4), Some(6)); // a duplicate
    let t = s.receiver.counters();
    assert_eq!((t.segments, t.out_of_order, t.duplicates), (7, 2, 1));
    assert_eq!(s.receiver.delivered_bytes(), 6 * MSS);
}

/// RFC 2018, section 4: the block of the latest arrival first, then the others by age; three of them next
/// to timestamps, four without.
#[test]
fn blocks_tell_the_latest_first() {
    for (stamps, most) in [(true, 3), (false, 4)] {
        let mut spec = selective(1);
        spec.timestamps = stamps.then_some(airqueue_core::Span::from_millis(1));
        let mut s = Script::new(&spec);
        s.data(1);
        let blocks = |ack: Option<Segment>| -> Vec<(u64, u64)> {
            let number = |octet| (octet - 1) / MSS;
            let ack = ack.unwrap();
            let runs = ack.sack.as_slice().iter();
            runs.map(|&Range { start, end }| (1 + number(start), number(end))).collect()
        };
        assert_eq!(blocks(s.on(&data(3))), [(3, 3)]);
        assert_eq!(blocks(s.on(&data(9))), [(9, 9), (3, 3)]);
        assert_eq!(blocks(s.on(&data(4))), [(3, 4), (9, 9)]);
        assert_eq!(blocks(s.on(&data(6))), [(6, 6), (3, 4), (9, 9)]);
        let all = [(11, 11), (6, 6), (3, 4), (9, 9)];
        assert_eq!(blocks(s.on(&data(11))), all[..most]);
        assert_eq!(blocks(s.on(&data(2))), [(11, 11), (6, 6), (9, 9)]);
    }
}

/// RFC 3168, section 6.1.3: ECN-Echo from the mark on until CWR, marks on that segment count again.
#[test]
fn marks_are_echoed_until_the_sender_has_heard() {
    let mut spec = TcpSpec { ecn: true, ..plain(1) };
    spec.receiver.acknowledge = AckEvery::Fixed(1);
    let mut s = Script::new(&spec);
    let sent = |number, ecn, cwr| Segment { ecn, cwr, ..data(number) };
    let steps = [
        (Ecn::Ect, false, false),
        (Ecn::Ce, false, true),
        (Ecn::Ect, false, true),
        (Ecn::Ect, true, false),
        (Ecn::Ce, true, true),
        (Ecn::Ect, true, false),
    ];
    for (number, (ecn, cwr, echoed)) in (1..).zip(steps) {
        let ack = s.on(&sent(number, ecn, cwr)).unwrap();
        assert_eq!((ack.ece, ack.ecn), (echoed, Ecn::NotEct), "segment {number}");
    }
    let mut deaf = Script::every(1);
    assert!(!deaf.on(&sent(1, Ecn::Ce, false)).unwrap().ece);
}

/// RFC 7323, section 4.3: (A) the earliest segment not acknowledged, (B) the last one in order while
/// there is a hole, (C) the one that fills it.
#[test]
fn echoes_are_of_the_earliest() {
    let mut s =
        Script::new(&TcpSpec { timestamps: Some(airqueue_core::Span::from_millis(1)), ..plain(1) });
    let mut echo = |number, value| {
        let ack = s.on(&stamped(data(number), value, None));
        ack.map(|s| s.timestamps.unwrap().echo.unwrap())
    };
    assert_eq!(echo(1, 10), None);
    assert_eq!(echo(2, 20), Some(at(10)));
    assert_eq!(echo(4, 40), Some(at(10)));
    assert_eq!(echo(3, 50), Some(at(50)));
}

/// The base round trip is the shortest from an acknowledgement to its first echo; repeated echoes give no sample.
#[test]
fn a_receiver_sees_round_trips() {
    let mut s =
        Script::new(&TcpSpec { timestamps: Some(airqueue_core::Span::from_millis(1)), ..plain(1) });
    assert_eq!(s.receiver.base_rtt(), None);
    let ms = |span: Option<airqueue_core::Span>| span.unwrap().as_nanos() / 1_000_000;
    let steps = [(100, 20, 80, 80), (150, 20, 80, 80), (190, 30, 80, 90), (200, 160, 40, 83)];
    for (number, (now, echo, base, smoothed)) in (1..).zip(steps) {
        s.now = at(now);
        s.on(&stamped(data(number), now, Some(echo)));
        let seen = (ms(s.receiver.base_rtt()), ms(s.receiver.smoothed_rtt()));
        assert_eq!(seen, (base, smoothed), "segment {number}");
    }
}

/// FIN after the data, with them, before them, twice: acknowledged at once, and the stream ends when all data before it
/// has arrived.
#[test]
fn fin_in_every_order() {
    let with_fin = |number| Segment { fin: true, ..data(number) };
    let alone = |number| Segment { fin: true, ..bare(octet(number), Some(1)) };
    let end = octet(3) + 1;
    let orders: [&[(Segment, Option<u64>)]; 4] = [
        &[(data(1), None), (data(2), Some(octet(3))), (alone(3), Some(end))],
        &[(data(1), None), (with_fin(2), Some(end)), (with_fin(2), Some(end))],
        &[(with_fin(2), Some(1)), (data(1), Some(end))],
        &[(alone(3), Some(1)), (data(2), Some(1)), (data(1), Some(end)), (alone(3), Some(end))],
    ];
    for order in orders {
        let mut s = Script::every(2);
        for (i, (segment, ack)) in order.iter().enumerate() {
            assert_eq!(s.on(segment).map(|s| s.ack.unwrap()), *ack, "step {i} of {order:?}");
        }
        assert!(s.receiver.is_finished());
        assert_eq!((s.receiver.delivered_bytes(), s.receiver.next_timer()), (2 * MSS, Time::MAX));
    }
}
