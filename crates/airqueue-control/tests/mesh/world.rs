//! Meshes as they are, and the limits that one who sees all of a mesh gives its routers.

use airqueue_control::mesh::sizing::{Domains, Flow, Link, Mesh};
use airqueue_control::mesh::{FlowNumber, Limits, LinkFacts, Policy, Queues, RouterId, Slot};
use airqueue_core::{RandomStream, Seed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const RATES: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// T_d-DATA + T_d-ACK of 802.11b roughly: overhead, and some 1,600 bytes at the link's rate.
pub fn facts(rate_bps: u64, channel: u8) -> LinkFacts {
    LinkFacts {
        rate_bps,
        round_trip_ns: (1_530_000 + 12_880_000_000_000 / rate_bps) as u32,
        channel,
    }
}

#[derive(Clone, Debug)]
pub struct WorldFlow {
    pub number: FlowNumber,
    pub route: Vec<usize>,
    pub demand_bps: Option<u64>,
    pub other_delay_us: u32,
}

#[derive(Clone, Debug, Default)]
pub struct World {
    pub nodes: usize,
    pub hears: BTreeSet<(usize, usize)>,
    pub links: BTreeMap<(usize, usize), LinkFacts>,
    pub flows: Vec<WorldFlow>,
}

pub fn id(node: usize) -> RouterId {
    RouterId(1_000 + node as u32)
}

impl World {
    pub fn link(&mut self, a: usize, b: usize, facts: LinkFacts) {
        self.hears.insert((a.min(b), a.max(b)));
        self.links.insert((a, b), facts);
        self.links.insert((b, a), facts);
    }

    pub fn flow(&mut self, route: Vec<usize>) {
        let number = FlowNumber(self.flows.iter().map(|flow| flow.number.0).max().unwrap_or(6) + 1);
        self.flows.push(WorldFlow { number, route, demand_bps: None, other_delay_us: 0 });
    }

    pub fn are_neighbours(&self, a: usize, b: usize) -> bool {
        self.hears.contains(&(a.min(b), a.max(b)))
    }

    /// The mesh of all flows, with the links in the routers' order.
    pub fn mesh(&self) -> Mesh {
        let hop =
            |flow: &WorldFlow| flow.route.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>();
        let used: BTreeSet<_> = self.flows.iter().flat_map(hop).collect();
        let used: Vec<_> = used.into_iter().collect();
        let link = |ends: &(usize, usize)| {
            let facts = self.links[ends];
            Link {
                sender: ends.0,
                receiver: ends.1,
                rate_bps: facts.rate_bps as f64,
                round_trip_s: f64::from(facts.round_trip_ns) / 1e9,
                channel: facts.channel,
            }
        };
        let flow = |flow: &WorldFlow| Flow {
            hops: hop(flow).iter().map(|ends| used.binary_search(ends).unwrap()).collect(),
            demand_bps: flow.demand_bps.map(|bps| bps as f64),
            other_delay_s: f64::from(flow.other_delay_us) / 1e6,
        };
        Mesh {
            nodes: self.nodes,
            hears: self.hears.iter().copied().collect(),
            links: used.iter().map(link).collect(),
            flows: self.flows.iter().map(flow).collect(),
        }
    }

    /// The limits of each router, by the global observer.
    pub fn observed(&self, policy: &Policy) -> Vec<Limits> {
        let mesh = self.mesh();
        let buffers = Domains::new(&mesh).unwrap().buffers(
            None,
            f64::from(policy.segment_bytes),
            policy.minimum_packets,
        );
        let mut limits = vec![Limits::new(); self.nodes];
        for (flow, buffers) in self.flows.iter().zip(buffers) {
            let last = *buffers.packets.last().unwrap();
            for (&node, packets) in flow.route.iter().zip(buffers.packets.into_iter().chain([last]))
            {
                let packets = packets.min(policy.unsized_packets);
                let slot = match policy.queues {
                    Queues::Node => Slot::Node,
                    Queues::Flow => Slot::Flow(flow.number),
                };
                let limit = limits[node].entry(slot).or_insert(0);
                *limit = packets.max(*limit);
            }
        }
        limits
    }
}

pub fn chain(hops: usize) -> World {
    let mut world = World { nodes: hops + 1, ..World::default() };
    (0..hops).for_each(|node| world.link(node, node + 1, facts(11_000_000, 1)));
    world.flow((0..=hops).collect());
    world
}

/// MESH Fig. 9a: flows that join a chain to a gateway 4, 5 and 6 hops away.
pub fn parking_lot(joins: &[usize]) -> World {
    let mut world = chain(*joins.iter().max().unwrap());
    world.flows.clear();
    joins.iter().for_each(|&hops| world.flow((0..=hops).rev().collect()));
    world
}

/// MESH Fig. 9b: arms that meet at a gateway, a flow inwards on each.
pub fn cross(hops: usize, arms: usize) -> World {
    let mut world = World { nodes: 1 + hops * arms, ..World::default() };
    for arm in 0..arms {
        let nodes: Vec<usize> =
            std::iter::once(0).chain((1..=hops).map(|i| arm * hops + i)).collect();
        nodes.windows(2).for_each(|w| world.link(w[0], w[1], facts(11_000_000, 1)));
        world.flow(nodes.into_iter().rev().collect());
    }
    world
}

pub fn papers() -> Vec<(&'static str, World)> {
    vec![
        ("chain of 1", chain(1)),
        ("chain of 3", chain(3)),
        ("chain of 4", chain(4)),
        ("chain of 10", chain(10)),
        ("parking lot", parking_lot(&[4, 5, 6])),
        ("cross", cross(5, 4)),
    ]
}

/// Routers at random places that hear each other within a range, links of random rates, and flows by shortest routes.
pub fn random(seed: u64) -> World {
    let mut draw = Seed(seed).stream("mesh");
    loop {
        let mut world = placed(&mut draw);
        for _ in 0..1 + draw.below(6) {
            let ends =
                (draw.below(world.nodes as u64) as usize, draw.below(world.nodes as u64) as usize);
            if let Some(route) = route(&world, ends.0, ends.1).filter(|route| route.len() > 1) {
                world.flow(route);
                let flow = world.flows.last_mut().unwrap();
                flow.demand_bps = draw.bernoulli(0.2).then(|| 50_000 * (1 + draw.below(20)));
                flow.other_delay_us =
                    if draw.bernoulli(0.3) { draw.below(60_000) as u32 } else { 0 };
            }
        }
        if !world.flows.is_empty() {
            return world;
        }
    }
}

fn placed(draw: &mut RandomStream) -> World {
    let nodes = 4 + draw.below(22) as usize;
    let side = (nodes as f64).sqrt() * 0.75;
    let places: Vec<_> = (0..nodes).map(|_| (draw.unit() * side, draw.unit() * side)).collect();
    let mut world = World { nodes, ..World::default() };
    for b in 0..nodes {
        for a in 0..b {
            if (places[a].0 - places[b].0).hypot(places[a].1 - places[b].1) <= 1.0 {
                let channel = if draw.bernoulli(0.1) { 2 } else { 1 };
                world.link(a, b, facts(RATES[draw.below(4) as usize], channel));
            }
        }
    }
    world
}

/// A shortest route.
pub fn route(world: &World, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut before = vec![None; world.nodes];
    let mut queue = VecDeque::from([from]);
    before[from] = Some(from);
    while let Some(node) = queue.pop_front() {
        for next in (0..world.nodes).filter(|&next| world.are_neighbours(node, next)) {
            if before[next].is_none() {
                before[next] = Some(node);
                queue.push_back(next);
            }
        }
    }
    let mut route = vec![to];
    while route[route.len() - 1] != from {
        route.push(before[route[route.len() - 1]]?);
    }
    route.reverse();
    Some(route)
}
