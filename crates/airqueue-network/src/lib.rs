//! One engine for networks with Wi-Fi in them: the event loop, the link layers and what carries packets over them.
//!
//! [`event`], [`timer`] and [`run_loop`] are the engine: they know nothing of networks.
//! [`wlan`] is an 802.11 link layer, [`network`] what carries packets over it and through wires, with TCP at the ends,
//! [`bottleneck`] a device that queues, by itself.

pub mod bottleneck;
pub mod counters;
pub mod delay_line;
pub mod event;
mod event_list;
mod heap;
pub mod histogram;
mod ids;
pub mod network;
pub mod outcome;
mod queue;
pub mod run_loop;
pub mod timer;
pub mod tx_queue;
pub mod wlan;

pub use ids::{ConnectionId, FlowId, HopId, InterfaceId, PathId, RouteId, SourceId, WireId};
