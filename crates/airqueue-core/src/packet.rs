//! What queues hold.

use crate::Time;

/// A packet as a queue sees it: small, `Copy`, and without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Unique within one simulation.
    pub id: u64,
    /// Which flow it belongs to; disciplines that keep flows apart look at nothing else.
    pub flow: u32,
    /// IP packet size in bytes.
    pub size: u32,
    /// When its source made it.
    pub created: Time,
    /// When the discipline that holds it took it in: what sojourn times are counted from.
    pub enqueued: Time,
    /// Where its bytes are.
    pub payload: Payload,
    /// The neighbour that it goes to, as numbered by whoever owns the queue; disciplines that keep
    /// neighbours apart look at nothing else.
    pub hop: u16,
    /// What its IP header says about congestion.
    pub ecn: Ecn,
}

// Queues hold many of them.
const _: () = assert!(size_of::<Packet>() == 40);

/// The ECN field of an IP header (RFC 3168, section 5). ECT(0) and ECT(1) are one: no discipline
/// treats them differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not understand marks: Not-ECT.
    #[default]
    NotEct,
    /// The transport understands marks: ECT.
    Ect,
    /// Marked, congestion experienced: CE.
    Ce,
}

/// Names the bytes of a packet in whatever store the owner of the simulation keeps; queues carry it
/// along and never look inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload(pub u32);

impl Ecn {
    /// Whether the packet may carry a mark, or does.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

impl Packet {
    /// A packet of `size` bytes made at `now`, for neighbour 0, with no payload and not ECN-capable.
    pub fn new(id: u64, flow: u32, size: u32, now: Time) -> Packet {
        Packet {
            id,
            flow,
            size,
            created: now,
            enqueued: now,
            payload: Payload::default(),
            hop: 0,
            ecn: Ecn::NotEct,
        }
    }
}
