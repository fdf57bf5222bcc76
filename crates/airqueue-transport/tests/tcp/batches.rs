//! Segments that arrive at one instant: which of them Linux merges (`tcp_gro_receive`, `inet_gro_receive` and
//! `skb_gro_receive`), and when it acknowledges them (`__tcp_ack_snd_check` and `tcp_cleanup_rbuf`).

use crate::script::{MSS, at, bare, data, selective, stamped};
use airqueue_core::{Ecn, Span, Time};
use airqueue_transport::tcp::{Range, Receiver, Segment, TcpSpec};
use proptest::prelude::*;

/// A receiver that merges, past the beginning of its connection.
fn settled() -> TcpSpec {
    let mut spec = selective(1);
    spec.receiver.batches = true;
    spec
}

/// A receiver that acknowledges each merged segment, so that acknowledgements show what was merged.
fn telling() -> TcpSpec {
    let mut spec = settled();
    spec.receiver.at_once_first = u32::MAX;
    spec
}

/// The acknowledgements of a batch that arrives at `now`.
fn batch(receiver: &mut Receiver, segments: &[Segment], now: Time) -> Vec<Segment> {
    let mut acks = vec![];
    for segment in segments {
        receiver.on_batched(segment, now);
        acks.extend(std::iter::from_fn(|| receiver.poll_transmit(now)));
    }
    receiver.end_batch(now);
    acks.extend(std::iter::from_fn(|| receiver.poll_transmit(now)));
    acks
}

fn receiver(spec: &TcpSpec) -> Receiver {
    Receiver::new(spec).unwrap()
}

fn numbered(numbers: impl IntoIterator<Item = u64>) -> Vec<Segment> {
    numbers.into_iter().map(data).collect()
}

/// Numbers of segments up to which the acknowledgements go.
fn acked(acks: &[Segment]) -> Vec<u64> {
    acks.iter().map(|ack| (ack.ack.unwrap() - 1) / MSS).collect()
}

/// More than one full segment is unacknowledged when the application reads: `tcp_cleanup_rbuf`.
#[test]
fn a_batch_has_one_acknowledgement() {
    for n in 2..=64 {
        let mut r = receiver(&settled());
        for first in [0, n, 2 * n] {
            let acks = batch(&mut r, &numbered(first + 1..=first + n), at(0));
            assert_eq!(acked(&acks), [first + n], "{n} segments");
        }
        assert_eq!(r.next_timer(), Time::MAX);
        assert_eq!(r.counters().segments, 3 * n);
        assert_eq!(r.delivered_bytes(), 3 * n * MSS);
    }
}

/// One segment waits for the next or for the timer, whichever batches these are in.
#[test]
fn a_lone_segment_waits_as_ever() {
    let mut r = receiver(&settled());
    assert_eq!(batch(&mut r, &numbered([1]), at(0)), []);
    assert_eq!(r.next_timer(), at(200));
    assert_eq!(acked(&batch(&mut r, &numbered([2]), at(50))), [2]);
    assert_eq!(batch(&mut r, &numbered([3]), at(60)), []);
    assert_eq!(acked(&batch(&mut r, &numbered(4..=9), at(70))), [9]);
    assert_eq!(r.next_timer(), Time::MAX);
    assert_eq!(batch(&mut r, &numbered([10]), at(80)), []);
    r.on_timer(at(280));
    assert_eq!(acked(&[r.poll_transmit(at(280)).unwrap()]), [10]);
}

/// Without the setting every segment counts by itself.
#[test]
fn not_merged_unless_asked_for() {
    let mut r = receiver(&selective(1));
    assert_eq!(acked(&batch(&mut r, &numbered(1..=7), at(0))), [2, 4, 6]);
    assert!(!r.in_batch());
}

/// The beginning counts acknowledgements (`icsk_ack.quick`), one for each merged segment.
#[test]
fn sixteen_merged_segments_at_the_beginning() {
    let mut spec = settled();
    spec.timestamps = Some(Span::from_millis(1));
    spec.receiver.at_once_first = 16;
    let mut r = receiver(&spec);
    for first in 0..20 {
        // Two merged segments in each batch, by their timestamps.
        let batch_of: Vec<Segment> =
            (0..4).map(|i| stamped(data(4 * first + i + 1), (i / 2) as i64, None)).collect();
        let expected =
            if first < 8 { vec![4 * first + 2, 4 * first + 4] } else { vec![4 * first + 4] };
        assert_eq!(acked(&batch(&mut r, &batch_of, at(0))), expected, "batch {first}");
    }
}

/// A segment with PSH is the last that is merged, and none waits with it for another (`ICSK_ACK_PUSHED`).
#[test]
fn pushed_segments_do_not_wait() {
    let pushed = |n| Segment { psh: true, ..data(n) };
    let mut r = receiver(&settled());
    assert_eq!(acked(&batch(&mut r, &[pushed(1)], at(0))), [1]);
    assert_eq!(
        batch(&mut r, &numbered([2]), at(10)),
        [],
        "the one before said nothing of this one"
    );
    assert_eq!(acked(&batch(&mut r, &[data(3), pushed(4), data(5)], at(20))), [5]);
    assert_eq!(r.next_timer(), Time::MAX);
    // The application reads after the batch, whatever was merged.
    let mut telling = receiver(&telling());
    let pieces = batch(&mut telling, &[data(1), pushed(2), data(3), pushed(4), data(5)], at(0));
    assert_eq!(acked(&pieces), [2, 4, 5]);
    // A receiver without batches waits for every second segment, as RFC 5681 lets it.
    let mut plain = receiver(&selective(1));
    assert_eq!(batch(&mut plain, &[pushed(1)], at(0)), []);
}

/// Segments are merged if the second continues the first, with the same headers but for FIN and PSH.
#[test]
fn equal_headers_are_merged() {
    type Edit = fn(&mut Segment);
    let one = |n, edit: Edit| {
        let mut segment = stamped(data(n), 5, Some(3));
        edit(&mut segment);
        segment
    };
    let same: Edit = |_| {};
    let stamp: Edit = |s| *s = stamped(*s, 6, Some(3));
    let echo: Edit = |s| *s = stamped(*s, 5, Some(4));
    let cases: [(Edit, Edit, usize); 14] = [
        (same, same, 1),
        (stamp, stamp, 1),
        (same, stamp, 2),
        (same, echo, 2),
        (same, |s| s.ack = Some(2), 2),
        (same, |s| s.ecn = Ecn::Ce, 2),
        (|s| s.ecn = Ecn::Ce, |s| s.ecn = Ecn::Ect, 2),
        (|s| s.ecn = Ecn::Ce, |s| s.ecn = Ecn::Ce, 1),
        (same, |s| s.ece = true, 2),
        // CWR begins a merged segment; what follows without CWR joins it.
        (same, |s| s.cwr = true, 2),
        (|s| s.cwr = true, same, 1),
        (same, |s| s.fin = true, 1),
        (same, |s| s.psh = true, 1),
        (|s| s.psh = true, same, 2),
    ];
    for (at_case, (first, second, merged)) in cases.into_iter().enumerate() {
        let spec = TcpSpec { timestamps: Some(Span::from_millis(1)), ecn: true, ..telling() };
        let acks = batch(&mut receiver(&spec), &[one(1, first), one(2, second)], at(0));
        assert_eq!(acks.len(), merged, "case {at_case}");
    }
}

/// The first segment sets the length: a longer one is not merged, a shorter one is the last that is, and a merged
/// segment with FIN, or without data, takes nothing more.
#[test]
fn a_short_segment_is_the_last() {
    let lengths = [
        (vec![1000, 1000, 400, 1000], 2),
        (vec![400, 1000, 1000], 2),
        (vec![400, 400, 400], 1),
        (vec![1000, 400, 400, 400], 2),
        // A segment without data separates two merged segments.
        (vec![1000, 0, 1000], 2),
    ];
    for (lengths, merged) in lengths {
        let mut next = 1;
        let segments: Vec<Segment> = lengths
            .iter()
            .map(|&bytes| {
                let segment = Segment { payload_bytes: bytes, ..bare(next, Some(1)) };
                next = segment.end();
                segment
            })
            .collect();
        let mut r = receiver(&telling());
        let acks = batch(&mut r, &segments, at(0));
        assert_eq!(acks.len(), merged, "{lengths:?}");
        assert_eq!(r.delivered_bytes(), next - 1);
    }
}

/// 65535 bytes with the headers: 45 segments of 1448 bytes and 52 of headers, but not 46.
#[test]
fn a_merged_segment_has_at_most_64_kib() {
    let one = |n: u64| Segment {
        payload_bytes: 1448,
        header_bytes: 52,
        ..bare(1 + (n - 1) * 1448, Some(1))
    };
    for (n, merged) in [(45, 1), (46, 2), (64, 2), (90, 2), (91, 3)] {
        let segments: Vec<Segment> = (1..=n).map(one).collect();
        let acks = batch(&mut receiver(&telling()), &segments, at(0));
        assert_eq!(acks.len(), merged, "{n} segments");
        assert_eq!(acks[0].ack, Some(1 + n.min(45) * 1448));
    }
}

/// Each merged segment beyond a hole is answered at once (RFC 5681, section 4.2), with all data before the hole; and
/// so is the merged segment that fills the hole.
#[test]
fn holes_are_answered_at_once() {
    let mut r = receiver(&settled());
    let acks = batch(&mut r, &numbered([1, 2, 4, 5, 6, 8, 9]), at(0));
    assert_eq!(acked(&acks), [2, 2]);
    let blocks = |ack: &Segment| -> Vec<(u64, u64)> {
        let number = |octet| (octet - 1) / MSS;
        let ranges = ack.sack.as_slice().iter();
        ranges.map(|&Range { start, end }| (1 + number(start), number(end))).collect()
    };
    assert_eq!(blocks(&acks[0]), [(4, 6)]);
    assert_eq!(blocks(&acks[1]), [(8, 9), (4, 6)]);
    assert_eq!(acked(&batch(&mut r, &numbered([3]), at(1))), [6]);
    assert_eq!(acked(&batch(&mut r, &numbered([7, 10, 11]), at(2))), [9, 11]);
    assert_eq!(acked(&batch(&mut r, &numbered([10, 11]), at(3))), [11]);
    let counters = r.counters();
    assert_eq!((counters.segments, counters.out_of_order, counters.duplicates), (13, 5, 2));
}

/// RFC 3168, section 6.1.3: the acknowledgement of the batch echoes a mark on any of its segments.
#[test]
fn a_mark_in_a_batch_is_echoed() {
    let mut r = receiver(&TcpSpec { ecn: true, ..settled() });
    let marked = |n| Segment { ecn: Ecn::Ce, ..data(n) };
    let clean = batch(&mut r, &numbered(1..=4), at(0));
    assert_eq!((clean.len(), clean[0].ece), (1, false));
    let acks = batch(&mut r, &[data(5), marked(6), data(7), data(8)], at(1));
    assert_eq!((acked(&acks), acks[0].ece), (vec![8], true));
    let reduced = Segment { cwr: true, ..data(9) };
    let acks = batch(&mut r, &[reduced, data(10)], at(2));
    assert_eq!((acked(&acks), acks[0].ece), (vec![10], false));
}

proptest! {
    /// However arrivals fall into batches: the same data, and an acknowledgement of all of them at the timer's latest.
    /// In batches of one every acknowledgement is that of a receiver without batches.
    #[test]
    fn batches_deliver_what_single_segments_deliver(
        numbers in prop::collection::vec(1u64..30, 1..80),
        cuts in prop::collection::vec(1usize..12, 80),
    ) {
        let (mut apart, mut alone, mut merged) =
            (receiver(&selective(1)), receiver(&settled()), receiver(&settled()));
        let mut rest = &numbers[..];
        for (ms, cut) in (0..).zip(cuts) {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            rest = later;
            for segment in numbered(now.iter().copied()) {
                let expected = batch(&mut apart, &[segment], at(ms));
                prop_assert_eq!(batch(&mut alone, &[segment], at(ms)), expected);
            }
            batch(&mut merged, &numbered(now.iter().copied()), at(ms));
            prop_assert!(!merged.in_batch());
            prop_assert_eq!(merged.delivered_bytes(), apart.delivered_bytes());
        }
        prop_assert_eq!(alone.counters(), apart.counters());
        prop_assert_eq!(merged.counters().segments, apart.counters().segments);
        prop_assert!(merged.counters().acknowledgements <= apart.counters().acknowledgements);
        merged.on_timer(at(10_000));
        let last = merged.poll_transmit(at(10_000));
        let acknowledged = last.is_none_or(|ack| ack.ack == Some(1 + merged.delivered_bytes()));
        prop_assert!(acknowledged && merged.next_timer() == Time::MAX);
    }
}
