//! Scenarios in which some nodes are real: packets of real programs take the routes between these nodes.
//!
//! For each ordered pair of real nodes, flows with packets from outside are added behind the flows of the file, so that
//! the network is the simulated network in all other respects. A pair has many flows in each access category, since a
//! queue discipline that separates flows must see the flows of the programs. A flow of the file with packets from outside,
//! from one real node to another, describes the flows of this pair: their route, their rate, what their receiver reports.

mod ways;

use self::ways::Ways;
use super::changeable::Changeable;
use super::error::{Result, ScenarioError, error, hint, unreadable, wrong};
use super::figures::{Names, category};
use super::file::File;
use super::{Scenario, current};
use airqueue_core::keys::Table;
use airqueue_network::network::{FlowPart, NetworkSpec};
use airqueue_network::{FlowId, HopId};
use airqueue_wifi::phy::AccessCategory;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest number of real nodes.
pub const MOST_REAL_NODES: usize = 32;
/// Size of the largest packets between real nodes, in IP bytes.
pub const MTU_BYTES: u32 = 1500;
/// Flows of a pair in best effort, and in each other category, where there are few pairs.
const FLOWS: [u32; 2] = [64, 16];
/// Largest number of flows that are added for all pairs together, apart from one per pair and category.
const MOST_FLOWS: usize = 8192;

/// A scenario with real nodes.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// The scenario with the flows of all pairs. Its figures are those of the flows in the file.
    pub scenario: Scenario,
    /// The real nodes, in the order of the file: stations, then hosts.
    pub nodes: Vec<RealNode>,
    /// Names of the routers between real nodes that are not real themselves.
    pub routers: Vec<String>,
    /// The ordered pairs of different real nodes; then those with a router in `routers`: of a real node and
    /// a router, in both directions, and of two routers where the first may send fragments to the second.
    pub pairs: Vec<Pair>,
    pub(super) changeable: Changeable,
}

/// A node whose packets come from real programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealNode {
    /// Its name.
    pub name: String,
    /// Whether the node is a host with wired links only.
    pub wired: bool,
    /// Size of the largest packets on the links by which the node sends, in IP bytes.
    pub mtu_bytes: u32,
}

/// The flows from one node to another, and what happens to packets on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The node that sends: an index of [`Emulated::nodes`]; behind these come those of [`Emulated::routers`].
    pub from: usize,
    /// The node that receives.
    pub to: usize,
    /// The flows of each access category.
    pub flows: [Flows; 4],
    /// Size of the largest packets on the first link, in IP bytes.
    pub mtu_bytes: u32,
    /// The routers between the two nodes, in order.
    pub routers: Vec<Passage>,
}

/// A router on the way of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The router, as [`Pair::from`].
    pub router: usize,
    /// Size of the largest packets on the link behind the router, in IP bytes.
    pub mtu_bytes: u32,
}

/// A range of flows of equal routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// The first flow.
    pub first: FlowId,
    /// How many there are.
    pub count: u32,
}

impl Scenario {
    /// Reads a scenario as [`Scenario::from_json`] does, with packets of real programs between the nodes that the file
    /// marks as real and the nodes named here.
    pub fn emulated(text: &str, real: &[String]) -> Result<Emulated> {
        let mut value: Value = serde_json::from_str(text).map_err(|problem| error("", problem))?;
        let renamed = current(&mut value)?;
        let file = read(value.clone())?;
        // Changes may be of what only packets of real programs use.
        let base = Scenario::new(&File { changes: Vec::new(), ..read(value.clone())?.0 })?;
        let mut nodes = real_nodes(&file, real)?;
        let relay = relay(&file);
        let mut pairs = Vec::new();
        for from in 0..nodes.len() {
            pairs.extend((0..nodes.len()).filter(|&to| to != from).map(|to| (from, to)));
        }
        let mtus = ways::mtus(&file);
        ways::remove_mtus(&mut value);
        // With flows for all real nodes, what no flow uses nobody uses.
        ["stations", "hosts"].iter().for_each(|nodes| ways::remove(&mut value, nodes, "real"));
        let flows = value.as_object_mut().expect("a file that was read is a table");
        let flows = flows.entry("flows").or_insert_with(|| json!([]));
        let flows = flows.as_array_mut().expect("flows that were read are a list");
        let of_file = flows.clone();
        for &(from, to) in &pairs {
            if let Some(flow) = described(&of_file, &nodes[from].name, &nodes[to].name) {
                flows.push(flow);
                continue;
            }
            let via = relay.as_ref().and_then(|relay| relay.between(&nodes[from], &nodes[to]));
            flows.push(flow(&nodes[from].name, &nodes[to].name, via));
        }
        let written = file.flows.len();
        let file = read(value.clone())?;
        let mut scenario =
            Scenario::new(&file).map_err(|problem| of_pair(problem, written, &pairs, &nodes))?;
        let flows = base.names.flows.clone();
        scenario.names = Arc::new(Names { flows, ..Names::new(&scenario.spec) });
        let names = nodes.iter().map(|node| &*node.name);
        let mut ways = Ways::new(&scenario.spec, mtus, names);
        let first = base.spec.flows.len();
        let known = scenario.spec.changes.len();
        let pairs = ways.pairs(&mut scenario.spec, first, &pairs);
        let Ways { routers, copies, .. } = ways;
        for (at, node) in nodes.iter_mut().enumerate() {
            let own = pairs.iter().filter(|pair| pair.from == at).map(|pair| pair.mtu_bytes);
            node.mtu_bytes = own.min().unwrap_or(MTU_BYTES);
        }
        let changeable = Changeable::new(value, known, copies);
        let scenario = Scenario { renamed, ..scenario };
        Ok(Emulated { scenario, nodes, routers, pairs, changeable })
    }
}

pub(super) fn read(value: Value) -> Result<Table<File>> {
    serde_path_to_error::deserialize(value).map_err(unreadable)
}

/// The first flow of a pair, as a file has it.
fn flow(from: &str, to: &str, via: Option<&str>) -> Value {
    let mut flow = json!({
        "name": name(from, to),
        "from": from,
        "to": to,
        "source": "external",
        "size": format!("{MTU_BYTES} B"),
    });
    if let Some(via) = via {
        flow["via"] = json!([via]);
    }
    flow
}

/// The first flow of a pair, like that of the file, if the file has one with packets from outside.
fn described(flows: &[Value], from: &str, to: &str) -> Option<Value> {
    let keys = [("source", "external"), ("from", from), ("to", to)];
    let mut flow = flows.iter().find(|flow| keys.iter().all(|&(key, of)| flow[key] == of))?.clone();
    flow["name"] = name(from, to);
    flow["size"] = json!(format!("{MTU_BYTES} B"));
    Some(flow)
}

/// The name of a pair's first flow.
fn name(from: &str, to: &str) -> Value {
    json!(format!("real {from} to {to}"))
}

/// An error in an added flow is an error of its pair: the user has not written the flow.
fn of_pair(
    problem: ScenarioError,
    written: usize,
    pairs: &[(usize, usize)],
    nodes: &[RealNode],
) -> ScenarioError {
    let place = problem.key.strip_prefix("flows[").and_then(|rest| rest.split(']').next());
    let added =
        place.and_then(|at| at.parse::<usize>().ok()).and_then(|at| at.checked_sub(written));
    let Some(&(from, to)) = added.and_then(|at| pairs.get(at)) else {
        return problem;
    };
    let (from, to) = (&nodes[from].name, &nodes[to].name);
    error("", format_args!("between the real nodes {from:?} and {to:?}: {}", problem.problem))
}

/// Adds the flows of a part of a pair's route, `most` in best effort and in each other category: in each category that a
/// station on the part has a queue for. Their hops are noted among `copies`, by the hop of the pair's first flow.
fn multiply(
    spec: &mut NetworkSpec,
    like: FlowId,
    part: &FlowPart,
    most: [u32; 2],
    copies: &mut HashMap<HopId, Vec<HopId>>,
) -> [Flows; 4] {
    let separate = spec.has_categories(like);
    let flows = AccessCategory::ALL.map(|ac| {
        let best_effort = ac == AccessCategory::BEST_EFFORT;
        if !separate && !best_effort {
            return None;
        }
        let first = FlowId::at(spec.flows.len());
        let count = most[usize::from(!best_effort)];
        for n in 1..=count {
            let name = format!("{}, {} {n}", spec.flows[like.index()].name, category(ac));
            for (hop, copy) in spec.add_part(like, part, name, Some(ac)) {
                copies.entry(hop).or_default().push(copy);
            }
        }
        Some(Flows { first, count })
    });
    let best_effort = flows[AccessCategory::BEST_EFFORT.index()].expect("always used");
    flows.map(|flows| flows.unwrap_or(best_effort))
}

/// The nodes that are real.
fn real_nodes(file: &File, named: &[String]) -> Result<Vec<RealNode>> {
    let stations = file.stations.iter().map(|of| (&*of.name, of.count, of.real, false));
    let hosts = file.hosts.iter().map(|of| (&*of.name, of.count, of.real, true));
    let mut nodes = Vec::new();
    let mut unknown: Vec<&String> = named.iter().collect();
    for (name, count, real, wired) in stations.chain(hosts) {
        for member in members(name, count) {
            let is_named = |wanted: &&String| **wanted == member || **wanted == name;
            if real || named.iter().any(|wanted| is_named(&wanted)) {
                nodes.push(RealNode { name: member.clone(), wired, mtu_bytes: MTU_BYTES });
            }
            unknown.retain(|wanted| !is_named(wanted));
        }
    }
    if let Some(name) = unknown.first() {
        let hint = hint_of_nodes(file, name, &nodes);
        return wrong("", format_args!("there is no station, host or group {name:?}{hint}"));
    }
    match nodes.len() {
        0 | 1 => {
            let found = nodes.first().map_or("none is", |only| &*only.name);
            let only = if nodes.is_empty() { "" } else { " alone is" };
            let problem = format_args!(
                "{found}{only} real, and an emulation has two real nodes or more; set real = true at stations or hosts, \
                 or name nodes"
            );
            wrong("", problem)
        }
        count if count > MOST_REAL_NODES => {
            let problem =
                format_args!("found {count} real nodes, expected at most {MOST_REAL_NODES}");
            wrong("", problem)
        }
        _ => Ok(nodes),
    }
}

/// What may be meant by the name of a node that there is not: of many nodes those that are real.
fn hint_of_nodes(file: &File, name: &str, real: &[RealNode]) -> String {
    let stations = file.stations.iter().map(|of| &*of.name);
    let hint = hint(name, stations.chain(file.hosts.iter().map(|of| &*of.name)));
    if !hint.is_empty() || real.is_empty() {
        return hint;
    }
    let names: Vec<&str> = real.iter().map(|node| &*node.name).collect();
    format!("; real nodes are {}", names.join(", "))
}

/// The names of the members of a group, or the name of a single node.
fn members(name: &str, count: Option<u32>) -> Vec<String> {
    match count {
        None => vec![name.to_owned()],
        Some(count) => (1..=count).map(|member| format!("{name}{member}")).collect(),
    }
}

/// The access point of a network: stations reach each other through the access point, as in an infrastructure BSS.
struct Relay {
    station: String,
    /// The station of each host.
    station_of: HashMap<String, String>,
}

/// The access point, if one station alone has wired links and the file has no routing of its own.
fn relay(file: &File) -> Option<Relay> {
    if file.routing.is_some() {
        return None;
    }
    let mut station_of: HashMap<String, String> = HashMap::new();
    for host in &file.hosts {
        let station = station_of.get(&host.link).unwrap_or(&host.link).clone();
        for member in members(&host.name, host.count) {
            station_of.insert(member, station.clone());
        }
    }
    let station = station_of.values().next()?.clone();
    let alone = station_of.values().all(|other| *other == station);
    alone.then_some(Relay { station, station_of })
}

impl Relay {
    /// The access point, if packets between the two nodes are sent from one other station to another.
    fn between(&self, from: &RealNode, to: &RealNode) -> Option<&str> {
        let is_client = |node: &RealNode| {
            !self.station_of.contains_key(&node.name) && node.name != self.station
        };
        (is_client(from) && is_client(to)).then_some(&*self.station)
    }
}
