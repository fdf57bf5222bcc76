//! A network: the stations of a [`Wlan`](crate::wlan::Wlan), cables behind them, and what goes on between
//! the ends of flows.
//!
//! [`NetworkSpec`] says what is in it, [`Network`] is the network at work. The radio is a simulation of its own
//! with its own queue of events; the network runs it and never lets it be ahead of the events of cables,
//! timers and applications. What happens at the same instant happens there first.
//!
//! # How packets travel
//!
//! A flow is one leg, or two where acknowledgements come back; a leg is a row of steps, each over the air
//! or through a wire. A step is what queues see as a flow, so that disciplines that keep flows apart do
//! so at each hop. A packet that leaves a step enters the next one in the same instant, and at the end of a
//! leg what it carries is handed over: to an end of a TCP connection, or to whoever offers packets from outside.

mod capture;
mod changes;
mod connection;
mod engine;
mod legs;
mod limits;
mod results;
pub mod series;
mod spec;
mod store;
mod wire;

pub use changes::{Change, TimedChange};
pub use connection::{SessionTally, TcpTally};
pub use engine::{Event, Network};
pub use spec::{
    FlowSpec, Hop, NetworkError, NetworkSpec, Node, OtherWay, QueueId, RttKind, TcpFlowSpec,
    Traffic, WireSpec, Work,
};
