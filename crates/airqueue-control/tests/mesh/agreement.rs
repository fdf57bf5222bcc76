//! The same limits as the global observer's, soon after each change.

use crate::changes::change;
use crate::net::{Net, Node};
use crate::world::{self, World, facts, papers, random};
use airqueue_control::mesh::{DomainsBy, FlowReason, GRACE, Policy, Queues, SILENT, Slot, Unknown};
use airqueue_core::{Seed, Span};

/// Stated beforehand: with all messages and with 30 % of them lost.
const WITHIN: [(f64, Span); 2] = [(0.0, Span::from_secs(5)), (0.3, Span::from_secs(20))];

fn policies() -> [Policy; 2] {
    [Policy::default(), Policy { queues: Queues::Flow, ..Policy::default() }]
}

fn assert_agrees(name: &str, world: World, policy: &Policy, seed: u64) {
    for (loss, within) in WITHIN {
        let mut draw = Seed(seed).stream("changes");
        let mut net = Net::new(world.clone(), policy.clone(), loss, seed);
        let mut what = "start".to_owned();
        for _ in 0..4 {
            let took = net.converge(Span::from_secs(25));
            assert!(
                took <= within,
                "{name}, loss {loss}, after {what}: {took}, astray {:?} of {:?}",
                net.astray(),
                net.world,
            );
            what = change(&mut net.world, &mut draw);
            net.tell();
        }
    }
}

#[test]
fn on_the_papers_topologies() {
    for (i, (name, world)) in papers().into_iter().enumerate() {
        policies().iter().for_each(|policy| assert_agrees(name, world.clone(), policy, i as u64));
    }
}

/// Every second of a hundred, with the policy of its number. Two tests, which two processors share.
fn assert_random_meshes_agree(policy: usize) {
    for seed in (policy as u64..100).step_by(2) {
        assert_agrees(&format!("random mesh {seed}"), random(seed), &policies()[policy], seed);
    }
}

#[test]
fn on_random_meshes() {
    assert_random_meshes_agree(0);
}

#[test]
fn on_random_meshes_with_queues_of_flows() {
    assert_random_meshes_agree(1);
}

/// MESH section 6.1: 2, 2, 3, 3 packets on the chain of four hops.
#[test]
fn the_papers_limits() {
    let mut net = Net::new(world::chain(4), Policy::default(), 0.0, 1);
    net.run(Span::from_secs(5));
    let limits: Vec<_> = (0..5).map(|node| net.wanted(node)[&Slot::Node]).collect();
    assert_eq!(limits, [2, 2, 3, 3, 3]);
    let decision = net.routers[2].poll_decision(net.now).unwrap();
    assert_eq!(decision.changes, [(Slot::Node, Some(3))]);
    let reason = decision.reasons.values().next().unwrap();
    assert!(matches!(reason, FlowReason::Sized { inside: 4, hops: 4, packets: 3, .. }), "{reason}");
    assert_eq!(net.routers[2].poll_decision(net.now), None);
}

#[test]
fn flows_that_share_no_air_are_not_told_of_each_other() {
    let mut world = world::chain(3);
    for node in 4..7 {
        world.link(node, node + 1, facts(11_000_000, 1));
    }
    world.nodes = 8;
    world.flow((4..8).collect());
    // A router without flows hears both.
    world.nodes = 9;
    world.link(3, 8, facts(11_000_000, 1));
    world.link(4, 8, facts(11_000_000, 1));
    let mut both = Net::new(world, Policy::default(), 0.0, 1);
    both.run(Span::from_secs(30));
    assert_eq!(both.astray(), [0; 0]);
    assert_eq!(both.sent[8], (0, 0));
    for node in 0..8 {
        assert_eq!(both.routers[node].known_routers(), 4, "router {node}");
    }
}

#[test]
fn a_flow_that_sends_no_more_releases_its_queues() {
    let mut net = Net::new(world::chain(4), Policy::default(), 0.0, 1);
    net.run(Span::from_secs(5));
    for router in &mut net.routers {
        router.poll_decision(net.now).unwrap();
    }
    // Its packets end; the routes stay.
    net.world.flows.clear();
    net.run(Span::from_secs(9));
    assert!(net.routers.iter_mut().all(|router| router.poll_decision(net.now).is_none()));
    net.run(Span::from_secs(3));
    for router in &mut net.routers {
        assert_eq!(router.poll_decision(net.now).unwrap().changes, [(Slot::Node, None)]);
    }
    let before = net.sent.clone();
    net.run(Span::from_secs(60));
    assert_eq!(net.sent, before, "routers without flows say nothing");
}

#[test]
fn a_router_that_dies_leaves_the_others_with_safe_limits_and_comes_back() {
    for (loss, within) in WITHIN {
        let mut net = Net::new(
            world::parking_lot(&[2, 6]),
            Policy { queues: Queues::Flow, ..Policy::default() },
            loss,
            3,
        );
        net.run(within);
        assert_eq!(net.astray(), [0; 0]);
        let (short, long) = (net.world.flows[0].number, net.world.flows[1].number);
        net.nodes[4] = Node::Dead;
        net.run(SILENT + GRACE + within);
        for node in [0, 1, 2, 3, 5, 6] {
            let wanted = net.wanted(node);
            assert!(!wanted.contains_key(&Slot::Flow(long)), "router {node} keeps {wanted:?}");
            assert_eq!(wanted.contains_key(&Slot::Flow(short)), node <= 2, "router {node}");
        }
        net.restart(4, None);
        assert!(net.converge(Span::from_secs(25)) <= within);
    }
}

#[test]
fn a_start_with_an_old_boot_number_is_believed_when_the_old_one_is_forgotten() {
    let mut net = Net::new(world::chain(4), Policy::default(), 0.0, 3);
    net.restart(2, Some(7));
    net.run(Span::from_secs(5));
    assert_eq!(net.astray(), [0; 0]);
    net.nodes[2] = Node::Dead;
    net.run(Span::from_secs(3));
    net.restart(2, Some(7));
    // The same boot: messages count as replays until their numbers are larger than the last one before.
    net.run(Span::from_secs(60));
    assert_eq!(net.astray(), [0; 0]);
}

#[test]
fn a_router_that_says_nothing_leaves_its_flows_unsized_and_others_sized() {
    let mut world = world::parking_lot(&[2, 6]);
    world.nodes = 9;
    world.link(6, 7, facts(11_000_000, 1));
    world.link(7, 8, facts(11_000_000, 1));
    let mut net = Net::new(world, Policy { queues: Queues::Flow, ..Policy::default() }, 0.0, 3);
    net.nodes[4] = Node::Silent;
    net.run(Span::from_secs(20));
    let (short, long) = (net.world.flows[0].number, net.world.flows[1].number);
    let why = |node: usize| net.routers[node].reasons()[&long];
    assert_eq!(why(5), FlowReason::Unknown(Unknown::Silent(world::id(4))));
    // Behind it nobody hears of the source.
    assert_eq!(why(3), FlowReason::Unknown(Unknown::Source));
    let limits = net.wanted(1);
    assert!(limits.contains_key(&Slot::Flow(short)) && !limits.contains_key(&Slot::Flow(long)));
}

#[test]
fn a_link_that_goes_up_and_down_has_the_larger_limit_meanwhile() {
    let mut net = Net::new(world::chain(4), Policy::default(), 0.0, 3);
    net.world.links.insert((1, 2), facts(1_000_000, 1));
    net.tell();
    net.run(Span::from_secs(5));
    let slow = net.wanted(1)[&Slot::Node];
    let mut least = Vec::new();
    for turn in 0..6 {
        let rate = if turn % 2 == 0 { 11_000_000 } else { 1_000_000 };
        net.world.links.insert((1, 2), facts(rate, 1));
        net.tell();
        net.run(Span::from_secs(5));
        assert_eq!(net.astray(), [0; 0], "what is computed follows the link");
        least.push(net.routers[1].limits().0[&Slot::Node]);
    }
    assert!(least.iter().all(|&limit| limit > slow), "{least:?} after {slow}");
    net.run(Span::from_secs(35));
    assert_eq!(net.routers[1].limits().0[&Slot::Node], slow);
}

#[test]
fn full_media_decide_where_the_bottleneck_is() {
    let policy = Policy { domains: DomainsBy::Busy, ..Policy::default() };
    let mut net = Net::new(world::chain(8), policy, 0.0, 3);
    let inside = |net: &mut Net| {
        let found = net.routers.iter_mut().map(|router| {
            let decision = router.poll_decision(net.now)?;
            let reason = decision.reasons.into_values().next();
            reason.map(|reason| match reason {
                FlowReason::Sized { centre, full, .. } => (centre, full),
                FlowReason::Unknown(why) => panic!("{why}"),
            })
        });
        found.flatten().collect::<std::collections::BTreeSet<_>>()
    };
    net.run(Span::from_secs(5));
    assert!(inside(&mut net).iter().all(|(centre, _)| *centre == (world::id(2), world::id(3))));
    for _ in 0..25 {
        for node in 0..9 {
            let busy = if node == 0 { 0.95 } else { 0.6 };
            net.routers[node].on_busy(busy, net.now).unwrap();
        }
        net.run(Span::from_secs(1));
    }
    let all = inside(&mut net);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all.first(), Some(&((world::id(0), world::id(1)), true)));
}
