//! What neighbours can do that lie, repeat, shout, or do not know the key.

use crate::messages::statement;
use crate::net::{Net, Node, key};
use crate::world::{self, World, facts, id, random};
use airqueue_control::mesh::wire::{List, Message, Told, encode};
use airqueue_control::mesh::{
    BURST, BYTES_PER_S, GRACE, INTERVAL, LIFETIME, MOST_BYTES, MOST_ROUTERS, MeshKey, Neighbour,
    Policy, Queues, Refused, Router, RouterId, SILENT, Stamp, Statement,
};
use airqueue_core::{RandomStream, Seed, Span, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestRng, TestRunner};

/// A mesh with a node more, which hears all others and has no flow of its own.
fn with_liar(mut world: World) -> World {
    let liar = world.nodes;
    world.nodes += 1;
    (0..liar).for_each(|node| world.link(node, liar, facts(11_000_000, 1)));
    world
}

/// Makes statements about itself, others, and routers that there are not.
struct Liar {
    node: usize,
    sequence: u32,
    runner: TestRunner,
    draw: RandomStream,
}

impl Liar {
    fn new(node: usize, seed: u64) -> Liar {
        let rng = TestRng::from_seed(
            proptest::test_runner::RngAlgorithm::ChaCha,
            &Seed(seed).bytes("lies"),
        );
        let runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
        Liar { node, sequence: 0, runner, draw: Seed(seed).stream("liar") }
    }

    /// A statement with the numbers of this mesh's routers and flows, where there would be others.
    fn lie(&mut self, net: &Net) -> Told {
        let about = self.draw.below(net.world.nodes as u64) as usize;
        let mut said = statement(8).new_tree(&mut self.runner).unwrap().current();
        let nodes = net.world.nodes as u64;
        let offset = self.draw.below(nodes);
        let name = |i: usize| id(((offset + i as u64) % nodes) as usize);
        let old: Vec<RouterId> = said.neighbours.iter().map(|neighbour| neighbour.id).collect();
        let new = |of: RouterId| name(old.iter().position(|id| *id == of).unwrap());
        if old.len() < net.world.nodes && !old.iter().any(|of| new(*of) == id(about)) {
            said.neighbours.iter_mut().for_each(|neighbour| neighbour.id = new(neighbour.id));
            said.links.iter_mut().for_each(|(to, _)| *to = new(*to));
            for (i, (number, hop)) in said.flows.iter_mut().enumerate() {
                number.0 = 7 + i as u32;
                hop.previous = hop.previous.map(new);
                hop.next = hop.next.map(new);
            }
            said.neighbours.sort();
            said.links.sort_by_key(|(to, _)| *to);
        }
        let boot = if self.draw.bernoulli(0.3) { u32::MAX } else { 1 + self.draw.below(3) as u32 };
        let version = if self.draw.bernoulli(0.3) { u32::MAX } else { self.draw.below(50) as u32 };
        let age_s = self.draw.below(2) as u32;
        Told { router: id(about), stamp: Stamp { boot, version }, age_s, statement: said }
    }

    fn speak(&mut self, net: &mut Net) {
        self.sequence += 1;
        let statements = (0..3).map(|_| self.lie(net)).collect();
        let stamps = vec![(id(0), Stamp { boot: u32::MAX, version: u32::MAX })];
        let list = List { first: id(0), last: RouterId(u32::MAX), stamps };
        let list = self.draw.bernoulli(0.3).then_some(list);
        let digest = self.draw.next_u64();
        let message = Message {
            sender: id(self.node),
            boot: 1,
            sequence: self.sequence,
            digest,
            statements,
            list,
        };
        net.broadcast(self.node, &encode(&message, &key()));
    }
}

fn assert_within_bounds(net: &Net) {
    for (node, router) in net.routers.iter().enumerate() {
        let (limits, held) = router.limits();
        for (slot, packets) in limits.iter().chain(held) {
            let bounds = net.policy.minimum_packets..=net.policy.unsized_packets;
            assert!(bounds.contains(packets), "{slot:?} of node {node} has {packets}");
        }
        assert!(router.known_routers() <= MOST_ROUTERS);
    }
}

#[test]
fn a_liar_moves_limits_between_one_packet_and_the_safe_limit_until_it_is_forgotten() {
    for seed in 0..12 {
        let queues = if seed % 2 == 0 { Queues::Flow } else { Queues::Node };
        let policy = Policy { queues, ..Policy::default() };
        let world =
            with_liar(if seed == 0 { world::parking_lot(&[4, 5, 6]) } else { random(seed) });
        let node = world.nodes - 1;
        let mut net = Net::new(world, policy, 0.0, seed);
        let mut liar = Liar::new(node, seed);
        net.nodes[node] = Node::Silent;
        for _ in 0..200 {
            liar.speak(&mut net);
            net.run(Span::from_millis(200));
            assert_within_bounds(&net);
        }
        net.nodes[node] = Node::Dead;
        // Statements with the latest stamp that there is are not outdone, but come to their end.
        net.run(LIFETIME + SILENT + GRACE);
        net.run(Span::from_secs(20));
        assert_eq!(net.astray(), [0; 0], "seed {seed}");
    }
}

/// Fake routers that hear each other fill the table, and nothing else.
#[test]
fn a_crowd_of_routers_that_there_are_not_fills_a_bounded_table() {
    let world = with_liar(world::chain(4));
    let liar = world.nodes - 1;
    let mut net = Net::new(world, Policy::default(), 0.0, 1);
    net.nodes[liar] = Node::Silent;
    let flows = |net: &Net| {
        net.world.flows.iter().map(|flow| (flow.number, Default::default())).collect::<Vec<_>>()
    };
    for round in 0..200u32 {
        let fake = |i: u32| RouterId(5_000 + (round * 8 + i) % 400);
        let hears = |from: u32| {
            let mut ids: Vec<_> =
                (1..9).map(|i| RouterId(5_000 + (from - 5_000 + i) % 400)).collect();
            ids.sort();
            ids.into_iter().map(|id| Neighbour { id, heard: true }).collect::<Vec<_>>()
        };
        let stamp = Stamp { boot: 1, version: 1 };
        let mut hop = flows(&net);
        let statements = (0..8).map(|i| {
            let neighbours = hears(fake(i).0);
            hop[0].1 =
                airqueue_control::mesh::Hop { next: Some(neighbours[0].id), ..Default::default() };
            let said = Statement { neighbours, flows: hop.clone(), ..Statement::default() };
            Told { router: fake(i), stamp, statement: said, ..Told::default() }
        });
        let mut statements: Vec<_> = statements.collect();
        let neighbours = vec![Neighbour { id: fake(0), heard: true }];
        hop[0].1 = airqueue_control::mesh::Hop { next: Some(fake(0)), ..Default::default() };
        let own = Statement { neighbours, flows: hop, ..Statement::default() };
        let stamp = Stamp { boot: 1, version: round };
        statements.push(Told { router: id(liar), stamp, statement: own, ..Told::default() });
        let message = Message {
            sender: id(liar),
            boot: 1,
            sequence: round + 1,
            digest: 1,
            statements,
            list: None,
        };
        let bytes = encode(&message, &key());
        assert!(bytes.len() <= MOST_BYTES);
        net.broadcast(liar, &bytes);
        net.run(Span::from_millis(200));
        assert_within_bounds(&net);
    }
    assert!(net.routers[0].known_routers() > MOST_ROUTERS / 2, "the fakes came in");
    net.nodes[liar] = Node::Dead;
    net.run(Span::from_secs(60));
    assert_eq!(net.astray(), [0; 0]);
    assert_eq!(net.routers[0].known_routers(), 5);
}

/// The budget of bytes holds whatever a neighbour says, but for what shows that a router is there.
#[test]
fn nobody_makes_a_router_talk_without_end() {
    let world = with_liar(world::cross(5, 4));
    let node = world.nodes - 1;
    let mut net = Net::new(world, Policy::default(), 0.0, 5);
    let mut liar = Liar::new(node, 5);
    net.nodes[node] = Node::Silent;
    let seconds = 120;
    for _ in 0..seconds * 10 {
        liar.speak(&mut net);
        net.run(Span::from_millis(100));
    }
    let empty = encode(&Message::default(), &key()).len() as i64;
    let burst = BURST.as_nanos() / 1_000_000_000;
    let hellos = empty * seconds * 4 / 3 * 1_000_000_000 / INTERVAL.as_nanos();
    let most = BYTES_PER_S * (seconds + burst) + hellos + MOST_BYTES as i64;
    for (node, (bytes, _)) in net.sent.iter().enumerate() {
        assert!((*bytes as i64) <= most, "node {node} sent {bytes}, at most {most}");
    }
    // It asks for attention as often as there is something to do, not at every moment.
    assert!(net.steps < 40 * 10 * seconds as u64 * net.world.nodes as u64, "{}", net.steps);
}

#[test]
fn without_the_key_nobody_is_heard() {
    let mut net = Net::new(world::chain(4), Policy::default(), 0.0, 1);
    net.run(Span::from_secs(5));
    let before: Vec<_> = (0..5).map(|node| net.wanted(node)).collect();
    let other = MeshKey::new(b"a key of somebody else").unwrap();
    let stamp = Stamp { boot: 9, version: 9 };
    let statements = vec![Told { router: id(3), stamp, ..Told::default() }];
    let message = Message { sender: id(3), boot: 9, sequence: 1, statements, ..Message::default() };
    for node in [2, 4] {
        let refused = net.routers[node].on_message(id(3), &encode(&message, &other), net.now);
        assert!(matches!(refused, Err(Refused::Malformed(_))));
    }
    net.run(Span::from_secs(20));
    assert_eq!((0..5).map(|node| net.wanted(node)).collect::<Vec<_>>(), before);
}

#[test]
fn old_and_reflected_messages_are_refused() {
    let router = |n| Router::new(RouterId(n), 1, key(), Policy::default()).unwrap();
    let mut b = router(2);
    let now = Time::ZERO + Span::from_secs(1);
    let bytes = |from: u32, sequence| {
        encode(&Message { sender: RouterId(from), boot: 1, sequence, ..Message::default() }, &key())
    };
    assert_eq!(b.on_message(RouterId(1), &bytes(1, 5), now), Ok(()));
    for old in [5, 4] {
        assert_eq!(
            b.on_message(RouterId(1), &bytes(1, old), now),
            Err(Refused::Replayed(RouterId(1)))
        );
    }
    assert_eq!(b.on_message(RouterId(1), &bytes(1, 6), now), Ok(()));
    assert_eq!(b.on_message(RouterId(2), &bytes(2, 1), now), Err(Refused::Own));
    let refused = Refused::Sender { said: RouterId(1), from: RouterId(3) };
    assert_eq!(b.on_message(RouterId(3), &bytes(1, 7), now), Err(refused));
}

#[test]
fn impossible_inputs_are_named() {
    let mut router = Router::new(RouterId(2), 1, key(), Policy::default()).unwrap();
    let no_rate = airqueue_control::mesh::LinkFacts { rate_bps: 0, round_trip_ns: 1, channel: 1 };
    assert!(router.on_link(RouterId(1), Some(no_rate), Time::ZERO).is_err());
    let hop = airqueue_control::mesh::Hop { next: Some(RouterId(2)), ..Default::default() };
    assert!(router.on_route(airqueue_control::mesh::FlowNumber(1), Some(hop), Time::ZERO).is_err());
    assert!(router.on_busy(f64::NAN, Time::ZERO).is_err());
    let wrong = Policy { unsized_packets: 0, ..Policy::default() };
    assert_eq!(Router::new(RouterId(2), 1, key(), wrong).unwrap_err().key, "unsized_packets");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever inputs come in whatever order, limits stay within their bounds, and deadlines lie ahead.
    #[test]
    fn any_inputs(
        inputs in prop::collection::vec((0..6u8, any::<u32>(), statement(6), 0..3_000i64), 1..60)
    ) {
        let mut router = Router::new(RouterId(1), 1, key(), Policy::default()).unwrap();
        let mut now = Time::ZERO;
        for (sequence, (kind, number, said, late_ms)) in inputs.into_iter().enumerate() {
            now += Span::from_millis(late_ms);
            match kind {
                0 => said.links.iter().for_each(|(to, facts)| {
 let _ = router.on_link(*to, Some(*facts), now);
 }),
                1 => said.flows.iter().for_each(|(flow, hop)| {
 let _ = router.on_route(*flow, Some(*hop), now);
 }),
                2 => said.flows.iter().for_each(|(flow, _)| router.on_active(*flow, now)),
                3 => drop(router.on_busy(f64::from(number % 101) / 100.0, now)),
                _ => {
                    let sender = said.neighbours[0].id;
                    let stamp = Stamp { boot: number, version: 0 };
                    let statements = vec![Told { router: sender, stamp, statement: said, ..Told::default() }];
                    let message =
                        Message { sender, boot: 1, sequence: sequence as u32, statements, ..Message::default() };
                    let _ = router.on_message(sender, &encode(&message, &key()), now);
                }
            }
            router.on_time(now);
            while router.poll_message(now).is_some() {}
            router.poll_decision(now);
            prop_assert!(router.limits().0.values().all(|packets| (1..=50).contains(packets)));
            prop_assert!(router.next_deadline(now).is_none_or(|at| at > now));
        }
    }
}
