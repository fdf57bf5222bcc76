//! The only crate that touches the operating system: sockets with kernel timestamps, the wall-clock
//! event loop that drives the sans-IO endpoints, and the small binary that needs no Python.

// This is a shell: reading clocks, opening sockets and starting threads is its purpose
// (ARCHITECTURE.md, invariant 1).
#![allow(clippy::disallowed_methods)]

pub mod background;
pub mod capture_file;
pub mod client;
pub mod clock;
pub mod driver;
pub mod echo;
pub mod emulator;
pub mod error;
pub mod live;
pub mod load;
pub mod mmsg;
pub mod netns;
mod notes;
pub mod packet_device;
pub mod packet_queue;
mod packet_ring;
pub mod pcap_file;
mod polling;
mod ports;
pub mod senders;
pub mod server;
pub mod socket;
mod sources;
pub mod stamps;
pub mod tun;
pub mod veth;
pub mod wait;

pub use client::{ClientHandle, ClientOptions};
pub use error::HostError;
pub use load::LoadHandle;
pub use server::{ServerHandle, ServerOptions};
