//! One engine for networks that include Wi-Fi: the event loop, the link layers, and the layers that carry packets over
//! them.
//!
//! [`event`], [`timer`] and [`run_loop`] are the engine and know nothing of networks. [`wlan`] is an 802.11 link layer,
//! [`network`] carries packets over this link layer and through wires with TCP at the ends, and [`bottleneck`] is a
//! stand-alone device that queues.

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
mod succession;
pub mod timer;
pub mod tx_queue;
pub mod wlan;

pub use ids::{
    BrowserId, ConnectionId, FlowId, HopId, InterfaceId, MessagesId, PathId, RouteId, SourceId,
    WireId,
};
