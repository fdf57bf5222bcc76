//! The flows of a scenario: a flow between groups becomes one flow per member.

use super::capacity::{SaturatedBacklog, check_capacity};
use super::error::{Result, error, hint, wrong};
use super::file::FlowTable;
use super::nodes::{Leg, Nodes, back};
use super::pacing::{adaptive_pacing, tcp_ap};
use super::radio_hops::{FlowRates, HopRequest, RadioHops};
use super::route_checks::{check_air_keys, check_pace, check_source, check_to_all, check_wire};
use super::routes::Routes;
use super::source::{
    Packets, carried, check_starts, has_own_starts, offset, report, spread, start,
};
use super::tcp::{layers, tcp_flow};
use airqueue_core::{Ecn, Span};
use airqueue_network::network::{AlternateRoute, Answers, FlowSpec, Hop, Traffic};
use airqueue_network::wlan::HopSpec;
use airqueue_network::{FlowId, HopId};
use airqueue_transport::tcp::{Pacing, TcpSpec};
use airqueue_transport::traffic::{
    Arrivals, Call, Carried, Frames, Load, PACKET_BYTES, SourceSpec,
};
use std::cell::RefCell;
use std::collections::HashSet;
use std::iter::repeat_n;

/// The value of `to` that means all stations in range. It is no station's name.
pub(super) const TO_ALL: &str = "*";
/// Largest number of flows.
const MOST_FLOWS: usize = 100_000;
/// Largest number of hops over the air of all flows together, both directions included.
const MOST_HOPS: usize = 1_000_000;

/// The inputs from which flows are built.
pub(super) struct Flows<'a> {
    pub(super) radio_hops: &'a RadioHops<'a>,
    pub(super) nodes: &'a Nodes<'a>,
    /// Finds the routes of flows that do not name their route.
    routes: Option<RefCell<Routes<'a>>>,
}

/// The flows of a network, their hops over the air, and the flows that are calls.
#[derive(Default)]
pub(super) struct BuiltFlows {
    pub(super) flows: Vec<FlowSpec>,
    pub(super) hops: Vec<HopSpec>,
    /// The first hops of saturated flows.
    pub(super) saturated: HashSet<usize>,
    pub(super) calls: Vec<(FlowId, Call)>,
    /// The flows of pictures, and after which time a picture is late.
    pub(super) pictures: Vec<(FlowId, Span)>,
    /// The origin of each flow in the file.
    pub(super) origins: Vec<Origin>,
}

/// The origin of a flow in the file.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    /// The place of the flow's table.
    pub(super) table: usize,
    pub(super) flow_rates: FlowRates,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl BuiltFlows {
    /// The place of the flow that a key `flow` names.
    pub(super) fn find(&self, key: &str, name: &str) -> Result<usize> {
        self.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
            let hint = hint(name, self.flows.iter().map(|flow| flow.name.as_str()));
            error(format_args!("{key}.flow"), format_args!("there is no flow {shown:?}{hint}"))
        })
    }
}

/// A flow whose hops are being built.
pub(super) struct FlowDraft<'a> {
    pub(super) key: &'a str,
    pub(super) table: &'a FlowTable,
    /// The names of the relaying stations, if they are given.
    pub(super) via: Option<&'a [String]>,
    pub(super) flow_rates: FlowRates,
    pub(super) name: String,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The packets on a route.
#[derive(Clone, Copy, Debug)]
struct Carries {
    /// Size of the largest packets, in IP bytes.
    size_bytes: u32,
    role: Role,
}

/// The role of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The only packets of a flow without TCP.
    Own,
    /// TCP data.
    Data,
    /// TCP acknowledgements.
    Acknowledgements,
}

impl<'a> Flows<'a> {
    pub(super) fn new(
        radio_hops: &'a RadioHops<'a>,
        nodes: &'a Nodes<'a>,
        routes: Option<Routes<'a>>,
    ) -> Flows<'a> {
        Flows { radio_hops, nodes, routes: routes.map(RefCell::new) }
    }

    /// All flows.
    pub(super) fn all(&self) -> Result<BuiltFlows> {
        let mut built = BuiltFlows::default();
        let (mut names, mut kept) = (HashSet::new(), SaturatedBacklog::default());
        for (at, table) in self.radio_hops.file.flows.iter().enumerate() {
            let key = format!("flows[{at}]");
            let (first, first_hop) = (built.flows.len(), built.hops.len());
            check_name(&key, table)?;
            self.add(at, &key, table, &mut built)?;
            for flow in &built.flows[first..] {
                if !names.insert(flow.name.clone()) {
                    let problem = format_args!("a flow before it is called {:?} too", flow.name);
                    return wrong(format_args!("{key}.name"), problem);
                }
            }
            self.check_capacities(&key, &built, first_hop, &mut kept)?;
        }
        Ok(built)
    }

    /// Checks that the queues have room for the hops from `first` on.
    pub(super) fn check_capacities(
        &self,
        key: &str,
        built: &BuiltFlows,
        first: usize,
        kept: &mut SaturatedBacklog,
    ) -> Result<()> {
        (first..built.hops.len()).try_for_each(|at| {
            let (hop, saturated) = (&built.hops[at], built.saturated.contains(&at));
            let station = &self.radio_hops.stations.specs[hop.from.index()];
            check_capacity(
                key,
                &station.name,
                &station.queues[hop.ac.index()],
                hop,
                saturated,
                kept,
            )
        })
    }

    fn add(
        &self,
        place: usize,
        key: &str,
        table: &FlowTable,
        built: &mut BuiltFlows,
    ) -> Result<()> {
        let pairs = self.pairs(key, table)?;
        let count = pairs.len();
        if count > MOST_FLOWS - built.flows.len() {
            let flows = built.flows.len() + count;
            return wrong(
                key,
                format_args!("with it there are {flows} flows, more than {MOST_FLOWS}"),
            );
        }
        check_starts(key, table, count)?;
        let carried = carried(key, table)?;
        let flow_rates = self.radio_hops.flow_rates(key, table)?;
        let first = built.flows.len();
        if let Carried::Packets { source, .. } = carried
            && let Arrivals::Frames(Frames { deadline, .. }) = source.arrivals
        {
            let flows = (first..first + count).map(FlowId::at);
            built.pictures.extend(flows.map(|flow| (flow, deadline)));
        }
        if let Carried::Packets { call: Some(call), .. } = carried {
            let flows = (first..first + count).map(FlowId::at);
            built.calls.extend(flows.map(|flow| (flow, call)));
        }
        for (at, (from, to)) in pairs.into_iter().enumerate() {
            let name = self.name(table, at, count, from, to);
            let via = table.via.as_deref();
            let draft = FlowDraft { key, table, via, flow_rates, name, from, to };
            built.origins.push(Origin { table: place, flow_rates, from, to });
            let (route, traffic) = self.traffic(&draft, carried, (at, count), built)?;
            let (from, to) = (self.nodes.node(from), self.nodes.node(to));
            let (spread, others) = (spread(key, table)?, Vec::new());
            built.flows.push(FlowSpec {
                name: draft.name,
                from,
                to,
                route,
                others,
                traffic,
                dscp: table.dscp.map_or(0, |dscp| dscp.0),
                spread,
            });
        }
        Ok(())
    }

    /// The hops and the traffic of flow `at` of `count` flows.
    fn traffic(
        &self,
        draft: &FlowDraft<'_>,
        carried: Carried,
        (at, count): (usize, usize),
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Traffic)> {
        let (source, size_bytes) = match carried {
            Carried::Tcp(load) => return self.tcp(draft, (load, at), built),
            Carried::Answered { source, answer_bytes } => {
                let source = begun(draft.table, source, at, count);
                return self.answered(draft, source, answer_bytes, built);
            }
            Carried::Offered { size_bytes } => (None, size_bytes),
            Carried::Packets { source, .. } => {
                (Some(begun(draft.table, source, at, count)), source.size_bytes)
            }
        };
        self.datagrams(draft, Packets { source, size_bytes }, built)
    }

    /// A flow without TCP.
    fn datagrams(
        &self,
        draft: &FlowDraft<'_>,
        packets: Packets,
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Traffic)> {
        let &FlowDraft { key, table, .. } = draft;
        let Packets { source, size_bytes } = packets;
        let legs = self.legs(draft)?;
        check_air_keys(self, draft, &legs)?;
        let ecn = if table.ecn { Ecn::Ect } else { Ecn::NotEct };
        let saturated = source.is_some_and(|source| source.is_saturated());
        if saturated && !matches!(legs[0], Leg::Air(..)) {
            let problem = format_args!(
                "a saturated source fills the queue of a station, and {:?} sends through a wired link; give the \
                 source a rate, or source = \"tcp\"",
                self.nodes.name(draft.from)
            );
            return wrong(format_args!("{key}.source"), problem);
        }
        if saturated && let Leg::Air(from, _) = legs[0] {
            self.check_unprocessed(key, from)?;
        }
        if saturated {
            built.saturated.insert(built.hops.len());
        }
        let route = self.route(draft, &legs, Carries { size_bytes, role: Role::Own }, built)?;
        check_source(key, &packets)?;
        let traffic = match source {
            Some(source) => Traffic::Source { source, ecn },
            None => Traffic::Offered { ecn },
        };
        Ok((route, traffic))
    }

    /// Requests, and their answers.
    fn answered(
        &self,
        draft: &FlowDraft<'_>,
        source: SourceSpec,
        bytes: u64,
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Traffic)> {
        let FlowDraft { key, table, .. } = *draft;
        let answers = Answers { bytes, packet_bytes: PACKET_BYTES };
        let there = self.legs(draft)?;
        let (route, back) =
            self.asked_and_answered(draft, &there, (source.size_bytes, answers), built)?;
        check_source(key, &Packets { source: Some(source), size_bytes: source.size_bytes })?;
        let ecn = if table.ecn { Ecn::Ect } else { Ecn::NotEct };
        Ok((route, Traffic::Answered { source, ecn, answers, back }))
    }

    /// The hops of requests of this size, and of their answers.
    pub(super) fn asked_and_answered(
        &self,
        draft: &FlowDraft<'_>,
        there: &[Leg],
        (size_bytes, answers): (u32, Answers),
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Vec<Hop>)> {
        check_air_keys(self, draft, there)?;
        let route = self.route(draft, there, Carries { size_bytes, role: Role::Own }, built)?;
        let answer = FlowDraft {
            name: format!("{} answers", draft.name),
            from: draft.to,
            to: draft.from,
            ..*draft
        };
        let size_bytes = answers.bytes.min(u64::from(answers.packet_bytes)) as u32;
        let carries = Carries { size_bytes, role: Role::Acknowledgements };
        Ok((route, self.route(&answer, &back(there), carries, built)?))
    }

    /// Refuses a saturated source at a station whose processor it would fill.
    fn check_unprocessed(&self, key: &str, station: usize) -> Result<()> {
        if self.radio_hops.stations.processors[station].is_none() {
            return Ok(());
        }
        let name = self.nodes.name(station);
        let problem = format_args!(
            "a saturated source would fill the processor of {name:?} without end; give the source a rate, or leave \
             processing_rate out"
        );
        wrong(format_args!("{key}.source"), problem)
    }

    /// Another route of packets without acknowledgements.
    pub(super) fn one_direction(
        &self,
        draft: &FlowDraft<'_>,
        legs: &[Leg],
        size_bytes: u32,
        built: &mut BuiltFlows,
    ) -> Result<AlternateRoute> {
        let route = self.route(draft, legs, Carries { size_bytes, role: Role::Own }, built)?;
        Ok(AlternateRoute { route, back: Vec::new() })
    }

    /// A TCP flow, in both directions; `load` has its data and its place among the flows of its table.
    fn tcp(
        &self,
        draft: &FlowDraft<'_>,
        load: (Load, usize),
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Traffic)> {
        let &FlowDraft { key, table, .. } = draft;
        let mut tcp = tcp_flow(key, table, load, self.radio_hops.file)?;
        let there = self.legs(draft)?;
        let (route, back) = self.there_and_back(draft, &there, &tcp.tcp, built)?;
        tcp.back = back;
        for _ in 1..tcp.lane_count() {
            let (route, back) = self.there_and_back(draft, &there, &tcp.tcp, built)?;
            tcp.lanes.push(vec![AlternateRoute { route, back }]);
        }
        if let Some(spread) = adaptive_pacing(&layers(key, table, self.radio_hops.file)) {
            let spec = tcp_ap(key, &route, &built.hops, self.radio_hops.phy, spread)?;
            tcp.tcp.sender.pacing = Pacing::TcpAp(spec);
        }
        Ok((route, Traffic::Tcp(Box::new(tcp))))
    }

    /// The hops of TCP data and of TCP acknowledgements.
    pub(super) fn there_and_back(
        &self,
        draft: &FlowDraft<'_>,
        there: &[Leg],
        tcp: &TcpSpec,
        built: &mut BuiltFlows,
    ) -> Result<(Vec<Hop>, Vec<Hop>)> {
        check_air_keys(self, draft, there)?;
        check_pace(self, draft, there, tcp)?;
        let bare = tcp.most_bare_bytes();
        let data = bare.max(tcp.mss_bytes + tcp.data_header_bytes());
        let carries = |size_bytes, role| Carries { size_bytes, role };
        let route = self.route(draft, there, carries(data, Role::Data), built)?;
        let acks = FlowDraft {
            name: format!("{} acks", draft.name),
            from: draft.to,
            to: draft.from,
            ..*draft
        };
        let carries = carries(bare, Role::Acknowledgements);
        Ok((route, self.route(&acks, &back(there), carries, built)?))
    }

    /// The route of a flow.
    pub(super) fn legs(&self, draft: &FlowDraft<'_>) -> Result<Vec<Leg>> {
        let &FlowDraft { key, from, to, .. } = draft;
        if draft.table.to == TO_ALL {
            return Ok(vec![Leg::Air(from, from)]);
        }
        if from == to {
            let problem = format_args!("{:?} would send to itself", self.nodes.name(from));
            return wrong(format_args!("{key}.to"), problem);
        }
        let ends = (self.nodes.station(from), self.nodes.station(to));
        let via = match (draft.via, &self.routes) {
            (Some(names), _) => self.named(key, names, ends)?,
            (None, Some(routes)) if ends.0 != ends.1 => {
                routes.borrow_mut().between(key, draft.flow_rates, ends.0, ends.1)?
            }
            (None, _) => Vec::new(),
        };
        let legs = self.nodes.legs(from, to, &via);
        legs.ok_or_else(|| {
            let (from, to) = (self.nodes.name(from), self.nodes.name(to));
            let problem =
                format_args!("the route from {from:?} to {to:?} leads through wired links only");
            error(format_args!("{key}.via"), problem)
        })
    }

    /// The stations of these names, which relay packets from one station to another.
    fn named(&self, key: &str, names: &[String], ends: (usize, usize)) -> Result<Vec<usize>> {
        let mut via = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            let key = format!("{key}.via[{at}]");
            let found = self.radio_hops.stations.find(&key, name)?;
            if found.group {
                return wrong(key, format_args!("{name:?} is a group; name one of its members"));
            }
            via.push(found.ids.start);
        }
        let mut passed = HashSet::from([ends.0, ends.1]);
        match via.iter().position(|&id| !passed.insert(id)) {
            // A route through wired links only has no relaying stations.
            Some(at) if ends.0 != ends.1 => {
                let problem = format_args!("the route passes {:?} twice; leave it out", names[at]);
                wrong(format_args!("{key}.via[{at}]"), problem)
            }
            _ => Ok(via),
        }
    }

    /// The hops of a route.
    fn route(
        &self,
        draft: &FlowDraft<'_>,
        legs: &[Leg],
        carries: Carries,
        built: &mut BuiltFlows,
    ) -> Result<Vec<Hop>> {
        let &FlowDraft { key, table, flow_rates, ref name, .. } = draft;
        let Carries { size_bytes, role } = carries;
        let report = report(key, table)?;
        let mut route = Vec::with_capacity(legs.len());
        for (at, &part) in legs.iter().enumerate() {
            let (from, to) = match part {
                Leg::Wire(wire) => {
                    let at = wire.index();
                    check_wire(key, &self.nodes.wires[at], self.nodes.mtus[at], size_bytes)?;
                    route.push(Hop::Wire(wire));
                    continue;
                }
                Leg::Air(from, to) => (from, to),
            };
            let last = at + 1 == legs.len();
            let request = HopRequest {
                name: if legs.len() == 1 { name.clone() } else { format!("{name} ({at})") },
                from,
                to,
                size_bytes,
                category: match role {
                    Role::Acknowledgements => table.ack_category.or(table.category),
                    Role::Own | Role::Data => table.category,
                },
                report: report.filter(|_| last && role != Role::Acknowledgements),
            };
            if built.hops.len() == MOST_HOPS {
                let problem =
                    format_args!("with it all flows have more than {MOST_HOPS} hops over the air");
                return wrong(key, problem);
            }
            let hop = match table.to == TO_ALL {
                true => self.radio_hops.hop_to_all(key, flow_rates, request)?,
                false => self.radio_hops.hop(key, draft.via.is_some(), flow_rates, request)?,
            };
            built.hops.push(hop);
            route.push(Hop::Air(HopId::at(built.hops.len() - 1)));
        }
        Ok(route)
    }

    /// The source and destination of each flow of a table.
    fn pairs(&self, key: &str, table: &FlowTable) -> Result<Vec<(usize, usize)>> {
        let from = self.nodes.find(format_args!("{key}.from"), &table.from)?;
        if table.to == TO_ALL {
            check_to_all(key, table)?;
            if from.ids.end > self.radio_hops.stations.specs.len() {
                let problem = format_args!(
                    "{:?} has no radio; packets to all stations begin at a station",
                    table.from
                );
                return wrong(format_args!("{key}.from"), problem);
            }
            return Ok(from.ids.map(|id| (id, id)).collect());
        }
        let to = self.nodes.find(format_args!("{key}.to"), &table.to)?;
        let (sources, sinks) = (from.ids.len(), to.ids.len());
        Ok(match (from.group, to.group) {
            (true, true) if sources != sinks => {
                let problem = format_args!(
                    "{:?} has {sinks} members and {:?} has {sources}; groups must be equally large, \
                     each member of one sends to the one with its number in the other",
                    table.to, table.from
                );
                return wrong(format_args!("{key}.to"), problem);
            }
            (true, false) => from.ids.zip(repeat_n(to.ids.start, sources)).collect(),
            (false, true) => repeat_n(from.ids.start, sinks).zip(to.ids).collect(),
            _ => from.ids.zip(to.ids).collect(),
        })
    }

    fn name(&self, table: &FlowTable, at: usize, count: usize, from: usize, to: usize) -> String {
        match &table.name {
            None if table.to == TO_ALL => format!("{}->{TO_ALL}", self.nodes.name(from)),
            None => format!("{}->{}", self.nodes.name(from), self.nodes.name(to)),
            Some(name) if count == 1 => name.clone(),
            Some(name) => format!("{name}{}", at + 1),
        }
    }
}

/// The source of flow `at` of `count` flows of a table. Flows that the file starts together are spread over an interval.
fn begun(table: &FlowTable, source: SourceSpec, at: usize, count: usize) -> SourceSpec {
    let start = if has_own_starts(table) {
        start(table, at)
    } else {
        source.start + offset(&source, at, count)
    };
    SourceSpec { start, ..source }
}

/// Checks a flow name, which appears in tables and file names.
fn check_name(key: &str, table: &FlowTable) -> Result<()> {
    let fits = |name: &String| {
        (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control)
    };
    match &table.name {
        Some(name) if !fits(name) => {
            let shown: String = name.chars().take(100).collect();
            let problem = format_args!("found {shown:?}, expected 1 to 100 characters of one line");
            wrong(format_args!("{key}.name"), problem)
        }
        _ => Ok(()),
    }
}
