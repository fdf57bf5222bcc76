//! End systems as state machines without a clock: traffic sources, TCP and voice calls.

pub mod tcp;
pub mod traffic;
pub mod voice;
