//! Queue disciplines: each has a file of its own, and a line in [`registry`].
//!
//! The file of a discipline holds its queue, which implements [`airqueue_core::QueueDisc`] and the two related traits,
//! and its parameters, which implement [`Parameters`]: the keys of the discipline's table in scenarios, the checks of
//! these keys, and how to build a queue from them. From all disciplines the registry makes [`QueueTable`],
//! [`QueueSpec`], and the short form of [`text`]. Code that uses these three knows no discipline by name.

pub mod adaptive;
mod airtime;
pub mod cake;
pub mod codel;
pub mod discipline;
pub mod droptail;
mod fifo;
mod flow_hash;
mod flow_queues;
pub mod fq_codel;
mod given;
mod lists;
pub mod mac80211;
pub mod per_flow;
pub mod pie;
pub mod queue;
pub mod rdqm;
pub mod red;
pub mod registry;
pub mod sfq;
pub mod text;

pub use adaptive::{Adaptive, AdaptiveParams};
pub use cake::{AckFilter, Cake, CakeParams, Diffserv, Isolation};
pub use codel::{Codel, CodelParams};
pub use discipline::{Around, Behaviour, Facts, Link, Parameters, Place};
pub use droptail::{DropFrom, DropTail, DropTailParams};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use given::QueueGiven;
pub use mac80211::{AqlParams, Mac80211, Mac80211Params};
pub use per_flow::{DrrParams, PerFlow, QueuePer};
pub use pie::{Pie, PieParams};
pub use queue::QueueSpec;
pub use rdqm::{Rdqm, RdqmParams, RdqmWeight};
pub use red::{Red, RedParams};
pub use registry::{Discipline, DisciplineName, QueueTable};
pub use sfq::{Sfq, SfqParams};
