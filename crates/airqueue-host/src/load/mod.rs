//! TCP connections that load a path during a run: the server's and the client's threads.

mod bucket;
mod client;
mod connection;
mod flow;
mod offer;
mod series;
mod server;
mod tcp;

pub(crate) use client::LoadPlan;
pub use client::{LoadHandle, LoadProgress};
pub(crate) use offer::Offering;
pub use series::{LoadRow, LoadSeries, MISSING_NS};
pub use server::LoadStats;
pub(crate) use server::{LoadServer, News};
