//! 802.11 as state machines and exact processes, without a clock of its own.

pub mod contention;
pub mod mac;
pub mod medium;
pub mod phy;
pub mod rate_control;
pub mod routing;

pub use contention::{
    Contender, ContenderCounters, Contention, ContentionError, CountdownRule, Counts,
};
pub use phy::{Phy, PhyError, RateIndex};
pub use rate_control::RateControl;
