//! Measuring a path: traffic plans, the wire formats of measured packets and of TCP load, the sans-IO client and
//! server that carry a plan out, the records they leave, and the file that keeps those records.
//!
//! Nothing here opens a socket or reads a clock: `airqueue-host` drives these machines over real
//! sockets, `airqueue-scenario` over a simulated bottleneck.

pub mod auth;
pub use airqueue_core::bytes;
pub mod capture;
pub mod check;
pub mod client;
pub mod column;
pub mod echo;
pub mod endpoint;
pub mod error;
pub mod limits;
pub mod load;
pub mod log;
pub mod plan;
pub mod receiver;
pub mod records;
mod retry;
pub mod schedule;
pub mod sender;
pub mod server;
pub mod wire;

pub use error::ClientError;
