//! Queue disciplines: one file each, and the accounting wrapper that fits around any of them.
//!
//! A new discipline is a file here that implements [`airqueue_core::QueueDisc`] and a line in
//! `tests/conformance.rs`.

pub mod accounting;
pub mod adaptive;
mod airtime;
pub mod codel;
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

/// Whom a discipline follows where Linux departs from the RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// The RFC.
    #[default]
    Rfc,
    /// Linux, as of version 6.1.
    Linux,
}

pub use accounting::{Account, Accounted, Tally};
pub use adaptive::{Adaptive, AdaptiveParams};
pub use codel::{Codel, CodelParams};
pub use droptail::{DropFrom, DropTail};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use mac80211::{AqlParams, Mac80211, Mac80211Params};
pub use per_flow::{KeptApart, PerFlow};
pub use pie::{Pie, PieParams};
pub use rdqm::{Rdqm, RdqmParams, RdqmWeight};
pub use red::{Red, RedParams};
