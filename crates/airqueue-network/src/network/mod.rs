//! A network: stations with their [`Wlan`](crate::wlan::Wlan), wires behind them, and what goes on between the ends of flows.
//!
//! [`NetworkSpec`] says what is in it, [`Network`] is the network at work: a [`Model`](crate::run_loop::Model), driven by one
//! event queue on any [`Clock`](crate::run_loop::Clock). What happens outside the radio comes first in an instant.
//!
//! # How packets travel
//!
//! A flow has one path, or two where acknowledgements come back; a path has one or more routes, and a route is a row of
//! hops, each over the air or through a wire. A hop is what queues see as a flow, so that disciplines that keep flows apart do
//! so at each hop. A packet that leaves a hop enters the next one in the same instant, and at the end of its route what
//! it carries is handed over: to an end of a TCP connection, or to whoever offers packets from outside.
//!
//! # What is counted
//!
//! Each packet is counted once at each hop ([`HopCounters`](crate::counters::HopCounters)). What is shown of flows and of
//! queues is summed up from there.

mod capture;
mod changes;
mod connection;
mod engine;
mod hops;
mod results;
pub mod series;
mod sources;
mod spec;
mod store;
mod upper;
mod wire;

pub use changes::{Change, TimedChange};
pub use connection::{SessionCounters, TcpCounters};
pub use engine::{Event, Network};
pub use spec::{
    AlternateRoute, FlowSpec, Hop, NetworkError, NetworkSpec, Node, QueueId, RttKind, TcpFlowSpec,
    Traffic, WireSpec, Work,
};
