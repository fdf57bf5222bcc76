//! Words that every other crate of airqueue speaks: time, data rates, packets, random streams and
//! the queue discipline trait. Nothing here reads a clock or touches the operating system.

pub mod packet;
pub mod qdisc;
pub mod rate;
pub mod rng;
pub mod time;

pub use packet::{Ecn, Packet, Payload};
pub use qdisc::{DropReason, Dropped, Drops, Feedback, Limit, QueueDisc, Sent};
pub use rate::{DataRate, Serializer};
pub use rng::{Seed, Stream};
pub use time::{Span, Time};
