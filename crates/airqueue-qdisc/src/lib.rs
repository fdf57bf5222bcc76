//! Queue disciplines: one file each.
//!
//! A new discipline is a file here that implements [`airqueue_core::QueueDisc`] and the two traits beside it, and a line in
//! `tests/conformance.rs`.

pub mod adaptive;
mod airtime;
pub mod cake;
pub mod codel;
mod depths;
pub mod droptail;
mod fifo;
mod flow_hash;
mod flow_queues;
pub mod fq_codel;
mod lists;
pub mod mac80211;
pub mod per_flow;
pub mod pie;
pub mod rdqm;
pub mod red;
pub mod sfq;

/// Whom a discipline follows where Linux departs from the RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// The RFC.
    #[default]
    Rfc,
    /// Linux, as of version 6.1.
    Linux,
}

pub use adaptive::{Adaptive, AdaptiveParams};
pub use cake::{Cake, CakeParams, Diffserv, Isolation};
pub use codel::{Codel, CodelParams};
pub use droptail::{DropFrom, DropTail};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use mac80211::{AqlParams, Mac80211, Mac80211Params};
pub use per_flow::{KeptApart, PerFlow};
pub use pie::{Pie, PieParams};
pub use rdqm::{Rdqm, RdqmParams, RdqmWeight};
pub use red::{Red, RedParams};
pub use sfq::{Sfq, SfqParams};
