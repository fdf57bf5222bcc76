//! What end systems do: where packets come from, as state machines without a clock.

pub mod traffic;
