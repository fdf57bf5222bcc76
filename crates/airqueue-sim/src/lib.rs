//! The event loop on the virtual clock, and what is assembled on it.
//!
//! [`event`], [`alarm`] and [`run_loop`] are the engine: they know nothing of networks.
//! [`wlan`] is an 802.11 link layer, [`network`] what carries packets over it and through wires, with TCP at the ends,
//! [`scenario`] the description from which a network is built.
//! [`bottleneck`] is a device that queues, [`path`] the two measuring endpoints with such a device
//! between them.

mod agenda;
pub mod alarm;
pub mod bottleneck;
pub mod counters;
pub mod event;
mod heap;
pub mod histogram;
pub mod line;
pub mod network;
pub mod outcome;
pub mod path;
pub mod queue;
pub mod run_loop;
pub mod scenario;
pub mod stages;
pub mod wlan;
