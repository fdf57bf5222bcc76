//! The properties that only CAKE has: shares of hosts and of tins, the shaper, the hash, and which queue drops when
//! there is no room.

use super::*;
use airqueue_core::{FlowKey, Seed};

fn queue(params: CakeParams) -> Cake {
    Cake::new(params, Seed(1).stream("cake"))
}

fn mbit(rate: u64) -> Option<DataRate> {
    DataRate::from_bps(rate * 1_000_000)
}

/// A flow that always has two packets waiting.
#[derive(Clone, Copy)]
struct Source {
    flow: u32,
    dscp: u8,
}

/// Serves `packets` packets of sources that never stop; returns each source's share of the bytes, and the time taken.
fn serve(q: &mut Cake, sources: &[Source], packets: usize, size: u32) -> (Vec<f64>, Span) {
    let mut drops = Drops::new();
    let mut waiting = vec![0; sources.len()];
    let mut sent = vec![0u32; sources.len()];
    let (mut id, mut now) = (0, Time::ZERO);
    let place = |flow| sources.iter().position(|of| FlowKey(of.flow) == flow).unwrap();
    for _ in 0..packets {
        for (at, &Source { flow, dscp }) in sources.iter().enumerate() {
            while waiting[at] < 2 {
                q.enqueue(
                    Packet { dscp, ..Packet::new(id, FlowKey(flow), size, now) },
                    now,
                    &mut drops,
                );
                (id, waiting[at]) = (id + 1, waiting[at] + 1);
            }
        }
        let packet = loop {
            match q.dequeue(now, &mut drops) {
                Some(packet) => break packet,
                None => now = q.next_wakeup(now).expect("packets wait"),
            }
        };
        sent[place(packet.flow)] += 1;
        waiting[place(packet.flow)] -= 1;
        drops.drain().for_each(|drop| waiting[place(drop.packet.flow)] -= 1);
    }
    let share = |&sent: &u32| f64::from(sent) / packets as f64;
    (sent.iter().map(share).collect(), now - Time::ZERO)
}

fn best_effort(flows: std::ops::Range<u32>) -> Vec<Source> {
    flows.map(|flow| Source { flow, dscp: 0 }).collect()
}

fn isolating(isolation: Isolation) -> Cake {
    queue(CakeParams { isolation, diffserv: Diffserv::BestEffort, ..CakeParams::default() })
}

/// Host 10 sends eight flows to host 20, and host 11 one flow to host 21. Returns the share of host 11's flow.
fn share_of_the_lonely(isolation: Isolation, hosts_of_last: Hosts) -> f64 {
    let mut q = isolating(isolation);
    (0..8).for_each(|flow| q.set_flow_hosts(FlowKey(flow), Hosts { source: 10, destination: 20 }));
    q.set_flow_hosts(FlowKey(8), hosts_of_last);
    serve(&mut q, &best_effort(0..9), 40_000, 1000).0[8]
}

/// With fairness among flows, one of nine flows has a ninth; with fairness among hosts, the only flow of one of two
/// hosts has half.
#[test]
fn hosts_have_equal_shares() {
    let apart = Hosts { source: 11, destination: 21 };
    let near = |share: f64, truth: f64| {
        assert!((share - truth).abs() < 0.01 * truth, "{share} for {truth}");
    };
    near(share_of_the_lonely(Isolation::Flows, apart), 1.0 / 9.0);
    for isolation in [Isolation::DualSource, Isolation::DualDestination, Isolation::Triple] {
        near(share_of_the_lonely(isolation, apart), 0.5);
    }
    for isolation in [Isolation::Source, Isolation::Destination, Isolation::Hosts] {
        near(share_of_the_lonely(isolation, apart), 0.5);
    }
}

/// Flows with a common source, or a common destination, share as one host only if the isolation counts that side.
/// Triple isolation counts the busier end: with a common end all nine flows have a ninth.
#[test]
fn the_side_that_counts_decides() {
    let same_source = Hosts { source: 10, destination: 21 };
    let share = |isolation| share_of_the_lonely(isolation, same_source);
    for (isolation, truth) in [
        (Isolation::DualSource, 1.0 / 9.0),
        (Isolation::DualDestination, 0.5),
        (Isolation::Triple, 1.0 / 9.0),
        (Isolation::Destination, 0.5),
        (Isolation::Hosts, 0.5),
    ] {
        let found = share(isolation);
        assert!((found - truth).abs() < 0.01 * truth, "{isolation:?}: {found} for {truth}");
    }
}

/// 10 Mb/s, IP packets of 1000 bytes that count 1038: the n-th leaves after n - 1 times 830.4 µs, to the nanosecond;
/// short packets count the mpu.
#[test]
fn the_rate_is_exact() {
    let params =
        CakeParams { rate: mbit(10), overhead: Some(38), mpu: 84, ..CakeParams::default() };
    for (size, each) in [(1000, 830_400), (40, 67_200)] {
        let mut q = queue(params).with_link_layer(14);
        let (_, took) = serve(&mut q, &best_effort(0..3), 10_001, size);
        assert_eq!(took, Span::from_nanos(10_000 * each));
    }
    // Without an overhead of its own the queue's link layer counts: 1014 bytes.
    let mut q = queue(CakeParams { overhead: None, ..params }).with_link_layer(14);
    assert_eq!(serve(&mut q, &best_effort(0..1), 1001, 1000).1, Span::from_nanos(1000 * 811_200));
}

/// A pause gives no credit: after a pause the first packet leaves at once and the next a packet time later.
#[test]
fn pauses_make_no_bursts() {
    let mut q = queue(CakeParams { rate: mbit(8), ..CakeParams::default() });
    let mut drops = Drops::new();
    for start in [Time::ZERO, Time::ZERO + Span::from_secs(60)] {
        (0..3)
            .for_each(|id| q.enqueue(Packet::new(id, FlowKey(0), 1000, start), start, &mut drops));
        let mut now = start;
        for n in 0..3 {
            while q.dequeue(now, &mut drops).is_none() {
                now = q.next_wakeup(now).unwrap();
            }
            assert_eq!(now, start + Span::from_millis(n));
        }
        assert_eq!(q.next_wakeup(now), None);
    }
}

/// All tins have more to send than their share: voice gets a quarter, video half, bulk a sixteenth, and best effort the
/// rest of the rate, three sixteenths.
#[test]
fn tins_have_their_shares_of_the_rate() {
    let dscps = [0, 8, 34, 46];
    let sources: Vec<Source> = (0..).zip(dscps).map(|(flow, dscp)| Source { flow, dscp }).collect();
    let diffserv = Diffserv::Diffserv4;
    let mut q = queue(CakeParams { rate: mbit(10), diffserv, ..CakeParams::default() });
    let (shares, _) = serve(&mut q, &sources, 40_000, 1000);
    for (share, truth) in shares.iter().zip([3.0 / 16.0, 1.0 / 16.0, 0.5, 0.25]) {
        assert!((share - truth).abs() < 0.01, "{shares:?}");
    }
    // Without a rate the tins take turns by weights of 1024, 64, 512 and 256.
    let mut q = queue(CakeParams { diffserv, ..CakeParams::default() });
    let (shares, _) = serve(&mut q, &sources, 40_000, 1000);
    for (share, weight) in shares.iter().zip([1024.0, 64.0, 512.0, 256.0]) {
        assert!((share - weight / 1856.0).abs() < 0.01, "{shares:?}");
    }
}

/// A tin that sends less than its share comes first, and the other tins have the rest of the rate.
#[test]
fn a_tin_below_its_share_waits_for_one_packet_at_most() {
    let mut q = queue(CakeParams { rate: mbit(8), ..CakeParams::default() });
    let mut drops = Drops::new();
    let mut now = Time::ZERO;
    for id in 0..400u64 {
        let packet = Packet::new(id, FlowKey(id as u32 % 20), 1000, now);
        q.enqueue(packet, now, &mut drops);
    }
    for call in 1000..1100u64 {
        let packet = Packet { dscp: 46, ..Packet::new(call, FlowKey(99), 200, now) };
        q.enqueue(packet, now, &mut drops);
        let came = now;
        let left = loop {
            match q.dequeue(now, &mut drops) {
                Some(packet) if packet.flow == FlowKey(99) => break now - came,
                Some(packet) => {
                    q.enqueue(Packet { id: packet.id + 5000, ..packet }, now, &mut drops)
                }
                None => now = q.next_wakeup(now).unwrap(),
            }
        };
        assert!(left <= Span::from_millis(1), "{left}");
        now += Span::from_millis(20);
    }
}

/// Eight flows with the same set of places have a queue each; the ninth flow shares a queue.
#[test]
fn a_set_of_eight_flows_has_eight_queues() {
    let mut q = isolating(Isolation::Flows);
    let set = |flow: u32| q.hash.hash(FlowKey(flow).0) as usize % QUEUES / tin::WAYS;
    let flows: Vec<u32> = (0..).filter(|&flow| set(flow) == set(0)).take(9).collect();
    let mut drops = Drops::new();
    for (id, &flow) in flows.iter().enumerate() {
        q.enqueue(Packet::new(id as u64, FlowKey(flow), 1000, Time::ZERO), Time::ZERO, &mut drops);
    }
    let used = (0..QUEUES).filter(|&queue| q.waiting.len(queue) > 0);
    let lengths: Vec<usize> = used.map(|queue| q.waiting.len(queue)).collect();
    assert_eq!(lengths.len(), 8);
    assert_eq!(lengths.iter().sum::<usize>(), 9);
}

/// Without room, the longest queue loses its oldest packet, in whichever tin, and BLUE's probability rises.
#[test]
fn the_longest_queue_pays() {
    let mut q = queue(CakeParams { memory_limit: Some(10_000), ..CakeParams::default() });
    let mut drops = Drops::new();
    let now = Time::ZERO + Span::from_secs(1);
    let mut offer = |q: &mut Cake, id, flow, dscp| {
        q.enqueue(Packet { dscp, ..Packet::new(id, flow, 1000, now) }, now, &mut drops);
        drops.drain().map(|drop| (drop.packet.flow, drop.packet.id)).collect::<Vec<_>>()
    };
    (0..6).for_each(|id| assert!(offer(&mut q, id, FlowKey(1), 46).is_empty()));
    (6..10).for_each(|id| assert!(offer(&mut q, id, FlowKey(2), 0).is_empty()));
    assert_eq!(offer(&mut q, 10, FlowKey(2), 0), [(FlowKey(1), 0)]);
    assert_eq!(
        offer(&mut q, 11, FlowKey(3), 8),
        [(FlowKey(2), 6)],
        "five and five: the one in the first tin"
    );
    q.set_limit(Limit::Packets(3));
    assert_eq!(
        offer(&mut q, 12, FlowKey(4), 0).len(),
        8,
        "a lower limit is reached with the next arrival"
    );
    assert_eq!(q.len_packets(), 3);
}

/// The default memory is what the rate sends in four times the interval, within bounds.
#[test]
fn the_memory_follows_the_rate() {
    let memory = |rate| CakeParams { rate, ..CakeParams::default() }.memory();
    assert_eq!(memory(mbit(10)), 4 << 20);
    assert_eq!(memory(mbit(100)), 5_000_000);
    assert_eq!(memory(mbit(10_000)), 10_240 * 1514);
    assert_eq!(memory(None), 10_240 * 1514);
}

/// A new flow comes before those that have used up their turn, but once only.
#[test]
fn sparse_flows_come_first() {
    let mut q = isolating(Isolation::Flows);
    let mut drops = Drops::new();
    let now = Time::ZERO;
    (0..20).for_each(|id| q.enqueue(Packet::new(id, FlowKey(1), 1500, now), now, &mut drops));
    let mut next = |q: &mut Cake| q.dequeue(now, &mut drops).unwrap().flow;
    assert_eq!([next(&mut q), next(&mut q)], [FlowKey(1), FlowKey(1)]);
    q.enqueue(Packet::new(50, FlowKey(2), 100, now), now, &mut Drops::new());
    assert_eq!([next(&mut q), next(&mut q)], [FlowKey(2), FlowKey(1)]);
}
