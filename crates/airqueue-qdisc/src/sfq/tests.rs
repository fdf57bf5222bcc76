//! The properties that only SFQ has, worked out by hand from `sch_sfq.c`.

use super::*;
use airqueue_core::{FlowKey, Seed};

fn queue(params: SfqParams, limit: u32) -> Sfq {
    Sfq::new(params, Limit::Packets(limit), Seed(1).stream("hash"))
}

fn offer(q: &mut Sfq, flow: u32, ids: std::ops::Range<u64>, size: u32) -> Vec<(u32, u64)> {
    let mut drops = Drops::new();
    for id in ids {
        q.enqueue(Packet::new(id, FlowKey(flow), size, Time::ZERO), Time::ZERO, &mut drops);
    }
    drops.drain().map(|drop| (drop.packet.flow.0, drop.packet.id)).collect()
}

fn order(q: &mut Sfq, packets: usize) -> Vec<(u32, u64)> {
    let mut drops = Drops::new();
    let mut next = || q.dequeue(Time::ZERO, &mut drops).map(|packet| (packet.flow.0, packet.id));
    (0..packets).map_while(|_| next()).collect()
}

/// Flows that each have a place of the hash of their own.
fn flows<const N: usize>(q: &Sfq) -> [u32; N] {
    let mut found: Vec<(u32, usize)> = Vec::new();
    for flow in 0.. {
        let place = q.hash.place(FlowKey(flow), q.params.divisor);
        if !found.iter().any(|&(_, other)| other == place) {
            found.push((flow, place));
        }
        if found.len() == N {
            break;
        }
    }
    std::array::from_fn(|at| found[at].0)
}

/// A turn is 1500 bytes, and bytes sent beyond the turn are subtracted from the next turn: 1000-byte packets of a leave
/// 2, 1, 2, 1 at a time, and 500-byte packets of b 3 at a time.
#[test]
fn queues_take_turns_by_bytes() {
    let mut q = queue(SfqParams { quantum: 1500, ..SfqParams::default() }, 1000);
    let [a, b] = flows(&q);
    assert!(offer(&mut q, a, 0..10, 1000).is_empty());
    assert!(offer(&mut q, b, 10..30, 500).is_empty());
    let flows: Vec<u32> = order(&mut q, 12).iter().map(|&(flow, _)| flow).collect();
    assert_eq!(flows, [a, a, b, b, b, a, b, b, b, a, a, b]);
}

/// A new flow has its turn after all flows with packets, however sparse the new flow is: new flows have no priority,
/// unlike in FQ-CoDel.
#[test]
fn a_new_queue_has_its_turn_last() {
    let mut q = queue(SfqParams::default(), 1000);
    let [a, b, sparse] = flows(&q);
    offer(&mut q, a, 0..5, 1514);
    offer(&mut q, b, 5..10, 1514);
    offer(&mut q, sparse, 10..11, 60);
    let flows: Vec<u32> = order(&mut q, 4).iter().map(|&(flow, _)| flow).collect();
    assert_eq!(flows, [a, b, sparse, a]);
}

/// The longest queue loses its newest packet, or with headdrop its oldest, whichever flow the arriving packet belongs
/// to.
#[test]
fn the_longest_queue_pays() {
    for (headdrop, lost) in [(false, 5), (true, 0)] {
        let mut q = queue(SfqParams { headdrop, ..SfqParams::default() }, 8);
        let [long, short] = flows(&q);
        assert!(offer(&mut q, long, 0..6, 1000).is_empty());
        assert!(offer(&mut q, short, 6..8, 1000).is_empty());
        assert_eq!(offer(&mut q, short, 8..9, 1000), [(long, lost)]);
        assert_eq!(q.len_packets(), 8);
    }
}

/// Of two queues of three packets, the queue that reached three packets last loses a packet.
#[test]
fn among_the_longest_the_last_to_become_so_pays() {
    let mut q = queue(SfqParams::default(), 7);
    let [a, b, c] = flows(&q);
    offer(&mut q, a, 0..3, 1000);
    offer(&mut q, b, 3..6, 1000);
    offer(&mut q, c, 6..7, 1000);
    assert_eq!(offer(&mut q, c, 7..8, 1000), [(b, 5)]);
    assert_eq!(offer(&mut q, c, 8..9, 1000), [(c, 8)], "now c has become the last one with three");
}

/// A limit of three packets lets three queues hold one each; a fourth flow finds no queue (`sfq_change`: `maxflows` is at most
/// the limit).
#[test]
fn there_are_no_more_queues_than_packets() {
    let mut q = queue(SfqParams::default(), 3);
    let [a, b, c, d] = flows(&q);
    for (id, flow) in [(0, a), (1, b), (2, c)] {
        assert!(offer(&mut q, flow, id..id + 1, 1000).is_empty());
    }
    assert_eq!(offer(&mut q, d, 3..4, 1000), [(d, 3)]);
    assert_eq!(order(&mut q, 9), [(a, 0), (b, 1), (c, 2)]);
}

#[test]
fn a_queue_has_a_depth_of_its_own() {
    for headdrop in [false, true] {
        let mut q = queue(SfqParams { depth: 4, headdrop, ..SfqParams::default() }, 1000);
        let [a] = flows(&q);
        let lost = if headdrop { [(a, 0), (a, 1)] } else { [(a, 4), (a, 5)] };
        assert_eq!(offer(&mut q, a, 0..6, 1000), lost);
    }
}

/// A packet that a shaper has peeked at still counts as waiting, but is in no queue (`qdisc_peek_dequeued`).
#[test]
fn a_packet_that_was_promised_is_not_dropped() {
    let mut q = queue(SfqParams::default(), 2);
    let [a, b] = flows(&q);
    offer(&mut q, a, 0..1, 1000);
    assert_eq!(q.peek(Time::ZERO, &mut Drops::new()).map(|packet| packet.id), Some(0));
    assert!(offer(&mut q, b, 1..2, 1000).is_empty());
    assert_eq!(offer(&mut q, a, 2..3, 1000), [(b, 1)], "of single packets the next to leave");
    assert_eq!(order(&mut q, 9), [(a, 0), (a, 2)]);
}

/// Two flows that share one of two places are separate after a new key with probability one half; packets keep the
/// order of their flow.
#[test]
fn a_new_key_separates_flows() {
    let period = Span::from_secs(10);
    let apart = (0..200).filter(|&seed| {
        let params = SfqParams { divisor: 2, perturb: Some(period), ..SfqParams::default() };
        let mut q = Sfq::new(params, Limit::Packets(100), Seed(seed).stream("hash"));
        let shared = (1..)
            .find(|&flow| q.hash.place(FlowKey(flow), 2) == q.hash.place(FlowKey(0), 2))
            .unwrap();
        offer(&mut q, 0, 0..3, 1514);
        offer(&mut q, shared, 3..6, 1514);
        let mut drops = Drops::new();
        let mut left = Vec::new();
        while let Some(packet) = q.dequeue(Time::ZERO + period, &mut drops) {
            left.push((packet.flow.0, packet.id));
        }
        assert_eq!(q.perturb_at, Some(Time::ZERO + period + period));
        for flow in [0, shared] {
            assert!(left.iter().filter(|of| of.0 == flow).is_sorted());
        }
        left[1].0 != left[0].0
    });
    // Binomial(200, 1/2): 100 ± 4.4 standard deviations of 7.07.
    let apart = apart.count();
    assert!((69..=131).contains(&apart), "{apart}");
}

/// Two full queues that a new key assigns to one place are too long together.
#[test]
fn a_new_key_may_cost_packets() {
    let params = SfqParams {
        divisor: 2,
        depth: 4,
        perturb: Some(Span::from_secs(1)),
        ..SfqParams::default()
    };
    let mut q = queue(params, 100);
    let [a, b] = flows(&q);
    offer(&mut q, a, 0..4, 1000);
    offer(&mut q, b, 4..8, 1000);
    let mut drops = Drops::new();
    for second in 1..50 {
        q.peek(Time::ZERO + Span::from_secs(second), &mut drops);
    }
    // One packet is decided on; the queues of the other seven packets shared a place at some time, but for a
    // probability of 2⁻⁴⁹.
    assert_eq!(drops.as_slice().len(), 3);
    assert_eq!(q.len_packets(), 5);
}

/// A limit in bytes is an addition of this model; Linux has none.
#[test]
fn bytes_may_be_the_limit() {
    let params = SfqParams::default();
    let mut q = Sfq::new(params, Limit::Bytes(5070), Seed(1).stream("hash")).with_link_layer(14);
    let [a, b] = flows(&q);
    assert!(offer(&mut q, a, 0..4, 1000).is_empty());
    assert!(offer(&mut q, b, 4..5, 1000).is_empty());
    assert_eq!(offer(&mut q, b, 5..6, 1500), [(a, 3), (a, 2)]);
    assert_eq!(q.len_bytes(), 3 * 1014 + 1514);
}
