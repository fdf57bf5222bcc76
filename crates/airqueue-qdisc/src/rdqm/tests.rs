//! RDQM by hand, and in comparison with a slow implementation.

use super::*;
use airqueue_core::{DataRate, FlowKey};
use proptest::prelude::*;

fn ms(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn feedback(rtt_ms: i64, kbps: u64) -> Feedback {
    let rate = DataRate::from_bps(kbps * 1000).unwrap();
    Feedback { rtt: Span::from_millis(rtt_ms), rate }
}

fn acknowledge(q: &mut Rdqm, flow: u32, feedback: Option<Feedback>, now: Time) {
    let packet = Packet::new(0, FlowKey(flow), 1500, now);
    q.on_sent(&Sent { packet, acknowledged: true, airtime: Span::ZERO, rate: None, feedback }, now);
}

/// Whether a packet is accepted.
fn offer(q: &mut Rdqm, flow: u32, now: Time) -> bool {
    let mut drops = Drops::new();
    q.enqueue(Packet::new(0, FlowKey(flow), 1500, now), now, &mut drops);
    drops.as_slice().is_empty()
}

/// The number of packets of a flow that are accepted in a row, with the rest of the queue empty.
fn room(q: &mut Rdqm, flow: u32, now: Time) -> usize {
    while q.dequeue(now, &mut Drops::new()).is_some() {}
    (0..).take_while(|_| offer(q, flow, now)).count()
}

fn queue(packets: u32) -> Rdqm {
    Rdqm::new(RdqmParams::default(), Limit::Packets(packets))
}

/// A queue with flows that have sent these reports.
fn knowing(packets: u32, params: RdqmParams, reports: &[Option<Feedback>]) -> Rdqm {
    let mut q = Rdqm::new(params, Limit::Packets(packets));
    for (flow, report) in reports.iter().enumerate() {
        assert!(offer(&mut q, flow as u32, ms(0)));
        q.dequeue(ms(0), &mut Drops::new());
        acknowledge(&mut q, flow as u32, *report, ms(0));
    }
    q
}

fn shares(q: &Rdqm) -> Vec<f64> {
    q.flows.keys().map(|&flow| q.share(FlowKey(flow.0)).unwrap()).collect()
}

/// By hand: 120 packets; two RDQM flows of 100 ms · 11 Mb/s and 200 ms · 1 Mb/s, 1.1 and 0.2 Mbit, share
/// two thirds of them 11 to 2; a legacy flow has one.
#[test]
fn shares_follow_the_products_and_the_kinds() {
    let reports = [Some(feedback(100, 11_000)), None, Some(feedback(200, 1000))];
    let q = knowing(120, RdqmParams::default(), &reports);
    assert_eq!(shares(&q), [80.0 * 11.0 / 13.0, 40.0, 80.0 * 2.0 / 13.0]);
    // The earlier version uses round-trip times alone: 1 to 2.
    let rtt = RdqmParams { weight: RdqmWeight::Rtt, ..RdqmParams::default() };
    assert_eq!(shares(&knowing(120, rtt, &reports)), [80.0 / 3.0, 40.0, 160.0 / 3.0]);
}

/// With one rate and one round-trip time the flows share equally, as legacy flows do, also in the earlier version.
#[test]
fn equal_flows_share_equally() {
    for report in [None, Some(feedback(137, 5500))] {
        for weight in [RdqmWeight::Bdp, RdqmWeight::Rtt] {
            let params = RdqmParams { weight, ..RdqmParams::default() };
            let mut q = knowing(70, params, &[report; 7]);
            assert_eq!(shares(&q), [10.0; 7]);
            // Strictly more than 10: the eleventh packet finds ten.
            assert_eq!((0..7).map(|f| room(&mut q, f, ms(0))).collect::<Vec<_>>(), [11; 7]);
        }
    }
}

/// A limit of 2.5 admits three packets; a limit of 2 admits three or two.
#[test]
fn beyond_the_limit_or_up_to_it() {
    for (packets, beyond, up_to) in [(5, 3, 3), (4, 3, 2)] {
        for (beyond_limit, most) in [(true, beyond), (false, up_to)] {
            let params = RdqmParams { beyond_limit, ..RdqmParams::default() };
            let mut q = knowing(packets, params, &[None; 2]);
            assert_eq!(room(&mut q, 1, ms(0)), most);
        }
    }
}

/// 12 packets for 1 and 1000: a share of 0.012.
#[test]
fn the_floor_is_a_packet() {
    let reports = [Some(feedback(1, 1000)), Some(feedback(1000, 1000))];
    for (floor, beyond_limit, most) in [(true, true, 2), (true, false, 1), (false, true, 1)] {
        let params = RdqmParams { floor, beyond_limit, ..RdqmParams::default() };
        assert_eq!(room(&mut knowing(12, params, &reports), 0, ms(0)), most);
    }
}

/// With a limit in bytes, the last packet of a flow may exceed its share in part, but never the queue's limit.
#[test]
fn bytes_are_shared_as_packets_are() {
    let mut q = knowing(10, RdqmParams::default(), &[None; 2]);
    q.set_limit(Limit::Bytes(10_000));
    assert_eq!(shares(&q), [5000.0; 2]);
    assert_eq!((room(&mut q, 0, ms(0)), q.len_bytes()), (4, 6000));
    assert!(offer(&mut q, 1, ms(0)) && offer(&mut q, 1, ms(0)));
    assert!(!offer(&mut q, 1, ms(0)), "the queue is full");
}

#[test]
fn a_queue_without_room_knows_no_flow() {
    let mut q = queue(0);
    assert!(!offer(&mut q, 0, ms(0)));
    assert_eq!(q.flows(), 0);
}

/// No waiting packet is dropped when other flows arrive; the flow's next packets are dropped until its share has room
/// again.
#[test]
fn shrinking_limits_drop_no_packet() {
    let mut q = queue(10);
    assert_eq!(room(&mut q, 0, ms(0)), 10);
    q.dequeue(ms(1), &mut Drops::new());
    assert!(offer(&mut q, 1, ms(1)), "a flow's first packet is taken in");
    assert_eq!(q.len_packets(), 10);
    for left in [9, 8, 7] {
        q.dequeue(ms(2), &mut Drops::new());
        assert_eq!((q.len_packets(), offer(&mut q, 0, ms(2))), (left, false));
    }
    q.dequeue(ms(2), &mut Drops::new());
    assert_eq!((q.len_packets(), offer(&mut q, 0, ms(2))), (6, true), "five of it are its share");
}

#[test]
fn flows_end_when_they_have_been_silent() {
    let mut q = knowing(12, RdqmParams::default(), &[None, Some(feedback(1000, 1000))]);
    offer(&mut q, 2, ms(500));
    assert_eq!(shares(&q), [4.0; 3]);
    // Flow 0 expires after a second, flow 1 after four round trips; flow 2 has a packet.
    acknowledge(&mut q, 9, None, ms(999));
    assert_eq!(q.flows(), 3);
    acknowledge(&mut q, 9, None, ms(1000));
    assert_eq!(shares(&q), [6.0; 2]);
    acknowledge(&mut q, 9, None, ms(4000));
    assert_eq!((q.flows.keys().collect::<Vec<_>>(), shares(&q)), (vec![&FlowKey(2)], vec![12.0]));
    assert_eq!((q.sums.reporting, q.sums.weights), (0, 0));
    // The packet of flow 2 leaves, and is acknowledged a while later: the flow expires a second after the
    // acknowledgement.
    q.dequeue(ms(5000), &mut Drops::new());
    acknowledge(&mut q, 2, None, ms(5900));
    acknowledge(&mut q, 9, None, ms(6899));
    assert_eq!(q.flows(), 1);
    acknowledge(&mut q, 2, None, ms(6900));
    assert_eq!(q.flows(), 0);
}

#[test]
fn reports_need_a_known_flow_and_an_acknowledgement() {
    let mut q = queue(10);
    acknowledge(&mut q, 3, Some(feedback(1, 1)), ms(0));
    assert_eq!((q.flows(), q.sums.reporting), (0, 0));
    offer(&mut q, 3, ms(0));
    let packet = Packet::new(0, FlowKey(3), 1500, ms(0));
    let given_up = Sent {
        packet,
        acknowledged: false,
        airtime: Span::ZERO,
        rate: None,
        feedback: Some(feedback(1, 1)),
    };
    q.on_sent(&given_up, ms(1));
    assert_eq!(q.sums.reporting, 0);
    // An acknowledgement without feedback removes no report.
    acknowledge(&mut q, 3, Some(feedback(1, 1)), ms(1));
    acknowledge(&mut q, 3, None, ms(2));
    assert_eq!(q.sums.reporting, 1);
}

#[derive(Clone, Debug)]
enum Event {
    Arrival(u32),
    Departure,
    Ack(u32, Option<(i64, u64)>),
}

fn event() -> impl Strategy<Value = (i64, Event)> {
    let report = prop::option::of((0i64..2000, prop_oneof![Just(1000u64), 1u64..600_000]));
    let after = prop_oneof![30 => 0i64..20, 1 => 0i64..5000];
    let event = prop_oneof![
        5 => (0u32..12).prop_map(Event::Arrival),
        3 => Just(Event::Departure),
        3 => ((0u32..12), report).prop_map(|(flow, report)| Event::Ack(flow, report)),
    ];
    (after, event)
}

/// The flow's packets; its weight and round-trip time, if reported; the time of its last event.
type SlowFlow = (u64, Option<(f64, i64)>, i64);

/// The algorithm as in the paper, completed, with every limit computed anew.
#[derive(Default)]
struct Slow {
    flows: BTreeMap<u32, SlowFlow>,
    line: std::collections::VecDeque<u32>,
}

impl Slow {
    fn limits(&self, room: f64) -> BTreeMap<u32, f64> {
        let all = self.flows.len() as f64;
        let rdqm: Vec<f64> = self.flows.values().filter_map(|f| Some(f.1?.0)).collect();
        let sum: f64 = rdqm.iter().sum();
        let limit = |report: Option<(f64, i64)>| match report {
            Some((bdp, _)) => bdp / sum * room * rdqm.len() as f64 / all,
            None => room / all,
        };
        self.flows.iter().map(|(&id, flow)| (id, limit(flow.1))).collect()
    }

    fn forget(&mut self, now: i64) {
        self.flows.retain(|_, &mut (count, report, last)| {
            count > 0 || now - last < 1000.max(4 * report.map_or(0, |(_, rtt)| rtt))
        });
    }

    /// Whether a packet is accepted.
    fn arrive(&mut self, id: u32, room: u32, now: i64) -> bool {
        if self.line.len() >= room as usize {
            return false;
        }
        self.flows.entry(id).or_insert((0, None, now)).2 = now;
        let limit = self.limits(room.into())[&id].max(1.0);
        let count = &mut self.flows.get_mut(&id).unwrap().0;
        // Compares within the rounding of the quotients: a limit that is a whole number is reached and not exceeded.
        let accepted = *count as f64 <= limit + 1e-9;
        *count += u64::from(accepted);
        if accepted {
            self.line.push_back(id);
        }
        accepted
    }
}

proptest! {
    /// Over random arrivals, departures, acknowledgements and idle times: the same decisions as the slow algorithm,
    /// with shares that add up to Q, N_R : N_L between the two kinds of flows, and counters that match the queue.
    #[test]
    fn shares_add_up_to_the_queue(
        room in 1u32..60,
        events in prop::collection::vec(event(), 0..400),
    ) {
        let (mut q, mut slow, mut now) = (queue(room), Slow::default(), 0);
        for (after, event) in events {
            now += after;
            slow.forget(now);
            match event {
                Event::Arrival(id) => {
                    let (full, known) = (q.len_packets() == room as usize, q.flows.get(&FlowKey(id)).copied());
                    let accepted = offer(&mut q, id, ms(now));
                    prop_assert_eq!(accepted, slow.arrive(id, room, now));
                    prop_assert!(accepted || full || known.is_some_and(|flow| flow.packets > 0));
                }
                Event::Departure => {
                    let left = q.dequeue(ms(now), &mut Drops::new()).map(|packet| packet.flow.0);
                    prop_assert_eq!(left, slow.line.pop_front());
                    if let Some(id) = left {
                        let flow = slow.flows.get_mut(&id).unwrap();
                        (flow.0, flow.2) = (flow.0 - 1, now);
                    }
                }
                Event::Ack(id, report) => {
                    acknowledge(&mut q, id, report.map(|(rtt, k)| feedback(rtt, k)), ms(now));
                    if let Some(flow) = slow.flows.get_mut(&id) {
                        let bdp = |(rtt, k): (i64, u64)| (((rtt as u64 * k) as f64).max(1.0), rtt);
                        (flow.1, flow.2) = (report.map(bdp).or(flow.1), now);
                    }
                }
            }
            let limits = slow.limits(room.into());
            prop_assert!(q.flows.keys().map(|key| &key.0).eq(limits.keys()), "{:?} {:?}", q.flows, slow.flows);
            for (&id, limit) in &limits {
                prop_assert!((q.share(FlowKey(id)).unwrap() / limit - 1.0).abs() < 1e-9);
                let waiting = slow.line.iter().filter(|&&flow| flow == id).count();
                prop_assert_eq!(q.flows[&FlowKey(id)].packets, waiting as u64);
            }
            if !limits.is_empty() {
                let (all, room) = (limits.len() as f64, f64::from(room));
                let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * room;
                prop_assert!(close(shares(&q).iter().sum(), room));
                let rdqm = q.flows.iter().filter(|(_, flow)| flow.report.is_some());
                let part: f64 = rdqm.map(|(&id, _)| q.share(FlowKey(id.0)).unwrap()).sum();
                prop_assert!(close(part, room * q.sums.reporting as f64 / all));
            }
        }
    }
}
