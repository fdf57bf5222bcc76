//! What end systems do: where packets come from, TCP and calls, as state machines without a clock.

pub mod tcp;
pub mod traffic;
pub mod voice;
