//! What a network is made of, and what is checked before it runs.

use super::changes::TimedChange;
use super::connection::Connection;
use crate::wlan::{HopSpec, WlanError, WlanSpec};
use crate::{ConnectionId, FlowId, HopId, WireId};
use airqueue_core::{DataRate, Ecn, Seed, Span, Time};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::tcp::{SpecError, TcpSpec};
use airqueue_transport::traffic::{FilesError, FilesSpec, SourceError, SourceSpec};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::borrow::Cow;
use std::iter::once;
use thiserror::Error;

/// One direction of a wired link.
#[derive(Clone, Debug, PartialEq)]
pub struct WireSpec {
    /// What it is called.
    pub name: String,
    /// How fast it takes packets; `None`: at once.
    pub rate: Option<DataRate>,
    /// How long a packet then takes to the other end.
    pub delay: Span,
    /// Where packets wait for it; `None`: there is room for as many as come. Only a wire with a rate can have one.
    pub queue: Option<QueueSpec>,
}

/// A part of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the air, by the place among [`WlanSpec::hops`]. No two routes have the same.
    Air(HopId),
    /// Through this wire.
    Wire(WireId),
}

impl Hop {
    /// The hop over the air, if the hop is one.
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
    /// Of a station, for an access category.
    Station(StationId, AccessCategory),
    /// In front of a wire.
    Wire(WireId),
}

/// What a TCP connection has to carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// So many bytes; `None`: data without end.
    Transfer(Option<u64>),
    /// Files, each over a connection of its own, with pauses between them.
    Files(FilesSpec),
}

/// A flow that TCP governs.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFlowSpec {
    /// Both ends.
    pub tcp: TcpSpec,
    /// The way of the acknowledgements.
    pub back: Vec<Hop>,
    /// What it carries.
    pub work: Work,
    /// A connection ends with FIN.
    pub closes: bool,
    /// When it begins.
    pub start: Time,
    /// When it is broken off.
    pub stop: Time,
    /// The receiver, a station, tells the queue before its last hop in link-layer acknowledgements which round-trip
    /// time it sees in TCP's timestamps (RDQM).
    pub reports: Option<RttKind>,
}

/// Which round-trip time a receiver tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttKind {
    /// The shortest that it has seen.
    Base,
    /// The smoothed one.
    Smoothed,
}

/// What makes a flow's packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// A source at its first node, which is not governed by TCP.
    Source {
        /// When it makes packets, and how large.
        source: SourceSpec,
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
    /// TCP.
    Tcp(Box<TcpFlowSpec>),
    /// Whoever runs the network offers them ([`Network::offer`](super::Network::offer)).
    Offered {
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
}

impl Traffic {
    /// Whether a source always has a packet.
    pub fn is_saturated(&self) -> bool {
        matches!(self, Traffic::Source { source, .. } if source.is_saturated())
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A station.
    Station(StationId),
    /// A host that only has a wired link, by whatever numbers whoever describes the network gives them.
    Host(u32),
}

/// A flow from one end to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// What it is called.
    pub name: String,
    /// Where its packets come from.
    pub from: Node,
    /// Where they go.
    pub to: Node,
    /// The route of its packets.
    pub route: Vec<Hop>,
    /// Other routes, which it takes when the route [changes](super::Change::Route).
    pub others: Vec<AlternateRoute>,
    /// What makes its packets.
    pub traffic: Traffic,
    /// The differentiated services codepoint of its packets, acknowledgements included.
    pub dscp: u8,
    /// It begins up to so much later than that says, by a time that every run draws.
    pub spread: Span,
}

/// Another route from one end of a flow to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct AlternateRoute {
    /// There.
    pub route: Vec<Hop>,
    /// Back, for the acknowledgements of a flow that TCP governs; nothing of others.
    pub back: Vec<Hop>,
}

impl FlowSpec {
    /// Its routes from end to end, the usual one first.
    pub fn routes(&self) -> impl Iterator<Item = &[Hop]> {
        once(&*self.route).chain(self.others.iter().map(|other| &*other.route))
    }

    /// Whether TCP governs it, and some of its route is over the air.
    pub fn is_tcp_on_air(&self) -> bool {
        let on_air = self.route.iter().any(|hop| hop.over_air().is_some());
        matches!(self.traffic, Traffic::Tcp(_)) && on_air
    }
}

/// A network.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// The stations, who hears whom, and the hops of routes over the air.
    pub wlan: WlanSpec,
    /// How long a packet takes inside the stations of each of its hops over the air, counted before the queue of the one
    /// that sends the packet; a source in that station has it behind itself when it makes a packet.
    pub station_delay: Span,
    /// Cables, each direction its own.
    pub wires: Vec<WireSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// What changes on the way. Of changes at the same time the last one holds.
    pub changes: Vec<TimedChange>,
    /// When counting begins.
    pub warm_up: Time,
}

/// What no network can be.
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
    Change(TimedChange),
    #[error("wire {wire}: a delay of {delay}")]
    Delay { wire: String, delay: Span },
}

impl TcpFlowSpec {
    /// Whether both ends and what they carry can be.
    pub fn check(&self) -> Result<(), String> {
        Connection::new("", ConnectionId(0), self, Seed(0)).map(drop).map_err(|error| match error {
            NetworkError::Tcp { error, .. } => error.to_string(),
            NetworkError::Files { error, .. } => error.to_string(),
            other => other.to_string(),
        })
    }
}

impl NetworkSpec {
    /// A wireless LAN without wires, and nothing that changes.
    pub fn wireless(wlan: WlanSpec, flows: Vec<FlowSpec>) -> NetworkSpec {
        NetworkSpec {
            wlan,
            station_delay: Span::ZERO,
            wires: Vec::new(),
            flows,
            changes: Vec::new(),
            warm_up: Time::ZERO,
        }
    }

    /// Adds a flow like one that TCP does not govern, with another name; it keeps to the usual route.
    pub fn add_like(&mut self, flow: FlowId, name: String) {
        let like = self.flows[flow.index()].clone();
        let mut route = Vec::with_capacity(like.route.len());
        for &hop in &like.route {
            route.push(match hop {
                Hop::Wire(_) => hop,
                Hop::Air(hop) => {
                    let hop = self.wlan.hops[hop.index()].clone();
                    self.wlan.hops.push(HopSpec { name: name.clone(), ..hop });
                    Hop::Air(HopId::at(self.wlan.hops.len() - 1))
                }
            });
        }
        self.flows.push(FlowSpec { name, route, others: Vec::new(), ..like });
    }

    /// The first of a flow's hops over the air.
    pub fn first_over_air(&self, flow: FlowId) -> Option<&HopSpec> {
        let route = self.flows[flow.index()].route.iter();
        route.filter_map(|hop| hop.over_air()).find_map(|hop| self.wlan.hops.get(hop.index()))
    }

    /// The same with the starts that a run draws, flow by flow from the stream `start/FLOW`.
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
            Traffic::Source { source, .. } => source.start += late,
            Traffic::Offered { .. } => {}
        }
    }

    /// Finds what cannot be simulated, besides what the parts find when they are built.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        for WireSpec { name, rate, delay, queue } in &self.wires {
            if queue.is_some() && rate.is_none() {
                return Err(NetworkError::NoRate { wire: name.clone() });
            }
            if *delay < Span::ZERO {
                return Err(NetworkError::Delay { wire: name.clone(), delay: *delay });
            }
        }
        for flow in &self.flows {
            if flow.traffic.is_saturated() {
                self.check_saturated(flow)?;
            }
        }
        self.changes.iter().try_for_each(|change| change.check(self))
    }
}
