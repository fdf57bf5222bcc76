use super::*;
use crate::flows::{End, Protocol};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn key(number: u16) -> FlowKey {
    let end = |host, port| End { address: Ipv4Addr::new(10, 0, 0, host).into(), port };
    FlowKey { station: end(1, number), far: end(9, 443), protocol: Protocol::Tcp }
}

fn seen(number: u16, mbps: Option<f64>, rtt_ms: Option<i64>) -> FlowSeen {
    let rate = mbps.and_then(|mbps| DataRate::from_bps((mbps * 1e6) as u64));
    FlowSeen { key: key(number), rate, rtt: rtt_ms.map(Span::from_millis) }
}

fn policy() -> RdqmPolicy {
    RdqmPolicy {
        buffer_packets: 61,
        rate: DataRate::from_bps(20_000_000).unwrap(),
        classes: 4,
        handle: 5,
        idle: Span::from_secs(30),
        least_interval: Span::from_secs(5),
    }
}

fn at(second: i64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn limits(shared: &Shared) -> Vec<u32> {
    shared.classes.iter().map(|class| class.queue.limit_packets.unwrap()).collect()
}

#[test]
fn shares_are_those_of_the_algorithm() {
    let mut rdqm = RdqmLoop::new(policy());
    assert_eq!(limits(rdqm.shared()), [61, 1, 1, 1, 1]);
    // N = 4 with `other`: Q/4 = 15.25 for it; 45.75 by rate, as delays are alike: 11, 5.5 and 1 Mb/s of 17.5.
    let flows = [
        seen(1, Some(11.0), Some(150)),
        seen(2, Some(5.5), Some(150)),
        seen(3, Some(1.0), Some(150)),
    ];
    let change = rdqm.on_flows(&flows, at(0)).unwrap();
    // 15.25, 28.76, 14.38, 2.61: the largest remainders are rounded up.
    assert_eq!(limits(rdqm.shared()), [15, 29, 14, 3, 1]);
    assert_eq!(change.assigned, [(key(1), 3), (key(2), 4), (key(3), 5)]);
    // Delays instead of rates: 50, 100 and 150 ms of 300.
    let flows = [
        seen(1, Some(9.0), Some(50)),
        seen(2, Some(9.0), Some(100)),
        seen(3, Some(9.0), Some(150)),
    ];
    rdqm.on_flows(&flows, at(5)).unwrap();
    // 15.25, 7.625, 15.25, 22.875.
    assert_eq!(limits(rdqm.shared()), [15, 8, 15, 23, 1]);
}

#[test]
fn a_flow_that_tells_nothing_has_an_equal_share() {
    let mut rdqm = RdqmLoop::new(policy());
    let flows =
        [seen(1, Some(11.0), None), seen(2, None, Some(100)), seen(3, Some(11.0), Some(10))];
    rdqm.on_flows(&flows, at(0)).unwrap();
    // Q/N = 15.25 for each, the one that reports among them: it is alone in its part.
    let mut each = limits(rdqm.shared());
    each.sort();
    assert_eq!(each, [1, 15, 15, 15, 16]);
}

#[test]
fn flows_keep_their_classes_and_give_them_back_when_idle() {
    let mut rdqm = RdqmLoop::new(policy());
    let all: Vec<FlowSeen> = (0..6).map(|n| seen(n, Some(10.0), Some(50))).collect();
    let change = rdqm.on_flows(&all, at(0)).unwrap();
    assert_eq!(change.assigned.len(), 4);
    // Two flows share `other`: N = 6, and twice Q/6 = 20.3 is theirs, which has the largest remainder.
    assert_eq!(limits(rdqm.shared()), [21, 10, 10, 10, 10]);
    assert_eq!(rdqm.on_flows(&all, at(1)), None);
    assert_eq!(rdqm.on_flows(&all, at(10)), None);
    // Flows 1 to 5 go on; the first one gives its class to another after 30 s.
    assert_eq!(rdqm.on_flows(&all[1..], at(20)), None);
    let change = rdqm.on_flows(&all[1..], at(40)).unwrap();
    assert_eq!(change.released, [(key(0), 3)]);
    assert_eq!(change.assigned, [(key(4), 3)]);
}

#[test]
fn noise_changes_nothing() {
    let mut rdqm = RdqmLoop::new(policy());
    rdqm.on_flows(&[seen(1, Some(10.0), Some(100)), seen(2, Some(10.0), Some(100))], at(0));
    assert_eq!(
        rdqm.on_flows(&[seen(1, Some(10.0), Some(103)), seen(2, Some(10.0), Some(100))], at(9)),
        None
    );
    assert!(
        rdqm.on_flows(&[seen(1, Some(10.0), Some(300)), seen(2, Some(10.0), Some(100))], at(20))
            .is_some()
    );
}

#[test]
fn downloads_that_come_at_every_look_change_classes_at_a_pace() {
    let mut rdqm = RdqmLoop::new(RdqmPolicy { classes: 200, ..policy() });
    let mut changes = Vec::new();
    for second in 0..100_u16 {
        // A new download each second, which lasts ten.
        let active: Vec<FlowSeen> =
            (second.max(9) - 9..=second).map(|n| seen(n, Some(10.0), Some(50))).collect();
        if let Some(change) = rdqm.on_flows(&active, at(second.into())) {
            changes.push(second);
            // All that wait get their classes together.
            assert!(active.iter().all(|flow| rdqm.held().any(|(key, _)| key == flow.key)));
            assert!(change.assigned.len() <= 5, "{change:?}");
        }
    }
    // Three at once, then one in 5 s, for which a download waits at the most.
    assert_eq!(changes[..5], [0, 1, 2, 5, 10]);
    assert_eq!(changes.len(), 3 + 95 / 5);
    // After a rest a download has a class at once.
    let change = rdqm.on_flows(&[seen(900, None, None)], at(120)).unwrap();
    assert!(change.assigned.iter().any(|(flow, _)| *flow == key(900)));
}

proptest! {
    /// Shares depend on what flows tell, not on the order in which they are told; and what stays as it is changes nothing.
    #[test]
    fn the_order_of_flows_is_nothing_and_without_news_nothing_changes(
        flows in prop::collection::btree_map(0u16..50, (prop::option::of(0.1f64..1000.0), prop::option::of(0i64..2000)), 1..=4),
        buffer in 5u32..2000
    ) {
        let policy = RdqmPolicy { buffer_packets: buffer, ..policy() };
        let mut seen: Vec<FlowSeen> = flows.iter().map(|(n, (mbps, rtt))| seen(*n, *mbps, *rtt)).collect();
        let divide = |seen: &[FlowSeen]| {
            let mut rdqm = RdqmLoop::new(policy);
            rdqm.on_flows(seen, at(0)).unwrap();
            for second in 1..100 {
                assert_eq!(rdqm.on_flows(seen, at(second)), None);
            }
            let class = |id: u16| rdqm.shared().classes.iter().find(|class| class.id == id).unwrap();
            rdqm.held().map(|(key, id)| (key, class(id).rate_bps, class(id).queue.clone())).collect::<Vec<_>>()
        };
        let forwards = divide(&seen);
        seen.reverse();
        prop_assert_eq!(forwards, divide(&seen));
    }

    /// Whatever flows state, a plan can have these classes, and the buffer is divided whole.
    #[test]
    fn classes_are_valid_whatever_flows_tell(
        flows in prop::collection::vec((0u16..12, prop::option::of(0.001f64..1e6), prop::option::of(0i64..10_000_000)), 0..40),
        buffer in 5u32..5000, rate in 100_000u64..10_000_000_000
    ) {
        let policy = RdqmPolicy { buffer_packets: buffer, rate: DataRate::from_bps(rate).unwrap(), ..policy() };
        let mut rdqm = RdqmLoop::new(policy);
        for (second, chunk) in flows.chunks(5).enumerate() {
            let mut seen: Vec<FlowSeen> = chunk.iter().map(|(n, mbps, rtt)| seen(*n, *mbps, *rtt)).collect();
            seen.sort_by_key(|flow| flow.key);
            seen.dedup_by_key(|flow| flow.key);
            rdqm.on_flows(&seen, at(second as i64 * 7));
            let shared = rdqm.shared();
            let used: Vec<u32> = rdqm.held.values().map(|held| held.class).chain([OTHER])
                .map(|class| shared.classes.iter().find(|each| each.id == class).unwrap().queue.limit_packets.unwrap())
                .collect();
            prop_assert_eq!(used.iter().sum::<u32>(), buffer);
            prop_assert!(shared.classes.iter().map(|class| class.rate_bps).sum::<u64>() <= shared.rate_bps);
            let set = serde_json::json!({"plan": 1, "made_by": "a test", "settings": [{"why": "a test",
                "set": {"queue": {"interface": "eth0", "queue": {"shared": shared}}}}]});
            prop_assert!(crate::plan::Plan::read(&set.to_string()).is_ok());
        }
    }
}
