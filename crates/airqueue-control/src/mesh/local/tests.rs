use super::*;
use crate::flows::{End, Protocol};
use crate::mesh::{GRACE, SILENT};
use proptest::prelude::*;

/// MESH's 11 Mb/s (2.698 ms a hop), and the segment of 1460 bytes.
const RATE_BPS: u64 = 11_000_000;
const OVERHEAD: Span = Span::from_micros(1_529);
const STEP: Span = Span::from_millis(100);

fn mac(node: u8) -> Mac {
    [2, 0, 0, 0, node, 0]
}

fn key() -> MeshKey {
    MeshKey::new(b"the routers of this mesh alone").unwrap()
}

fn policy(routes: Routes) -> NodePolicy {
    let limits = Policy::default();
    NodePolicy { limits, routes, overhead: Some(OVERHEAD), outside: Span::ZERO }
}

fn packet(from: u8, to: u8) -> Packet {
    let end = |last: u8| End { address: [10, 0, 0, last].into(), port: 5001 };
    Packet {
        source: end(0),
        destination: end(9),
        protocol: Protocol::Udp,
        source_mac: Some(mac(from)),
        destination_mac: Some(mac(to)),
        payload_bytes: 1_460,
        segment: None,
    }
}

/// Nodes in a row that hear those beside them; a flow goes from the first to the last.
struct Chain {
    nodes: Vec<MeshNode>,
    routes: Routes,
    now: Time,
    /// Nodes that say nothing and look no more.
    dead: Vec<bool>,
    blind: Vec<bool>,
    /// How busy the radio of each node tells that its channel was.
    busy: Vec<Option<f64>>,
}

impl Chain {
    fn new(length: u8, policy: &NodePolicy) -> Chain {
        let node = |node| MeshNode::new(mac(node), 1, key(), policy.clone(), Time::ZERO).unwrap();
        let nodes: Vec<MeshNode> = (0..length).map(node).collect();
        let (no, busy) = (vec![false; nodes.len()], vec![None; nodes.len()]);
        Chain { nodes, routes: policy.routes, now: Time::ZERO, dead: no.clone(), blind: no, busy }
    }

    fn sight(&self, node: u8) -> Sight {
        let last = self.nodes.len() as u8 - 1;
        let known = |node| Known { address: mac(node), rate_bps: Some(RATE_BPS), overhead: None };
        let beside = [node.checked_sub(1), Some(node + 1).filter(|next| *next <= last)];
        let next = |to: u8| if to < node { node - 1 } else { node + 1 };
        let others = (0..=last).filter(|to| *to != node);
        Sight {
            neighbours: beside.into_iter().flatten().map(known).collect(),
            paths: others.map(|to| (mac(to), mac(next(to)))).collect(),
            channel: 1,
            busy: self.busy[usize::from(node)],
            floods: self.routes == Routes::MeshPaths,
        }
    }

    fn send(&mut self) {
        let last = self.nodes.len() as u8 - 1;
        if self.routes == Routes::MeshPaths {
            // 802.11s forwards in between, unseen.
            self.nodes[0].on_packet(&packet(0, last), true);
            self.nodes[usize::from(last)].on_packet(&packet(0, last), false);
            return;
        }
        for node in 0..last {
            self.nodes[usize::from(node)].on_packet(&packet(node, node + 1), true);
            self.nodes[usize::from(node) + 1].on_packet(&packet(node, node + 1), false);
        }
    }

    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.now < until {
            self.now += STEP;
            self.send();
            let looks = self.now.as_nanos() % 1_000_000_000 == 0;
            for node in 0..self.nodes.len() {
                if self.dead[node] {
                    continue;
                }
                if looks {
                    let sight = self.sight(node as u8);
                    let blind = self.blind[node];
                    let seen = if blind { Err("no radio".to_owned()) } else { Ok(&sight) };
                    self.nodes[node].look(seen, self.now);
                }
                while let Some(message) = self.nodes[node].poll_message(self.now) {
                    self.spread(node, &message);
                }
            }
        }
    }

    /// 802.11s carries a message to all nodes, the air alone to those beside.
    fn spread(&mut self, from: usize, message: &[u8]) {
        for to in 0..self.nodes.len() {
            let beside = to.abs_diff(from) == 1;
            let comes = to != from && (beside || self.routes == Routes::MeshPaths);
            if comes && !self.dead[to] {
                let taken = self.nodes[to].on_message(message, self.now);
                assert!(beside || taken.is_err(), "{from} to {to}");
            }
        }
    }

    fn limits(&self) -> Vec<Option<u32>> {
        self.nodes.iter().map(MeshNode::limit).collect()
    }
}

/// B = 2 · 2.698 ms · 941.8 packets/s = 5.08 packets over two hops: by 1 to √2 they are 2.1 and 2.97. Over four hops
/// B = 10.16: MESH's 2, 2, 3, 3. The last router has what the last hop has.
#[test]
fn routers_in_a_row_find_the_papers_limits_either_way() {
    for routes in [Routes::MeshPaths, Routes::Packets] {
        for (length, expected) in [(3, vec![2, 3, 3]), (5, vec![2, 2, 3, 3, 3])] {
            let mut chain = Chain::new(length, &policy(routes));
            chain.run(Span::from_secs(8));
            let expected: Vec<_> = expected.into_iter().map(Some).collect();
            assert_eq!(chain.limits(), expected, "{routes:?}: {}", chain.nodes[1].why());
            let why = chain.nodes[1].why();
            assert!(why.contains("around 02:00:00:00:"), "{why}");
        }
    }
}

#[test]
fn a_router_that_dies_or_sees_nothing_leaves_others_without_limits() {
    for routes in [Routes::MeshPaths, Routes::Packets] {
        for dies in [true, false] {
            let mut chain = Chain::new(3, &policy(routes));
            chain.run(Span::from_secs(8));
            assert_ne!(chain.limits()[1], None);
            if dies {
                chain.dead[1] = true;
            } else {
                chain.blind[1] = true;
                chain.run(Span::from_secs(1));
                assert_eq!(chain.limits()[1], None, "its own limit is safe at once");
                assert_eq!(chain.nodes[1].why(), "no radio");
            }
            // It counts as silent, or its flow as idle; then its statement is missed; then a second for looks.
            chain.run(SILENT.max(policy(routes).limits.idle) + GRACE + Span::from_secs(3));
            let [first, _, last] = chain.limits()[..] else { unreachable!() };
            assert_eq!([first, last], [None; 2], "{routes:?}, dies {dies}");
            let why = chain.nodes[0].why();
            assert!(why.contains("a flow is not sized: 02:00:00:00:01:00 says nothing"), "{why}");
            // Back again, all is sized again, at the latest when statements are renewed.
            (chain.dead[1], chain.blind[1]) = (false, false);
            chain.run(crate::mesh::RENEWED + Span::from_secs(5));
            assert_eq!(chain.limits(), [2, 3, 3].map(Some), "{routes:?}, dies {dies}");
        }
    }
}

/// Stated beforehand, as for every change: all routers have their limits again within 5 s. Without asking, a router in the middle
/// of a path of 802.11s waits for the next renewal of the statements of others.
#[test]
fn a_router_that_starts_anew_asks_what_there_is() {
    for routes in [Routes::MeshPaths, Routes::Packets] {
        for restarted in 0..3 {
            let mut chain = Chain::new(3, &policy(routes));
            chain.run(Span::from_secs(8));
            let (own, policy) = (mac(restarted), policy(routes));
            chain.nodes[usize::from(restarted)] =
                MeshNode::new(own, 2, key(), policy, chain.now).unwrap();
            chain.run(Span::from_secs(5));
            assert_eq!(chain.limits(), [2, 3, 3].map(Some), "{routes:?}, {restarted}");
        }
    }
}

/// A mesh without flows is silent but for that: three messages of each router.
#[test]
fn a_router_asks_three_times_and_is_silent_then() {
    let mut node = MeshNode::new(mac(1), 1, key(), policy(Routes::MeshPaths), Time::ZERO).unwrap();
    let mut said = Vec::new();
    for tenth in 0..200 {
        let now = Time::ZERO + Span::from_millis(100 * tenth);
        node.look(Ok(&Sight::default()), now);
        said.extend(node.poll_message(now).map(|message| (now, message)));
    }
    assert_eq!(said.len(), 3);
    assert!(said[2].0 <= Time::ZERO + Span::from_secs(3), "{:?}", said[2].0);
    for (_, message) in said {
        let list = wire::decode(&message, &key()).unwrap().list.unwrap();
        assert_eq!((list.first, list.last), (RouterId(0), RouterId(u32::MAX)));
        assert!(message.len() < 100, "{} bytes", message.len());
    }
}

#[test]
fn a_flow_to_nobody_known_is_not_sized() {
    let mut chain = Chain::new(2, &policy(Routes::MeshPaths));
    for _ in 0..8 {
        // A bridged computer behind the other router.
        (0..50).for_each(|_| chain.nodes[0].on_packet(&packet(0, 77), true));
        chain.run(Span::from_secs(1));
    }
    assert_eq!(chain.limits()[0], None);
    assert!(chain.nodes[0].why().contains("does not know the rate"), "{}", chain.nodes[0].why());
}

#[test]
fn without_the_busy_time_that_bottlenecks_are_found_by_the_limit_is_safe() {
    let mut busy = policy(Routes::Packets);
    busy.limits.domains = DomainsBy::Busy;
    let mut chain = Chain::new(2, &busy);
    chain.run(Span::from_secs(8));
    assert_eq!(chain.limits(), [None; 2]);
    assert!(chain.nodes[0].why().contains("does not tell how busy"));
}

#[test]
fn the_last_busy_time_holds_for_ten_seconds() {
    let mut busy = policy(Routes::Packets);
    busy.limits.domains = DomainsBy::Busy;
    let mut chain = Chain::new(3, &busy);
    chain.busy = vec![Some(0.95); 3];
    chain.run(Span::from_secs(15));
    assert_eq!(chain.limits(), [2, 3, 3].map(Some), "{}", chain.nodes[1].why());
    assert!(chain.nodes[1].why().contains("is full (95 %)"), "{}", chain.nodes[1].why());
    // The radio scans, or its driver has nothing new.
    chain.busy[1] = None;
    chain.run(BUSY_HOLDS - Span::from_secs(1));
    assert_eq!(chain.limits(), [2, 3, 3].map(Some), "{}", chain.nodes[1].why());
    chain.run(Span::from_secs(1));
    assert_eq!(chain.limits()[1], None);
    assert!(chain.nodes[1].why().contains("does not tell how busy"), "{}", chain.nodes[1].why());
    chain.busy[1] = Some(0.95);
    chain.run(Span::from_secs(1));
    assert_ne!(chain.limits()[1], None, "{}", chain.nodes[1].why());
}

#[test]
fn what_is_no_flow_of_this_router_is_none() {
    let mut node = MeshNode::new(mac(1), 1, key(), policy(Routes::Packets), Time::ZERO).unwrap();
    let sight = Sight::default();
    let group = Packet { destination_mac: Some([0x33, 0x33, 0, 0, 0, 1]), ..packet(0, 1) };
    for second in 1..5 {
        for _ in 0..100 {
            node.on_packet(&group, true);
            node.on_packet(&packet(0, 2), false);
            node.on_packet(&Packet { payload_bytes: 0, ..packet(0, 1) }, false);
        }
        node.look(Ok(&sight), Time::ZERO + Span::from_secs(second));
    }
    assert_eq!((node.told.len(), node.why().as_str()), (0, "no flow is active"));
}

#[test]
fn a_rate_is_told_anew_when_its_mean_is_another() {
    let mut node = MeshNode::new(mac(1), 1, key(), policy(Routes::Packets), Time::ZERO).unwrap();
    let mut told = |rate_bps: u64| {
        let neighbours = vec![Known { address: mac(2), rate_bps: Some(rate_bps), overhead: None }];
        node.look(Ok(&Sight { neighbours, ..Sight::default() }), Time::ZERO);
        node.rates[&RouterId::of_mac(mac(2))].told.rate_bps
    };
    assert_eq!(told(54_000_000), 54_000_000);
    // One look in eight at another rate.
    for look in 0..80 {
        assert_eq!(told(if look % 8 == 0 { 6_000_000 } else { 54_000_000 }), 54_000_000);
    }
    let last = (0..40).map(|_| told(6_000_000)).last().unwrap();
    assert!((6_000_000..=7_500_000).contains(&last), "{last}");
}

/// The frames of 1534 and 74 bytes are 238.222 us of bits at 54 Mb/s.
#[test]
fn a_hop_has_the_overhead_of_its_link_unless_one_is_given() {
    let us = |micros| Some(Span::from_micros(micros));
    let node = |overhead| {
        let policy = NodePolicy { overhead, ..policy(Routes::Packets) };
        MeshNode::new(mac(1), 1, key(), policy, Time::ZERO).unwrap()
    };
    let told = |node: &mut MeshNode, overhead| {
        let neighbours = vec![Known { address: mac(2), rate_bps: Some(54_000_000), overhead }];
        node.look(Ok(&Sight { neighbours, ..Sight::default() }), Time::ZERO);
        node.rates[&RouterId::of_mac(mac(2))].told.round_trip_ns
    };
    assert_eq!(told(&mut node(None), us(333)), 571_222);
    assert_eq!(told(&mut node(None), None), 638_222);
    assert_eq!(told(&mut node(us(1_529)), us(333)), 1_767_222);
    // Frames of a kind with another overhead are told as another rate is: not the first of them, but their mean.
    let mut node = node(None);
    assert_eq!(told(&mut node, us(333)), 571_222);
    assert_eq!(told(&mut node, us(800)), 571_222);
    let last = (0..40).map(|_| told(&mut node, us(800))).last().unwrap();
    assert!((571_222 * 5 / 4..=1_038_222).contains(&last), "{last}");
}

proptest! {
    #[test]
    fn whatever_is_seen_and_said_is_bounded(
        routes in prop_oneof![Just(Routes::MeshPaths), Just(Routes::Packets)],
        frames in prop::collection::vec((any::<[u8; 2]>(), any::<bool>(), any::<u32>()), 0..400),
        paths in prop::collection::vec((0u8..6, 0u8..6), 0..20),
        rates in prop::collection::vec((0u8..6, any::<Option<u64>>()), 0..8),
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        busy in any::<Option<f64>>(),
    ) {
        let policy = NodePolicy { overhead: None, ..policy(routes) };
        let mut node = MeshNode::new(mac(1), 1, key(), policy, Time::ZERO).unwrap();
        let sight = Sight {
            neighbours: rates
                .iter()
                .map(|&(of, rate_bps)| {
                    let overhead = rate_bps.map(|any| Span::from_nanos(any as i64));
                    Known { address: mac(of), rate_bps, overhead }
                })
                .collect(),
            paths: paths.iter().map(|&(to, by)| (mac(to), mac(by))).collect(),
            channel: 1,
            busy,
            floods: true,
        };
        for second in 1..4 {
            let now = Time::ZERO + Span::from_secs(second);
            for &([from, to], leaves, payload_bytes) in &frames {
                node.on_packet(&Packet { payload_bytes, ..packet(from % 8, to % 8) }, leaves);
            }
            node.look(Ok(&sight), now);
            prop_assert!(node.on_message(&bytes, now).is_err());
            while node.poll_message(now).is_some() {}
            prop_assert!(node.told.len() <= MOST_TOLD);
            prop_assert!(node.limit().is_none_or(|packets| (1..=50).contains(&packets)));
            prop_assert!(!node.why().is_empty());
        }
    }
}
