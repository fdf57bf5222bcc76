//! Words that every other crate of airqueue speaks: time, data rates, packets, random streams and
//! the queue discipline trait. Nothing here reads a clock or touches the operating system.

pub mod time;

pub use time::{Span, Time};
