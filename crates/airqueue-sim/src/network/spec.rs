//! What a network is made of, and what is checked before it runs.

use super::changes::TimedChange;
use super::connection::Connection;
use crate::wlan::{QueueSpec, WlanError, WlanSpec};
use airqueue_core::{DataRate, Ecn, Seed, Span, Time};
use airqueue_transport::tcp::{SpecError, TcpSpec};
use airqueue_transport::traffic::{Arrivals, FilesError, FilesSpec, SourceError, SourceSpec};
use airqueue_wifi::medium::StationId;
use std::borrow::Cow;
use std::iter::once;
use thiserror::Error;

/// One direction of a cable.
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

/// A part of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the air, as this flow of the radio, by its place. No two hops have the same.
    Radio(usize),
    /// Through this wire, by its place.
    Wire(usize),
}

impl Hop {
    /// The radio's flow, if it is over the air.
    pub fn radio(self) -> Option<usize> {
        match self {
            Hop::Radio(radio) => Some(radio),
            Hop::Wire(_) => None,
        }
    }
}

/// A queue of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueId {
    /// Of a station, by its place and that of the access category.
    Station(usize, usize),
    /// In front of a wire, by its place.
    Wire(usize),
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
    /// The source of its first hop, which is over the air.
    Radio,
    /// A source of the network's own, at a host or a station.
    Source {
        /// It.
        source: SourceSpec,
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
    /// TCP.
    Tcp(Box<TcpFlowSpec>),
    /// Whoever runs the network.
    External {
        /// Whether queues may mark its packets.
        ecn: Ecn,
    },
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A station.
    Station(StationId),
    /// A host that only has a cable, by whatever numbers whoever describes the network gives them.
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
    /// Its way.
    pub route: Vec<Hop>,
    /// Other ways, which it takes when that [changes](super::Change::Way).
    pub others: Vec<OtherWay>,
    /// What makes its packets.
    pub traffic: Traffic,
    /// It begins up to so much later than that says, by a time that every run draws.
    pub spread: Span,
}

/// Another way from one end of a flow to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherWay {
    /// There.
    pub route: Vec<Hop>,
    /// Back, for the acknowledgements of a flow that TCP governs; nothing of others.
    pub back: Vec<Hop>,
}

impl FlowSpec {
    /// Its ways from end to end, the usual one first.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &[Hop]> {
        once(&*self.route).chain(self.others.iter().map(|way| &*way.route))
    }

    /// Whether TCP governs it, and some of its way is over the air.
    pub fn is_tcp_on_air(&self) -> bool {
        let on_air = self.route.iter().any(|hop| hop.radio().is_some());
        matches!(self.traffic, Traffic::Tcp(_)) && on_air
    }
}

/// A network.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// The radio. Its flows are the hops of this network's flows over the air. Those whose packets this network
    /// carries, because it makes them, because they have further to go or because it wants to know what becomes
    /// of them, are collected; all but the first hops of [`Traffic::Radio`] have their packets from outside.
    pub wlan: WlanSpec,
    /// How long a packet takes inside the stations of each of its hops over the air, counted before the queue of the one
    /// that sends it.
    pub station_delay: Span,
    /// Cables, each direction its own.
    pub wires: Vec<WireSpec>,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// What changes on the way. Of changes at the same time the last one holds.
    pub changes: Vec<TimedChange>,
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
    #[error("flow {flow} has a way without hops")]
    NoWay { flow: String },
    #[error("flow {flow}: there is no {hop:?}, or another flow has it too")]
    Hop { flow: String, hop: Hop },
    #[error("flow {flow}: the first hop of a source of the radio's is over the air")]
    First { flow: String },
    #[error("flow {flow}: a source of the radio's sends on one way only")]
    Fixed { flow: String },
    #[error(
        "hop {hop:?} of flow {flow}: the radio's flow must be collected, and be fed from outside"
    )]
    NotCarried { flow: String, hop: Hop },
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
        Connection::new("", 0, self, Seed(0)).map(drop).map_err(|error| match error {
            NetworkError::Tcp { error, .. } => error.to_string(),
            NetworkError::Files { error, .. } => error.to_string(),
            other => other.to_string(),
        })
    }
}

impl NetworkSpec {
    /// A network that is nothing but a radio: a flow for each of the radio's.
    pub fn radio(mut wlan: WlanSpec) -> NetworkSpec {
        let mut flows = Vec::with_capacity(wlan.flows.len());
        for (at, flow) in wlan.flows.iter_mut().enumerate() {
            let external = flow.source.arrivals == Arrivals::External;
            flow.collected |= external;
            flows.push(FlowSpec {
                name: flow.name.clone(),
                from: Node::Station(flow.from),
                to: Node::Station(flow.to),
                route: vec![Hop::Radio(at)],
                traffic: if external {
                    Traffic::External { ecn: flow.ecn }
                } else {
                    Traffic::Radio
                },
                others: Vec::new(),
                spread: Span::ZERO,
            });
        }
        let (wires, changes) = (Vec::new(), Vec::new());
        NetworkSpec { wlan, station_delay: Span::ZERO, wires, flows, changes }
    }

    /// Adds a flow like one that TCP does not govern, with another name; it keeps to the usual way.
    pub fn add_like(&mut self, flow: usize, name: String) {
        let like = self.flows[flow].clone();
        let mut route = Vec::with_capacity(like.route.len());
        for &hop in &like.route {
            route.push(match hop {
                Hop::Wire(_) => hop,
                Hop::Radio(radio) => {
                    let radio = self.wlan.flows[radio].clone();
                    self.wlan.flows.push(crate::wlan::FlowSpec { name: name.clone(), ..radio });
                    Hop::Radio(self.wlan.flows.len() - 1)
                }
            });
        }
        self.flows.push(FlowSpec { name, route, others: Vec::new(), ..like });
    }

    /// The first of a flow's hops over the air.
    pub fn first_over_air(&self, flow: usize) -> Option<&crate::wlan::FlowSpec> {
        self.flows[flow].route.iter().find_map(|hop| self.wlan.flows.get(hop.radio()?))
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
        let FlowSpec { route, traffic, .. } = &mut self.flows[flow];
        let start = match traffic {
            Traffic::Tcp(tcp) => &mut tcp.start,
            Traffic::Source { source, .. } => &mut source.start,
            Traffic::External { .. } => return,
            Traffic::Radio => match route.first() {
                Some(&Hop::Radio(hop)) if hop < self.wlan.flows.len() => {
                    &mut self.wlan.flows[hop].source.start
                }
                _ => return,
            },
        };
        *start += late;
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
        self.flows.iter().try_for_each(|flow| self.check_carried(flow))?;
        self.changes.iter().try_for_each(|change| change.check(self))
    }

    /// The radio hands over the packets that this network has to carry on.
    fn check_carried(&self, flow: &FlowSpec) -> Result<(), NetworkError> {
        let own = flow.traffic == Traffic::Radio;
        if own && !flow.others.is_empty() {
            return Err(NetworkError::Fixed { flow: flow.name.clone() });
        }
        let back: &[Hop] = match &flow.traffic {
            Traffic::Tcp(tcp) => &tcp.back,
            _ => &[],
        };
        let others = flow.others.iter().flat_map(|way| way.route.iter().chain(&way.back));
        for (at, &hop) in flow.route.iter().chain(back).chain(others).enumerate() {
            let Hop::Radio(radio) = hop else { continue };
            let Some(radio) = self.wlan.flows.get(radio) else { continue };
            let carried = radio.collected || (own && flow.route.len() == 1);
            let fed = radio.source.arrivals == Arrivals::External || (own && at == 0);
            if !(carried && fed) {
                return Err(NetworkError::NotCarried { flow: flow.name.clone(), hop });
            }
        }
        Ok(())
    }
}
