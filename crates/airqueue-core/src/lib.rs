//! The types that every other crate of airqueue uses: time, data rates, packets, random streams, the queue discipline
//! traits, the arithmetic of buffers, the grammar of quantities and keys of files, and the checked reading of bytes. Nothing here reads a clock or
//! touches the operating system.

pub mod buffers;
pub mod bytes;
mod device;
mod ids;
pub mod keys;
pub mod packet;
pub mod qdisc;
pub mod quantity;
pub mod ranges;
pub mod rate;
pub mod rng;
mod tcp_header;
pub mod time;

pub use device::{AirRate, Device, DeviceAirtime};
pub use packet::{Ecn, FlowKey, Hosts, NeighbourId, Packet, PacketCount, Payload};
pub use qdisc::{
    BoxedQueue, ByNeighbour, DropReason, Dropped, Drops, Feedback, Limit, LinkFeedback, LinkQueue,
    NeighbourFacts, QueueDisc, Sent,
};
pub use rate::{DataRate, Serializer};
pub use rng::{RandomStream, Seed};
pub use tcp_header::{EcnFlags, OctetRange, SackBlocks, TcpHeader};
pub use time::{Span, Time};
