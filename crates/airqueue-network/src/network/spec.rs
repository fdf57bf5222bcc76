//! The description of a network, and the checks before it runs.

use super::browsers::Loading;
use super::changes::TimedChange;
use super::connection::Connection;
use crate::wlan::{HopSpec, WlanError, WlanSpec};
use crate::{BrowserId, ConnectionId, FlowId, HopId, WireId};
use airqueue_core::{DataRate, Ecn, Seed, Span, Time};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::tcp::{SpecError, TcpSpec};
use airqueue_transport::traffic::{
    FilesError, FilesSpec, PageError, PageSpec, SourceError, SourceSpec, VideoError, VideoSpec,
};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::borrow::Cow;
use std::iter::once;
use std::ops::Range;
use thiserror::Error;

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq)]
pub struct WireSpec {
    /// Name of the wire.
    pub name: String,
    /// Rate of serialisation; `None`: packets enter at once.
    pub rate: Option<DataRate>,
    /// Delay from serialisation to the other end.
    pub delay: Span,
    /// Probability that a packet is lost on its way to the other end.
    pub loss: f64,
    /// Queue in front of the wire; `None`: unlimited room. Only a wire with a rate can have a queue.
    pub queue: Option<QueueSpec>,
}

/// A hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the air: the place in [`WlanSpec::hops`]. Two routes never share a hop over the air.
    Air(HopId),
    /// Through this wire.
    Wire(WireId),
}

impl Hop {
    /// The id of a hop over the air; `None` for a wire.
    pub fn over_air(self) -> Option<HopId> {
        match self {
            Hop::Air(hop) => Some(hop),
            Hop::Wire(_) => None,
        }
    }
}

/// A queue of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueId {
    /// The queue of a station for an access category.
    Station(StationId, AccessCategory),
    /// The queue in front of a wire.
    Wire(WireId),
}

/// The data of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// This number of bytes; `None`: data without end.
    Transfer(Option<u64>),
    /// Files, each over its own connection, with pauses between them.
    Files(FilesSpec),
    /// Pages of several objects, each page over its own connections side by side.
    Pages(PageSpec),
    /// The segments of a video, over one connection.
    Video(VideoSpec),
}

/// A flow that TCP governs.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFlowSpec {
    /// Both ends.
    pub tcp: TcpSpec,
    /// The route of the acknowledgements.
    pub back: Vec<Hop>,
    /// The hops of each further lane of pages. Lanes have hops of their own, so that queues tell their connections apart; a
    /// lane has as many routes as the flow, between the same nodes, in the same order.
    pub lanes: Vec<Vec<AlternateRoute>>,
    /// The data to carry.
    pub work: Work,
    /// Whether a connection closes with FIN.
    pub closes: bool,
    /// When the flow begins.
    pub start: Time,
    /// When the flow is aborted.
    pub stop: Time,
    /// The receiver, a station, reports this round-trip time, which it sees in TCP's timestamps, to the queue before
    /// the last hop, in link-layer acknowledgements (RDQM).
    pub reports: Option<RttKind>,
}

/// The round-trip time that a receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttKind {
    /// The shortest seen so far.
    Base,
    /// The smoothed round-trip time.
    Smoothed,
}

/// What creates a flow's packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// A source at the flow's first node, without TCP.
    Source {
        /// Times and sizes of the packets.
        source: SourceSpec,
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
    /// A source at the flow's first node, without TCP, whose packets the last node answers at once.
    Answered {
        /// Times and sizes of the requests.
        source: SourceSpec,
        /// Whether queues may mark packets.
        ecn: Ecn,
        /// The answers.
        answers: Answers,
        /// The route of the answers.
        back: Vec<Hop>,
    },
    /// TCP.
    Tcp(Box<TcpFlowSpec>),
    /// Packets are offered from outside ([`Network::offer`](super::Network::offer)).
    Offered {
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
}

/// The answers to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Size of an answer in bytes of IP packets.
    pub bytes: u64,
    /// Size of the largest of these packets.
    pub packet_bytes: u32,
}

impl Answers {
    /// Number of packets of an answer.
    pub fn packets(&self) -> u32 {
        self.bytes.div_ceil(u64::from(self.packet_bytes)) as u32
    }
}

/// How many packets a station can send on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorSpec {
    /// Time that each packet takes, whatever its size.
    pub each: Span,
    /// Packets that wait for the processor, or are in it; others are dropped.
    pub room: usize,
}

impl Traffic {
    /// Whether the source always has a packet to send.
    pub fn is_saturated(&self) -> bool {
        matches!(self, Traffic::Source { source, .. } if source.is_saturated())
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A station.
    Station(StationId),
    /// A host with wired links only, under a number that the description of the network chooses.
    Host(u32),
}

/// A flow from one end to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Name of the flow.
    pub name: String,
    /// Source of the packets.
    pub from: Node,
    /// Destination of the packets.
    pub to: Node,
    /// The usual route of the packets.
    pub route: Vec<Hop>,
    /// Alternative routes, taken when the route [changes](super::Change::Route).
    pub others: Vec<AlternateRoute>,
    /// What creates the flow's packets.
    pub traffic: Traffic,
    /// Differentiated services codepoint of the flow's packets, acknowledgements included.
    pub dscp: u8,
    /// The flow begins up to this much later than described, by a random time that each run draws.
    pub spread: Span,
}

/// A part of the usual route of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPart {
    /// The places of its hops in the route.
    pub hops: Range<usize>,
    /// Where the part begins.
    pub from: Node,
    /// Where the part ends.
    pub to: Node,
}

impl FlowPart {
    /// All of the route.
    pub fn whole(flow: &FlowSpec) -> FlowPart {
        FlowPart { hops: 0..flow.route.len(), from: flow.from, to: flow.to }
    }
}

/// An alternative route from one end of a flow to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct AlternateRoute {
    /// Route of the packets.
    pub route: Vec<Hop>,
    /// Route of the acknowledgements of a flow that TCP governs; empty for other flows.
    pub back: Vec<Hop>,
}

impl FlowSpec {
    /// The flow's routes from end to end, the usual route first.
    pub fn routes(&self) -> impl Iterator<Item = &[Hop]> {
        once(&*self.route).chain(self.others.iter().map(|other| &*other.route))
    }

    /// The routes of each lane beside the first; none if the flow has no lanes.
    pub fn lanes(&self) -> &[Vec<AlternateRoute>] {
        match &self.traffic {
            Traffic::Tcp(tcp) => &tcp.lanes,
            _ => &[],
        }
    }

    /// The routes of the flow's packets, acknowledgements excluded, over all lanes.
    pub fn routes_of_lanes(&self) -> impl Iterator<Item = &[Hop]> {
        self.routes().chain(self.lanes().iter().flatten().map(|of| &*of.route))
    }

    /// Whether TCP governs the flow, and a part of its route is over the air.
    pub fn is_tcp_on_air(&self) -> bool {
        let on_air = self.route.iter().any(|hop| hop.over_air().is_some());
        matches!(self.traffic, Traffic::Tcp(_)) && on_air
    }
}

/// A network.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// The stations, their reach, and the hops over the air.
    pub wlan: WlanSpec,
    /// Time that a packet takes inside the two stations of each hop over the air, spent before the queue of the sending
    /// station. A source in the sending station creates its packets after this delay.
    pub station_delay: Span,
    /// The wires, one for each direction of a wired link.
    pub wires: Vec<WireSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Changes during the run. Of several changes at one time the last takes effect.
    pub changes: Vec<TimedChange>,
    /// When counting begins.
    pub warm_up: Time,
    /// The processor of each station that has one, by the stations' ids; may be shorter than their list.
    pub processors: Vec<Option<ProcessorSpec>>,
}

/// Why a network is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum NetworkError {
    #[error("{0}")]
    Wlan(#[from] WlanError),
    #[error("flow {flow}: {error}")]
    Tcp { flow: String, error: SpecError },
    #[error("flow {flow}: {error}")]
    Files { flow: String, error: FilesError },
    #[error("flow {flow}: {error}")]
    Video { flow: String, error: VideoError },
    #[error("flow {flow}: {error}")]
    Pages { flow: String, error: PageError },
    #[error("flow {flow} has {found} lanes, expected {expected}, each with {routes} routes")]
    Lanes { flow: String, found: usize, expected: usize, routes: usize },
    #[error("flow {flow}: {error}")]
    Source { flow: String, error: SourceError },
    #[error("flow {flow} has a route without hops")]
    NoRoute { flow: String },
    #[error("flow {flow}: there is no {hop:?}, or another flow has it too")]
    Hop { flow: String, hop: Hop },
    #[error("flow {flow}: a saturated source fills the queue of a station, and has one route only")]
    Saturated { flow: String },
    #[error("wire {wire}: packets wait for a rate, and it has none")]
    NoRate { wire: String },
    #[error("there is nothing for {0:?} to change")]
    Change(Box<TimedChange>),
    #[error("wire {wire}: a delay of {delay}")]
    Delay { wire: String, delay: Span },
    #[error("wire {wire}: a loss of {loss} is no probability")]
    Loss { wire: String, loss: f64 },
}

impl TcpFlowSpec {
    /// Checks both ends and their data.
    pub fn check(&self) -> Result<(), String> {
        let connection = Connection::new("", ConnectionId(0), 0, self, Seed(0)).map(drop);
        let browser = Loading::new("", (BrowserId(0), ConnectionId(0)), self, Seed(0)).map(drop);
        connection.and(browser).map_err(|error| match error {
            NetworkError::Tcp { error, .. } => error.to_string(),
            NetworkError::Files { error, .. } => error.to_string(),
            NetworkError::Pages { error, .. } => error.to_string(),
            NetworkError::Video { error, .. } => error.to_string(),
            other => other.to_string(),
        })
    }

    /// Number of lanes: connections side by side.
    pub fn lane_count(&self) -> u32 {
        match self.work {
            Work::Pages(pages) => pages.connections,
            Work::Transfer(_) | Work::Files(_) | Work::Video(_) => 1,
        }
    }

    /// Checks that each lane beside the first has its routes.
    fn check_lanes(&self, flow: &FlowSpec) -> Result<(), NetworkError> {
        let (expected, routes) = (self.lane_count() as usize, 1 + flow.others.len());
        let found = 1 + self.lanes.len();
        if found == expected && self.lanes.iter().all(|lane| lane.len() == routes) {
            return Ok(());
        }
        Err(NetworkError::Lanes { flow: flow.name.clone(), found, expected, routes })
    }
}

impl NetworkSpec {
    /// A wireless LAN without wires or changes.
    pub fn wireless(wlan: WlanSpec, flows: Vec<FlowSpec>) -> NetworkSpec {
        NetworkSpec {
            wlan,
            station_delay: Span::ZERO,
            wires: Vec::new(),
            flows,
            changes: Vec::new(),
            warm_up: Time::ZERO,
            processors: Vec::new(),
        }
    }

    /// Adds a copy of a flow that TCP does not govern, under another name, and in another category at the
    /// stations that have categories; stations that roam change the routes of both alike, other changes of route are of the
    /// flow alone. What changes on the flow's hops changes on those of the copy.
    pub fn add_like(&mut self, flow: FlowId, name: String, category: Option<AccessCategory>) {
        let whole = FlowPart::whole(&self.flows[flow.index()]);
        self.add_part(flow, &whole, name, category);
    }

    /// Adds a flow as [`Self::add_like`] does, which takes only a part of each route: of alternative routes, those that
    /// have as many hops as the usual one. Returns the hops over the air, each with its copy.
    ///
    /// # Panics
    ///
    /// If the route does not have these hops.
    pub fn add_part(
        &mut self,
        flow: FlowId,
        part: &FlowPart,
        name: String,
        category: Option<AccessCategory>,
    ) -> Vec<(HopId, HopId)> {
        let like = self.flows[flow.index()].clone();
        let mut copies = Vec::new();
        let mut routes =
            like.routes().filter(|route| route.len() == like.route.len()).map(|route| {
                let hops = route[part.hops.clone()].iter();
                hops.map(|&hop| self.copy_of(hop, &name, category, &mut copies)).collect()
            });
        let route = routes.next().expect("a flow has a usual route");
        let others = routes.map(|route| AlternateRoute { route, back: Vec::new() }).collect();
        let FlowPart { from, to, .. } = *part;
        self.flows.push(FlowSpec { name, from, to, route, others, ..like });
        copies
    }

    /// A hop for another flow, which is noted among `copies` if it is over the air.
    fn copy_of(
        &mut self,
        hop: Hop,
        name: &str,
        category: Option<AccessCategory>,
        copies: &mut Vec<(HopId, HopId)>,
    ) -> Hop {
        let Hop::Air(original) = hop else { return hop };
        let hop = self.wlan.hops[original.index()].clone();
        let ac = category.filter(|_| self.is_edca(hop.from)).unwrap_or(hop.ac);
        self.wlan.hops.push(HopSpec { name: name.to_owned(), ac, ..hop });
        let copy = HopId::at(self.wlan.hops.len() - 1);
        let changes = self.changes.iter().filter_map(|of| of.at_copy(original, copy));
        let changes: Vec<TimedChange> = changes.collect();
        self.changes.extend(changes);
        copies.push((original, copy));
        Hop::Air(copy)
    }

    /// Whether some station on the flow's route has a queue for each access category.
    pub fn has_categories(&self, flow: FlowId) -> bool {
        let mut over_air = self.flows[flow.index()].route.iter().filter_map(|hop| hop.over_air());
        over_air.any(|hop| self.is_edca(self.wlan.hops[hop.index()].from))
    }

    fn is_edca(&self, station: StationId) -> bool {
        // Whether there is such a station is checked later, when the network is made.
        self.wlan.stations.get(station.index()).is_some_and(|of| of.queues.len() > 1)
    }

    /// The flow's first hop over the air.
    pub fn first_over_air(&self, flow: FlowId) -> Option<&HopSpec> {
        let route = self.flows[flow.index()].route.iter();
        route.filter_map(|hop| hop.over_air()).find_map(|hop| self.wlan.hops.get(hop.index()))
    }

    /// This description with the start times that a run draws, flow by flow from the random stream `start/FLOW`.
    pub(super) fn begun(&self, seed: Seed) -> Cow<'_, NetworkSpec> {
        let mut begun = Cow::Borrowed(self);
        for (at, flow) in self.flows.iter().enumerate().filter(|(_, of)| of.spread > Span::ZERO) {
            let late = seed.stream(&format!("start/{at}")).span_below(flow.spread);
            begun.to_mut().put_off(at, late);
        }
        begun
    }

    fn put_off(&mut self, flow: usize, late: Span) {
        match &mut self.flows[flow].traffic {
            Traffic::Tcp(tcp) => tcp.start += late,
            Traffic::Source { source, .. } | Traffic::Answered { source, .. } => {
                source.start += late;
            }
            Traffic::Offered { .. } => {}
        }
    }

    /// Finds what cannot be simulated, apart from what the parts check when they are built.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        for WireSpec { name, rate, delay, loss, queue } in &self.wires {
            if queue.is_some() && rate.is_none() {
                return Err(NetworkError::NoRate { wire: name.clone() });
            }
            if *delay < Span::ZERO {
                return Err(NetworkError::Delay { wire: name.clone(), delay: *delay });
            }
            if !(0.0..=1.0).contains(loss) {
                return Err(NetworkError::Loss { wire: name.clone(), loss: *loss });
            }
        }
        for flow in &self.flows {
            if flow.traffic.is_saturated() {
                self.check_saturated(flow)?;
            }
            if let Traffic::Tcp(tcp) = &flow.traffic {
                tcp.check_lanes(flow)?;
            }
        }
        self.changes.iter().try_for_each(|change| change.check(self))
    }
}
