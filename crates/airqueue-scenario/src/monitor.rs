//! What the manager of a network samples during the run, and the limits that the manager sets.

use super::error::{Result, error};
use super::messages::Messages;
use super::{Run, Scenario};
use airqueue_core::{Limit, Payload, Span};
use airqueue_network::network::{Hop, NetworkSpec, OfferedPacket, Traffic};
use airqueue_network::outcome::Outcome;
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::WlanSpec;
use airqueue_network::{FlowId, HopId, WireId};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::medium::{Signal, StationId};
use airqueue_wifi::phy::AccessCategory;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::iter::{once, repeat};

/// The observation points and limits of a scenario, for any of its replications.
#[derive(Clone, Debug)]
pub struct Monitor {
    stations: Vec<String>,
    /// Positions of the stations; empty where they do not matter.
    positions_m: Vec<[f64; 2]>,
    /// The queues of each station that flows feed, with the scenario's limits.
    queues: Vec<Vec<FedQueue>>,
    /// Pairs of stations that decode each other's frames.
    neighbours: Vec<[u32; 2]>,
    /// The flows with a hop over the air, with their places among all flows.
    flows: Vec<MonitoredFlow>,
    by_name: HashMap<String, usize>,
    messages: Messages,
    /// For each hop over the air, the scenario's limit of the queue of the hop's packets.
    usual: Vec<Limit>,
    /// The smallest limit of a queue that counts the packets that the MAC holds.
    least_limit: u32,
    /// Whether limits count the frame that the MAC holds, also where the queue itself does not.
    count_in_hand: bool,
}

/// A queue of a station that flows feed.
#[derive(Clone, Copy, Debug)]
struct FedQueue {
    ac: AccessCategory,
    /// The scenario's limit.
    usual: Limit,
    /// Whether the queue itself counts the packets that the MAC holds.
    counts_in_hand: bool,
}

/// A flow with a hop over the air.
#[derive(Clone, Debug)]
struct MonitoredFlow {
    id: FlowId,
    name: String,
    packet_bytes: u32,
    /// All routes of the flow, of its first lane.
    routes: Vec<MonitoredRoute>,
    /// All routes of its further lanes.
    lanes: Vec<MonitoredRoute>,
}

/// A route with a hop over the air.
#[derive(Clone, Debug)]
struct MonitoredRoute {
    /// The stations on the route, from first to last.
    route: Vec<u32>,
    /// Each hop over the air of the data, with that of the acknowledgements if there are any.
    hops: Vec<(HopId, Option<HopId>)>,
    /// The wires of the route and of the acknowledgements' route.
    wires: Vec<WireId>,
}

/// What a manager of a network knows before the run, and what never changes.
#[derive(Serialize, JsonSchema)]
pub(super) struct Map<'a> {
    /// Names of the stations.
    stations: &'a [String],
    /// Position of each station, x and y; empty where positions do not matter.
    positions_m: &'a [[f64; 2]],
    /// Number of packets that can wait in the queues of each station that flows feed; `null` where the limit is of
    /// another kind.
    limit_packets: Vec<Option<u64>>,
    /// Pairs of stations on the routes of flows, by index, that decode each other's frames.
    neighbours: &'a [[u32; 2]],
    /// The flows with a hop over the air.
    flows: Vec<MapFlow<'a>>,
}

/// Facts about a flow before the network runs.
#[derive(Serialize, JsonSchema)]
struct MapFlow<'a> {
    /// Name of the flow.
    name: &'a str,
    /// Size of the flow's largest IP packet.
    packet_bytes: u32,
    /// The stations on each route that the flow takes later.
    later: Vec<Vec<&'a str>>,
}

/// One sample of a network for its manager; sums are from the beginning of the warm-up on. Stations and flows are in
/// the order of the map.
#[derive(Serialize, JsonSchema)]
pub(super) struct Snapshot<'a> {
    /// Simulated time, warm-up included.
    now_s: f64,
    /// Time for which each station sensed the medium busy or transmitted.
    busy_s: Vec<f64>,
    /// The flows with a hop over the air.
    flows: Vec<FlowSnapshot<'a>>,
}

/// One sample of a flow.
#[derive(Serialize, JsonSchema)]
struct FlowSnapshot<'a> {
    /// IP bytes that have reached its destination.
    delivered_bytes: u64,
    /// Packets in a queue or in a MAC.
    in_transit_packets: u64,
    /// The stations on the present route, from the first to the last.
    route: Vec<&'a str>,
    /// Time that a packet and its acknowledgement take in wired links.
    elsewhere_s: f64,
    /// The hops between those stations.
    hops: Vec<HopSnapshot>,
}

/// The frames of a flow on a hop.
#[derive(Serialize, JsonSchema)]
struct HopSnapshot {
    /// Data rate of the flow's frames.
    rate_bps: f64,
    /// Mean time of a packet's exchange without contention.
    data_s: f64,
    /// Mean time of the exchange of TCP's acknowledgement; 0 without TCP.
    ack_s: f64,
}

impl Scenario {
    /// The monitor of this network.
    pub fn monitor(&self) -> Monitor {
        let spec = &self.spec;
        let radio = &spec.wlan;
        let mut fed: Vec<BTreeSet<AccessCategory>> = vec![BTreeSet::new(); radio.stations.len()];
        for hop in &radio.hops {
            fed[hop.from.index()].insert(hop.ac);
        }
        let queues = fed.into_iter().zip(&radio.stations).map(|(fed, station)| {
            let queue = |ac: AccessCategory| {
                let QueueSpec { limit: usual, counts_in_hand, .. } = station.queues[ac.index()];
                FedQueue { ac, usual, counts_in_hand }
            };
            fed.into_iter().map(queue).collect()
        });
        let flows: Vec<_> =
            (0..spec.flows.len()).filter_map(|at| monitored(spec, FlowId::at(at))).collect();
        let names = flows.iter().enumerate().map(|(at, flow)| (flow.name.clone(), at));
        let usual = radio.hops.iter();
        let usual = usual.map(|of| radio.stations[of.from.index()].queues[of.ac.index()].limit);
        Monitor {
            stations: self.names.stations.clone(),
            positions_m: self.places.iter().map(|place| [place.x_m, place.y_m]).collect(),
            queues: queues.collect(),
            neighbours: neighbours(spec),
            by_name: names.collect(),
            messages: self.messages.clone().unwrap_or_default(),
            usual: usual.collect(),
            least_limit: self.least_limit,
            count_in_hand: self.flow_limits_count_in_hand,
            flows,
        }
    }
}

/// Pairs of stations that decode each other, among the stations on routes of flows. The others do not matter to the
/// manager.
fn neighbours(spec: &NetworkSpec) -> Vec<[u32; 2]> {
    let WlanSpec { reach, hops, .. } = &spec.wlan;
    let passed: BTreeSet<StationId> = hops.iter().flat_map(|hop| [hop.from, hop.to]).collect();
    let mut pairs = Vec::new();
    for &from in &passed {
        let decoding = reach.listeners_of(from).iter().filter(|to| to.signal().decodable());
        for to in decoding.map(|to| to.station).filter(|to| from < *to && passed.contains(to)) {
            if reach.signal(to, from).is_some_and(Signal::decodable) {
                pairs.push([from.0, to.0]);
            }
        }
    }
    pairs
}

/// A flow, if the flow has a hop over the air.
fn monitored(spec: &NetworkSpec, id: FlowId) -> Option<MonitoredFlow> {
    let flow = &spec.flows[id.index()];
    let packet_bytes = spec.first_over_air(id)?.size_bytes;
    let back: &[Hop] = match &flow.traffic {
        Traffic::Tcp(tcp) => &tcp.back,
        Traffic::Answered { back, .. } => back,
        _ => &[],
    };
    let others =
        flow.others.iter().map(|monitored_route| (&*monitored_route.route, &*monitored_route.back));
    let routes = once((&*flow.route, back)).chain(others);
    let routes = routes.map(|(route, back)| monitored_route(spec, route, back)).collect();
    let lanes = flow.lanes().iter().flatten();
    let lanes = lanes.map(|of| monitored_route(spec, &of.route, &of.back)).collect();
    Some(MonitoredFlow { id, name: flow.name.clone(), packet_bytes, routes, lanes })
}

fn monitored_route(spec: &NetworkSpec, route: &[Hop], back: &[Hop]) -> MonitoredRoute {
    let on_air =
        |hops: &[Hop]| -> Vec<HopId> { hops.iter().filter_map(|hop| hop.over_air()).collect() };
    let (there, answers) = (on_air(route), on_air(back));
    let first = there.first().map(|&hop| spec.wlan.hops[hop.index()].from.0);
    let stations = there.iter().map(|&hop| spec.wlan.hops[hop.index()].to.0);
    let stations = first.into_iter().chain(stations).collect();
    let answers = answers.into_iter().rev().map(Some).chain(repeat(None));
    let hops = there.into_iter().zip(answers).collect();
    let wires = route.iter().chain(back).filter_map(|hop| match *hop {
        Hop::Air(_) => None,
        Hop::Wire(wire) => Some(wire),
    });
    MonitoredRoute { route: stations, hops, wires: wires.collect() }
}

impl MonitoredRoute {
    /// The hops, for data and for acknowledgements, on which a station sends; `None`: the route does not include the
    /// station.
    fn at(&self, station: usize) -> Option<[Option<HopId>; 2]> {
        let place = self.route.iter().position(|&passed| passed as usize == station)?;
        let there = self.hops.get(place).map(|&(there, _)| there);
        let back = place.checked_sub(1).and_then(|before| self.hops[before].1);
        Some([there, back])
    }
}

impl Monitor {
    /// The stations, the pairs that decode each other, and the flows over the air, as JSON.
    pub fn map(&self) -> String {
        let flows = self.flows.iter().map(|flow| MapFlow {
            name: &flow.name,
            packet_bytes: flow.packet_bytes,
            later: flow.routes[1..]
                .iter()
                .map(|monitored_route| self.passed(monitored_route))
                .collect(),
        });
        let map = Map {
            stations: &self.stations,
            positions_m: &self.positions_m,
            limit_packets: self.queues.iter().map(|of| self.limit_of(of)).collect(),
            neighbours: &self.neighbours,
            flows: flows.collect(),
        };
        serde_json::to_string(&map).expect("a map is JSON")
    }

    /// The names of the stations on a route.
    fn passed(&self, monitored_route: &MonitoredRoute) -> Vec<&str> {
        monitored_route.route.iter().map(|&at| self.stations[at as usize].as_str()).collect()
    }

    /// Number of packets that can wait in a station's queues; `None` where the limit is of another kind.
    fn limit_of(&self, queues: &[FedQueue]) -> Option<u64> {
        let packets = |queue: &FedQueue| match queue.usual {
            Limit::Packets(most) => Some(u64::from(most)),
            Limit::Bytes(_) => None,
        };
        let all: Option<Vec<u64>> = queues.iter().map(packets).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }

    /// The present state of a replication, as JSON: stations and flows in the order of [`Self::map`].
    pub fn snapshot<'a>(&'a self, run: &Run) -> String {
        let network = &run.network.model;
        let wlan = network.wlan();
        let now = run.now();
        let busy = |station| wlan.busy_ever(station, now).as_secs_f64();
        let in_transit = network.in_transit();
        let hop = |&(there, back): &(HopId, Option<HopId>)| HopSnapshot {
            rate_bps: wlan.data_rate(there).as_bps() as f64,
            data_s: wlan.lone_exchange(there).as_secs_f64(),
            ack_s: back.map_or(0.0, |back| wlan.lone_exchange(back).as_secs_f64()),
        };
        let flow = |flow: &'a MonitoredFlow| {
            let monitored_route = &flow.routes[network.route_of(flow.id).index()];
            let wires = monitored_route.wires.iter();
            let elsewhere = wires
                .fold(Span::ZERO, |sum, &wire| sum + network.wire_time(wire, flow.packet_bytes));
            FlowSnapshot {
                delivered_bytes: network.delivered_ever(flow.id).counters.bytes,
                in_transit_packets: in_transit[flow.id.index()],
                route: self.passed(monitored_route),
                elsewhere_s: elsewhere.as_secs_f64(),
                hops: monitored_route.hops.iter().map(hop).collect(),
            }
        };
        let snapshot = Snapshot {
            now_s: now.as_secs_f64(),
            busy_s: (0..self.stations.len() as u32).map(StationId).map(busy).collect(),
            flows: self.flows.iter().map(flow).collect(),
        };
        serde_json::to_string(&snapshot).expect("a snapshot is JSON")
    }

    /// Sets the limit of a station's queues, or of a flow's own queues there, for both directions; `None`: the
    /// scenario's limit. Packets already waiting stay. The limit counts packets as the scenario's behaviour does.
    ///
    /// # Errors
    ///
    /// If the station or the flow over the air does not exist, the flow does not pass the station, or the flow has no
    /// queue of its own there.
    pub fn set_limit(
        &self,
        run: &mut Run,
        station: &str,
        flow: Option<&str>,
        packets: Option<u32>,
    ) -> Result<()> {
        let found = self.stations.iter().position(|name| name == station);
        let at = found.ok_or_else(|| error("", format_args!("there is no station {station:?}")))?;
        let waiting = packets.map(|packets| Limit::Packets(self.waiting(packets)));
        match flow {
            None => {
                let Simulation { model, queue: events, .. } = &mut run.network;
                for &FedQueue { ac, usual, counts_in_hand } in &self.queues[at] {
                    let counted =
                        packets.map(|packets| Limit::Packets(packets.max(self.least_limit)));
                    let given = if counts_in_hand { counted } else { waiting };
                    model.set_limit(StationId(at as u32), ac, given.unwrap_or(usual), events);
                }
                Ok(())
            }
            Some(flow) => self.set_flow_limit(run, at, flow, waiting),
        }
    }

    /// The limit of a queue that counts only the packets that wait.
    fn waiting(&self, packets: u32) -> u32 {
        if self.count_in_hand { packets.saturating_sub(1).max(1) } else { packets }
    }

    /// Sends a message between two stations, by their places in the map, in an IP packet of this size. Its number comes
    /// out of [`Self::finished`] when it arrives or is lost. False: the stations do not exchange messages.
    pub fn send(&self, run: &mut Run, (from, to): (u32, u32), bytes: u32, number: u32) -> bool {
        let Some(flow) = self.messages.between(StationId(from), StationId(to)) else {
            return false;
        };
        let Simulation { model, queue, .. } = &mut run.network;
        model.offer(flow, OfferedPacket::new(bytes, Payload(number)), queue);
        true
    }

    /// The numbers of messages that have arrived, or been lost, since the last call, in order.
    pub fn finished(&self, run: &mut Run) -> Vec<(u32, bool)> {
        let number = |outcome| match outcome {
            Outcome::Delivered(packet) => (packet.payload.0, true),
            Outcome::Dropped(packet, _) | Outcome::Lost(packet) => (packet.payload.0, false),
        };
        run.network.model.outcomes().map(number).collect()
    }

    fn set_flow_limit(
        &self,
        run: &mut Run,
        station: usize,
        flow: &str,
        given: Option<Limit>,
    ) -> Result<()> {
        let nothing = |problem: &str| {
            let station = &self.stations[station];
            error("", format_args!("the flow {flow:?} {problem} at {station:?}"))
        };
        let place = self.by_name.get(flow).ok_or_else(|| nothing("is not on the air"))?;
        let MonitoredFlow { routes, lanes, .. } = &self.flows[*place];
        let mut passed = routes
            .iter()
            .chain(lanes)
            .filter_map(|monitored_route| monitored_route.at(station))
            .peekable();
        if passed.peek().is_none() {
            return Err(nothing("is not"));
        }
        // Includes packets that were sent on an earlier route and still wait there.
        let Simulation { model, queue: events, .. } = &mut run.network;
        for hop in passed.flatten().flatten() {
            let limit = given.unwrap_or(self.usual[hop.index()]);
            if !model.set_hop_limit(hop, limit, events) {
                return Err(nothing("has no queue for itself"));
            }
        }
        Ok(())
    }
}
