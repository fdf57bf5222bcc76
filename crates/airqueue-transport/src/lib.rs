//! What end systems do: where packets come from, and TCP, as state machines without a clock.

pub mod tcp;
pub mod traffic;
