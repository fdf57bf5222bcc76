//! A network: stations with their [`Wlan`](crate::wlan::Wlan), wires behind the stations, and the protocols between the
//! ends of flows.
//!
//! [`NetworkSpec`] describes a network. [`Network`] is the network at work: a [`Model`](crate::run_loop::Model), driven
//! by one event queue on any [`Clock`](crate::run_loop::Clock). Events outside the radio come first in an instant.
//!
//! # How packets travel
//!
//! A flow has one path, or two if acknowledgements return; a flow of pages has two for each of its lanes, the connections
//! that a browser has side by side. A path has one or more routes; a route is a sequence of
//! hops, each over the air or through a wire. Queues see a hop as a flow, so that a discipline that separates flows
//! does so at each hop. A packet that leaves a hop enters the next hop in the same instant. At the end of the route the
//! packet's content is handed to an end of a TCP connection, or to whoever offers packets from outside.
//!
//! # What is counted
//!
//! Each packet is counted once at each hop ([`HopCounters`](crate::counters::HopCounters)). The counters of flows and
//! of queues are sums of these.

mod assembly;
mod browsers;
mod building;
mod capture;
mod changes;
mod connection;
mod engine;
mod film;
mod hops;
mod opportunities;
mod processor;
mod results;
mod roaming;
mod segments;
pub mod series;
mod sources;
mod spec;
mod store;
mod trace;
mod upper;
mod wire;

pub use assembly::MessageCounters;
pub use browsers::PageCounters;
pub use changes::{Change, TimedChange};
pub use connection::TcpCounters;
pub use engine::{Event, Network, OfferedPacket};
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use spec::{
    AlternateRoute, Answers, FlowPart, FlowSpec, Hop, NetworkError, NetworkSpec, Node,
    ProcessorSpec, QueueId, RttKind, TcpFlowSpec, Traffic, WireSpec, Work,
};
pub use trace::{Step, Traced};
