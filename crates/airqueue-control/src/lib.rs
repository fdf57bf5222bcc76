//! Decisions about settings, as state machines without I/O: what a plan sets and how it is taken back, and the
//! mechanisms that keep settings right while a network changes.
//!
//! Nothing here opens a socket, reads a clock or writes a file: `airqueued` acts on Linux, the network of a
//! simulation acts on simulated queues.

pub mod flows;
pub mod journal;
pub mod mesh;
pub mod pace;
pub mod places;
pub mod plan;
pub mod point;
pub mod steer;
pub mod transaction;
pub mod watch;
