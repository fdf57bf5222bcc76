//! Queue disciplines: one file each, and a line of [`registry`].
//!
//! A discipline's file has its queue, which implements [`airqueue_core::QueueDisc`] and the two traits beside it, and its
//! parameters, which implement [`Parameters`]: the keys of its table in scenarios, what they must be, and how a queue is made of
//! them. The registry makes of all disciplines what describes, checks and builds queues: [`QueueTable`], [`QueueSpec`], and the
//! short form of [`text`]. Whoever uses these knows no discipline by name.

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
pub use cake::{Cake, CakeParams, Diffserv, Isolation};
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
