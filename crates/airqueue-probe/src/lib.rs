//! Measuring a path: traffic plans, the UDP wire format, the sans-IO client and server that carry a
//! plan out, the records they leave, and the file that keeps those records.
//!
//! Nothing here opens a socket or reads a clock: `airqueue-host` drives these machines over real
//! sockets, `airqueue-sim` over a simulated bottleneck.

pub mod capture;
pub mod client;
pub mod endpoint;
pub mod error;
pub mod limits;
pub mod plan;
pub mod records;
pub mod server;

pub use error::ClientError;
