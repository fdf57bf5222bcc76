//! The device against results computed by hand.

use crate::common::{Arrival, Bench, deliveries, every, link, plain, run, us};
use airqueue_core::{
    ByNeighbour, DataRate, DropReason, Drops, FlowKey, Limit, LinkFeedback, Packet, QueueDisc,
    Seed, Span, Time,
};
use airqueue_network::bottleneck::conditions::DeviceChange;
use airqueue_network::bottleneck::link::LinkSpec;
use airqueue_network::bottleneck::{Bottleneck, DeviceSpec, Framing, Outcome, ServerSpec};
use airqueue_qdisc::DropFrom;
use proptest::prelude::*;
use std::collections::VecDeque;

fn times_us(bench: &Bench) -> Vec<i64> {
    deliveries(bench).iter().map(|(at, _)| at.as_nanos() / 1000).collect()
}

/// Under overload the queue fills to exactly its limit, a packet waits for at most a full queue, and the server never
/// idles.
#[test]
fn overload_fills_the_queue_exactly() {
    for n in [1, 2, 30, 50, 1000] {
        // 10 packets arrive while 8 are served, so that the queue fills within 5 n arrivals.
        let bench =
            run(link(Limit::Packets(n)), every(Span::from_micros(800), 8 * n as usize + 20));
        assert_eq!(bench.most_waiting.0, u64::from(n));
        for (at, packet) in deliveries(&bench) {
            assert!(at - packet.created <= Span::from_millis(i64::from(n) + 1));
        }
        // The server never idles: the k-th delivery is at k milliseconds.
        let expected: Vec<i64> = (1..=deliveries(&bench).len() as i64).map(|k| k * 1000).collect();
        assert_eq!(times_us(&bench), expected);
    }
}

/// A departure makes room for a packet that arrives at the same nanosecond.
#[test]
fn at_exactly_the_service_rate_nothing_is_lost() {
    let bench = run(link(Limit::Packets(1)), every(Span::from_millis(1), 1000));
    assert_eq!(deliveries(&bench).len(), 1000);
    assert_eq!(bench.most_waiting.0, 0, "each finds the server just free");
}

#[test]
fn byte_queue_holds_the_floor() {
    let mut spec = link(Limit::Bytes(15_209));
    spec.framing.link_layer = 14;
    let bench = run(spec, every(Span::from_micros(100), 200));
    assert_eq!(bench.most_waiting, (14, 14 * 1014));
}

#[test]
fn a_driver_ring_adds_up() {
    for n in [1, 50, 100] {
        let spec = DeviceSpec { ring: 40, ..link(Limit::Packets(n)) };
        let bench = run(spec, every(Span::from_micros(700), 2000));
        assert_eq!(bench.most_waiting.0, u64::from(n) + 40);
    }
}

/// 12 000 bits at 7 Mb/s take 1714285 5/7 ns; k packets take exactly k times this time.
#[test]
fn back_to_back_services_do_not_drift() {
    let rate = DataRate::from_bps(7_000_000).unwrap();
    let spec = DeviceSpec { rate, ..link(Limit::Packets(100_000)) };
    let train = (0..20_000).map(|_| Arrival { at: Time::ZERO, flow: 0, size: 1500 });
    for (k, (at, _)) in deliveries(&run(spec, train)).into_iter().enumerate() {
        let exact = (k as i128 + 1) * 12_000 * 1_000_000_000;
        assert_eq!(i128::from(at.as_nanos()), (exact + 6_999_999) / 7_000_000);
    }
}

#[test]
fn a_stall_interrupts_and_resumes() {
    // Halfway through the first packet, for 10 ms; a second stall overlaps the end of the first.
    let changes = vec![
        (Span::from_micros(500), DeviceChange::Stall),
        (Span::from_micros(9_000), DeviceChange::Stall),
        (Span::from_micros(10_500), DeviceChange::Resume),
        (Span::from_micros(12_000), DeviceChange::Resume),
    ];
    let bench = run(DeviceSpec { changes, ..link(Limit::Packets(10)) }, every(Span::ZERO, 2));
    assert_eq!(times_us(&bench), [12_500, 13_500]);
}

#[test]
fn a_service_that_ends_as_the_stall_begins_is_over() {
    let changes = vec![
        (Span::from_millis(1), DeviceChange::Stall),
        (Span::from_millis(5), DeviceChange::Resume),
    ];
    let bench = run(DeviceSpec { changes, ..link(Limit::Packets(10)) }, every(Span::ZERO, 2));
    assert_eq!(times_us(&bench), [1000, 6000]);
}

#[test]
fn a_rate_change_alters_the_rest_of_the_packet() {
    let changes = vec![(Span::from_micros(500), DeviceChange::Rate(0.5))];
    let bench = run(DeviceSpec { changes, ..link(Limit::Packets(10)) }, every(Span::ZERO, 2));
    assert_eq!(times_us(&bench), [1500, 3500]);
}

#[test]
fn changes_recur() {
    let changes =
        vec![(Span::ZERO, DeviceChange::Stall), (Span::from_millis(9), DeviceChange::Resume)];
    let period = Some(Span::from_millis(10));
    let spec = DeviceSpec { changes, period, ..link(Limit::Packets(10)) };
    let mut bench = Bench::new(spec);
    bench.run_until(Time::ZERO);
    every(Span::ZERO, 3).for_each(|arrival| bench.arrive(arrival));
    bench.run_until(us(100_000));
    assert_eq!(times_us(&bench), [10_000, 20_000, 30_000]);
}

#[test]
fn limits_change_with_the_hour() {
    let changes = vec![
        (Span::from_millis(100), DeviceChange::Limit(Limit::Packets(20))),
        (Span::from_millis(200), DeviceChange::Limit(Limit::Packets(5))),
    ];
    let mut bench = Bench::new(DeviceSpec { changes, ..link(Limit::Packets(10)) });
    let mut waiting_at = Vec::new();
    for arrival in every(Span::from_micros(500), 600) {
        bench.arrive(arrival);
        if arrival.at.as_nanos() % 99_000_000 == 0 {
            waiting_at.push(bench.device.waiting().0);
        }
    }
    // At 0, 99, 198 and 297 ms: the first packet is in service, then each limit is reached.
    assert_eq!(waiting_at, [0, 10, 20, 5]);
}

#[test]
fn a_token_bucket_lets_the_head_wait_in_the_queue() {
    let server = ServerSpec::Shaper { burst_bytes: 1000 };
    let spec = DeviceSpec { server, ..link(Limit::Packets(10)) };
    let bench = run(spec.clone(), every(Span::from_micros(800), 100));
    assert_eq!(bench.most_waiting.0, 10);
    // The first packet finds a full bucket; then the tokens of one packet come in each millisecond.
    let expected: Vec<i64> = (0..deliveries(&bench).len() as i64).map(|k| k * 1000).collect();
    assert_eq!(times_us(&bench), expected);

    let oversize = run(spec, [Arrival { at: Time::ZERO, flow: 0, size: 1001 }]);
    assert!(matches!(oversize.fates[0].outcome, Outcome::Dropped(_, DropReason::Oversize)));
}

#[test]
fn a_policer_drops_without_delay() {
    let server = ServerSpec::Policer { burst_bytes: 2000 };
    let spec = DeviceSpec { server, ..link(Limit::Packets(10)) };
    let bench = run(spec, every(Span::from_micros(500), 2001));
    assert!(deliveries(&bench).iter().all(|(at, packet)| *at == packet.created));
    // One second at 8 Mb/s, and the two packets of the bucket.
    assert_eq!(deliveries(&bench).len(), 1002);
    assert_eq!(bench.most_waiting.0, 0);
}

#[test]
fn an_aggregate_is_served_and_delivered_together() {
    let server =
        ServerSpec::Link(LinkSpec { aggregate: 4, overhead: Span::from_micros(100), ..plain() });
    let bench = run(DeviceSpec { server, ..link(Limit::Packets(100)) }, every(Span::ZERO, 10));
    // The first packet goes alone: no other packet has arrived yet.
    assert_eq!(times_us(&bench), [1100, 5200, 5200, 5200, 5200, 9300, 9300, 9300, 9300, 10_400]);
}

#[test]
fn a_minimum_packet_unit_caps_the_packet_rate() {
    let framing = Framing { link_layer: 0, mpu: 1000 };
    let small = (0..3).map(|_| Arrival { at: Time::ZERO, flow: 0, size: 40 });
    let bench = run(DeviceSpec { framing, ..link(Limit::Packets(9)) }, small);
    assert_eq!(times_us(&bench), [1000, 2000, 3000]);
}

#[test]
fn head_drop_delivers_the_youngest() {
    let spec = DeviceSpec { drop_from: DropFrom::Head, ..link(Limit::Packets(2)) };
    let bench = run(spec, every(Span::ZERO, 10));
    let ids: Vec<u64> = deliveries(&bench).iter().map(|(_, p)| p.id).collect();
    assert_eq!(ids, [0, 8, 9]);
}

/// Against a flood, a sparse flow waits for at most one packet in service and one packet of the flood.
#[test]
fn isolation_keeps_a_sparse_flow_fast() {
    let spec = DeviceSpec { isolate_flows: true, ..link(Limit::Packets(50)) };
    let flood = every(Span::from_micros(700), 2000);
    let sparse = (1..10).map(|k| Arrival { at: us(k * 100_050), flow: 1, size: 1000 });
    let mut arrivals: Vec<Arrival> = flood.chain(sparse).collect();
    arrivals.sort_by_key(|a| a.at);
    let bench = run(spec, arrivals);
    let sparse: Vec<Span> = deliveries(&bench)
        .iter()
        .filter(|(_, p)| p.flow == FlowKey(1))
        .map(|(at, p)| *at - p.created)
        .collect();
    assert_eq!(sparse.len(), 9);
    assert!(sparse.iter().all(|d| *d <= Span::from_millis(3)), "{sparse:?}");
}

/// Holds every packet for 5 ms.
struct Holding(VecDeque<Packet>);

const HOLD: Span = Span::from_millis(5);

impl ByNeighbour for Holding {}

impl LinkFeedback for Holding {}

impl QueueDisc for Holding {
    fn enqueue(&mut self, packet: Packet, now: Time, _drops: &mut Drops) {
        self.0.push_back(Packet { enqueued: now, ..packet });
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        self.peek(now, drops)?;
        self.0.pop_front()
    }

    fn peek(&mut self, now: Time, _drops: &mut Drops) -> Option<&Packet> {
        self.0.front().filter(|packet| packet.enqueued + HOLD <= now)
    }

    fn len_packets(&self) -> usize {
        self.0.len()
    }

    fn len_bytes(&self) -> u64 {
        self.0.iter().map(|packet| u64::from(packet.size)).sum()
    }

    fn next_wakeup(&self, _now: Time) -> Option<Time> {
        self.0.front().map(|packet| packet.enqueued + HOLD)
    }

    fn set_limit(&mut self, _limit: Limit) {}
}

/// Every server polls disciplines that hold packets back again at the time that they name.
#[test]
fn a_holding_discipline_is_woken() {
    let bucket = ServerSpec::Shaper { burst_bytes: 1000 };
    let direct = link(Limit::Packets(1));
    let ring = DeviceSpec { ring: 3, ..direct.clone() };
    let shaped = DeviceSpec { server: bucket, ..direct.clone() };
    let stall = vec![
        (Span::from_millis(4), DeviceChange::Stall),
        (Span::from_millis(8), DeviceChange::Resume),
    ];
    let stalled = DeviceSpec { changes: stall, ..direct.clone() };
    let expected = [
        (stalled, [9_000, 10_000, 16_000]),
        (direct, [6_000, 7_000, 16_000]),
        (ring, [6_000, 7_000, 16_000]),
        (shaped, [5_000, 6_000, 15_000]),
    ];
    for (spec, times) in expected {
        let queue = Box::new(Holding(VecDeque::new()));
        let mut bench = Bench::of(Bottleneck::with_queue(spec, queue, Seed(1)));
        for at in [0, 0, 10_000] {
            bench.arrive(Arrival { at: us(at), flow: 0, size: 1000 });
        }
        bench.run_until(us(100_000));
        assert_eq!(times_us(&bench), times);
    }
}

/// Binomial: within five standard deviations.
#[test]
fn air_loss_takes_its_share_after_service() {
    let (n, p) = (40_000f64, 0.1);
    let spec = DeviceSpec { loss: p, ..link(Limit::Packets(10)) };
    let bench = run(spec, every(Span::from_millis(1), n as usize));
    let counters = bench.device.counters();
    assert_eq!(counters.dropped.packets, 0);
    let lost = counters.lost.packets as f64;
    assert!((lost - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{lost} lost");
}

fn any_device() -> impl Strategy<Value = DeviceSpec> {
    let limit =
        prop_oneof![(1u32..20).prop_map(Limit::Packets), (1u64..20_000).prop_map(Limit::Bytes)];
    let link_server =
        (1usize..5, 0i64..500, 0i64..500).prop_map(|(aggregate, overhead, jitter)| {
            let (overhead, jitter) = (Span::from_micros(overhead), Span::from_micros(jitter));
            ServerSpec::Link(LinkSpec { aggregate, overhead, jitter })
        });
    let server = prop_oneof![
        link_server,
        (500u32..4000).prop_map(|burst_bytes| ServerSpec::Shaper { burst_bytes }),
        (500u32..4000).prop_map(|burst_bytes| ServerSpec::Policer { burst_bytes }),
    ];
    let change = prop_oneof![
        Just(vec![DeviceChange::Stall, DeviceChange::Resume]),
        (0.1f64..3.0).prop_map(|f| vec![DeviceChange::Rate(f)]),
        (1u32..30).prop_map(|n| vec![DeviceChange::Limit(Limit::Packets(n))]),
    ];
    let changes = prop::collection::vec((0i64..50, 1i64..20, change), 0..6).prop_map(|list| {
        list.into_iter()
            .flat_map(|(at, length, change)| {
                change
                    .into_iter()
                    .enumerate()
                    .map(move |(i, change)| (Span::from_millis(at + i as i64 * length), change))
            })
            .collect::<Vec<_>>()
    });
    (limit, server, changes, any::<bool>(), any::<bool>(), any::<bool>(), 0usize..6, 0u32..40)
        .prop_map(|(limit, server, changes, head, isolate_flows, repeat, ring, link_layer)| {
            DeviceSpec {
                server,
                changes,
                isolate_flows,
                drop_from: if head { DropFrom::Head } else { DropFrom::Tail },
                ring: if matches!(server, ServerSpec::Link(_)) { ring } else { 0 },
                framing: Framing { link_layer, mpu: 64 },
                loss: 0.05,
                period: repeat.then_some(Span::from_millis(80)),
                ..link(limit)
            }
        })
}

proptest! {
    /// For every device and traffic, each packet has exactly one outcome, no packet is left at the end, and flows keep
    /// their order. (The bench checks the counters after every step.)
    #[test]
    fn every_packet_is_accounted_for(
        spec in any_device(),
        traffic in prop::collection::vec((0i64..3000, 0u32..3, 1u32..1600), 0..200),
    ) {
        let mut bench = Bench::new(spec);
        let mut at = Time::ZERO;
        let offered = traffic.len();
        for (gap, flow, size) in traffic {
            at += Span::from_micros(gap);
            bench.arrive(Arrival { at, flow, size });
        }
        // Longer than 20 kB take at a tenth of the rate, and longer than all stalls.
        bench.run_until(at + Span::from_secs(20));
        prop_assert_eq!(bench.fates.len(), offered);
        let mut ids: Vec<u64> = bench.fates.iter().map(|f| match f.outcome {
            Outcome::Delivered(p) | Outcome::Dropped(p, _) | Outcome::Lost(p) => p.id,
        }).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), offered);
        for flow in 0..3 {
            let order: Vec<u64> =
                deliveries(&bench).iter().filter(|(_, p)| p.flow == FlowKey(flow)).map(|(_, p)| p.id).collect();
            prop_assert!(order.is_sorted());
        }
    }
}
