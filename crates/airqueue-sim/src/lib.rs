//! The event loop on the virtual clock, and what is assembled on it.
//!
//! [`event`], [`alarm`] and [`run_loop`] are the engine: they know nothing of networks.
//! [`wlan`] is a radio network of 802.11 stations, [`network`] that with cables and TCP, [`scenario`] the
//! description from which one is built.
//! [`bottleneck`] is a device that queues, [`path`] the two measuring endpoints with such a device
//! between them.

mod agenda;
pub mod alarm;
pub mod bottleneck;
pub mod event;
mod heap;
pub mod line;
pub mod network;
pub mod outcome;
pub mod path;
pub mod run_loop;
pub mod scenario;
pub mod stages;
pub mod wlan;
