//! Which flows pass an interface, which of them are active, and how long their ends take to answer; by listening alone.
//!
//! The interface is the one towards the stations. Every packet of TCP and UDP comes to [`Flows::on_packet`], cut behind its
//! headers; [`Flows::look`] says what passed since the last look.
//!
//! # What a round trip is
//!
//! Two halves, added, are a connection's round trip: from here to the station and back, and from here to the far end and
//! back ([`round_trip`]). Linux shows a packet that leaves to listeners when the driver gets the packet, behind the
//! queue discipline: the wait in this interface's discipline is in the far half, as between a station's acknowledgement and
//! the data that follows there lies that queue. The least sample of the last minute is the delay without that wait as soon as
//! the queue was empty once in this minute; in a queue that never drains it is too long by what always waits.
//!
//! # What others can do
//!
//! At most [`MOST_FLOWS`] flows are known, of which at most [`MOST_SILENT`] have had no payload, so that a flood of SYNs
//! hides no transfer. A flow beyond takes the place of one that moves nothing, or its packets are counted. Whoever sends false packets makes false flows.

mod packet;
pub mod round_trip;
mod stream;
mod table;

pub use packet::{End, Mac, Packet, Protocol, Segment, Timestamps};
pub use table::{
    ACTIVE_BPS, Direction, Flow, FlowKey, Flows, Half, IDLE, Look, MOST_FLOWS, MOST_SILENT,
};
