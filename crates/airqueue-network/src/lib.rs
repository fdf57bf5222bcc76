//! One engine for networks with Wi-Fi in them: the event loop, the link layers and what carries packets over them.
//!
//! [`event`], [`alarm`] and [`run_loop`] are the engine: they know nothing of networks.
//! [`wlan`] is an 802.11 link layer, [`network`] what carries packets over it and through wires, with TCP at the ends,
//! [`bottleneck`] a device that queues, by itself.

mod agenda;
pub mod alarm;
pub mod bottleneck;
pub mod counters;
pub mod event;
mod heap;
pub mod histogram;
mod ids;
pub mod line;
pub mod network;
pub mod outcome;
mod queue;
pub mod run_loop;
pub mod stages;
pub mod wlan;

pub use ids::{ConnectionId, FlowId, HopId, InterfaceId, PathId, RouteId, SourceId, WireId};
