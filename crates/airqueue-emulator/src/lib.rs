//! Packets of real programs in the network of a scenario.
//!
//! A state machine without I/O: [`Emulation`] takes the packets that real nodes send, each at its time, and passes on
//! packets with the time at which they leave the network. The network is the network of a simulation; nothing here
//! models anything. `airqueue-host` has the clock and the devices.

mod capture;
mod checksum;
mod emulation;
mod figures;
pub mod fragments;
mod header;
mod icmp;
mod live;
pub mod offload;
mod outside;
mod pcapng;
mod slots;
mod story;

pub use airqueue_network::network::Change;
pub use capture::{CaptureState, Sink};
pub use emulation::{Departure, Emulation, Token};
pub use figures::{LATE, Lateness, Loss, LossReason, Losses, PairCounters, Refusal};
pub use live::{PairInterval, Snapshot};
