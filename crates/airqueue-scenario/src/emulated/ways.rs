//! The ways between real nodes: which nodes on a route are routers, and how large packets may be on each link.
//!
//! A node that forwards packets over the air alone is a bridge, as access points and mesh stations of IEEE 802.11 are. A
//! node that forwards packets from or to a wire is a router. Routers that are not real have flows of their own from and
//! to real nodes: packets that end at a router take the first part of a pair's route, and the router's own packets and
//! fragments take the last part; fragments for a later router take the part between the two.

use super::{FLOWS, MOST_FLOWS, MTU_BYTES, Pair, Passage, multiply};
use crate::file::File;
use airqueue_network::network::{FlowPart, Hop, NetworkSpec, Node};
use airqueue_network::{FlowId, HopId};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Flows between a router and a real node in each category.
const FLOWS_OF_ROUTERS: [u32; 2] = [1, 1];

/// The MTU of each host's wired link, in the order of hosts.
pub(super) fn mtus(file: &File) -> Vec<u32> {
    let of_table = |host: &crate::file::HostTable| {
        let mtu = host.mtu.as_ref().map_or(MTU_BYTES, |mtu| mtu.value);
        std::iter::repeat_n(mtu, host.members())
    };
    file.hosts.iter().flat_map(|host| of_table(host)).collect()
}

/// Removes the MTUs of wired links, which limit the flows that users write: packets of real programs have any size.
pub(super) fn remove_mtus(scenario: &mut Value) {
    remove(scenario, "hosts", "mtu");
}

/// Removes a key of all stations or hosts.
pub(super) fn remove(scenario: &mut Value, nodes: &str, key: &str) {
    let nodes = scenario.get_mut(nodes).and_then(Value::as_array_mut).into_iter().flatten();
    for node in nodes.filter_map(Value::as_object_mut) {
        node.remove(key);
    }
}

/// The nodes that real packets come to: the real nodes, then the routers that are not real.
pub(super) struct Ways {
    /// Names of all nodes of the network: stations and hosts.
    names: HashMap<Node, String>,
    /// Nodes by name.
    nodes: HashMap<String, Node>,
    /// The place of each real node and router.
    places: HashMap<Node, usize>,
    /// Names of the routers that are not real.
    pub(super) routers: Vec<String>,
    /// The hops of the other flows of each pair, by the hop of the pair's first flow.
    pub(super) copies: HashMap<HopId, Vec<HopId>>,
    real: usize,
    mtus: Vec<u32>,
}

/// The way of a pair.
struct Way {
    from: Node,
    to: Node,
    mtu_bytes: u32,
    /// The routers, each with the place of its hop in the route and the MTU of the link behind.
    routers: Vec<(Node, usize, u32)>,
}

impl Ways {
    pub(super) fn new<'a>(
        spec: &NetworkSpec,
        mtus: Vec<u32>,
        real: impl Iterator<Item = &'a str>,
    ) -> Ways {
        let stations = (0..).map(StationId).zip(&spec.wlan.stations);
        let stations = stations.map(|(id, of)| (Node::Station(id), of.name.clone()));
        // Each host has two wires, the first of them from the host.
        let hosts = (0..).zip(spec.wires.iter().step_by(2));
        let hosts = hosts.map(|(at, wire)| (Node::Host(at), ends(&wire.name).0.to_owned()));
        let names: HashMap<Node, String> = stations.chain(hosts).collect();
        let nodes: HashMap<String, Node> =
            names.iter().map(|(&node, name)| (name.clone(), node)).collect();
        let places: HashMap<Node, usize> =
            real.enumerate().map(|(at, name)| (nodes[name], at)).collect();
        let real = places.len();
        Ways { names, nodes, places, routers: Vec::new(), copies: HashMap::new(), real, mtus }
    }

    /// Adds the flows of pairs of real nodes, each beside its first flow, and the flows of routers.
    pub(super) fn pairs(
        &mut self,
        spec: &mut NetworkSpec,
        first: usize,
        pairs: &[(usize, usize)],
    ) -> Vec<Pair> {
        let most = (MOST_FLOWS / (pairs.len() * AccessCategory::ALL.len())).max(1) as u32;
        let flows: Vec<FlowId> = (first..first + pairs.len()).map(FlowId::at).collect();
        let ways: Vec<Way> = flows.iter().map(|&flow| self.way(spec, flow)).collect();
        let mut built = Vec::with_capacity(pairs.len());
        for (&flow, way) in flows.iter().zip(&ways) {
            let whole = FlowPart::whole(&spec.flows[flow.index()]);
            built.push(self.pair(spec, flow, way, &whole, FLOWS.map(|count| count.min(most))));
        }
        let mut known: HashSet<(Node, Node)> = ways.iter().map(|way| (way.from, way.to)).collect();
        for (&flow, way) in flows.iter().zip(&ways) {
            let length = spec.flows[flow.index()].route.len();
            for (place, &(router, at, mtu)) in way.routers.iter().enumerate() {
                let to = FlowPart { hops: 0..at, from: way.from, to: router };
                let back = FlowPart { hops: at..length, from: router, to: way.to };
                // Fragments may be fragmented again by a later router, or have used up their hop limit there.
                let further = way.routers[place + 1..].iter().filter(|_| mtu < MTU_BYTES);
                let further = further.map(|&(next, end, _)| FlowPart {
                    hops: at..end,
                    from: router,
                    to: next,
                });
                for part in [to, back].into_iter().chain(further) {
                    if known.insert((part.from, part.to)) {
                        built.push(self.pair(spec, flow, way, &part, FLOWS_OF_ROUTERS));
                    }
                }
            }
        }
        built
    }

    /// The flows of a part of a way.
    fn pair(
        &mut self,
        spec: &mut NetworkSpec,
        like: FlowId,
        way: &Way,
        part: &FlowPart,
        most: [u32; 2],
    ) -> Pair {
        let mut before = way.routers.iter().rev().filter(|(_, at, _)| *at <= part.hops.start);
        let mtu_bytes = before.next().map_or(way.mtu_bytes, |&(_, _, mtu)| mtu);
        let on_part = |at: usize| part.hops.start < at && at < part.hops.end;
        let routers = way.routers.iter().filter(|&&(_, at, _)| on_part(at));
        let routers = routers
            .map(|&(router, _, mtu_bytes)| Passage { router: self.place(router), mtu_bytes })
            .collect();
        Pair {
            from: self.place(part.from),
            to: self.place(part.to),
            flows: multiply(spec, like, part, most, &mut self.copies),
            mtu_bytes,
            routers,
        }
    }

    /// The place of a real node, or of a router, which gets one.
    fn place(&mut self, node: Node) -> usize {
        let Ways { places, routers, names, real, .. } = self;
        *places.entry(node).or_insert_with(|| {
            routers.push(names[&node].clone());
            *real + routers.len() - 1
        })
    }

    fn way(&self, spec: &NetworkSpec, flow: FlowId) -> Way {
        let flow = &spec.flows[flow.index()];
        let mtu = |hop: &Hop| match hop {
            Hop::Air(_) => MTU_BYTES,
            Hop::Wire(wire) => self.mtus[wire.index() / 2],
        };
        let on_air = |hop: &Hop| hop.over_air().is_some();
        let forwards = (1..flow.route.len())
            .filter(|&at| !(on_air(&flow.route[at - 1]) && on_air(&flow.route[at])));
        let routers = forwards
            .map(|at| (self.begin(spec, flow.route[at]), at, mtu(&flow.route[at])))
            .collect();
        Way { from: flow.from, to: flow.to, mtu_bytes: mtu(&flow.route[0]), routers }
    }

    /// The node from which a hop leads.
    fn begin(&self, spec: &NetworkSpec, hop: Hop) -> Node {
        match hop {
            Hop::Air(hop) => Node::Station(spec.wlan.hops[hop.index()].from),
            Hop::Wire(wire) => self.nodes[ends(&spec.wires[wire.index()].name).0],
        }
    }
}

/// The nodes at both ends of a wire, whose names have no `>`.
fn ends(wire: &str) -> (&str, &str) {
    wire.split_once("->").expect("wires are named after their ends")
}
