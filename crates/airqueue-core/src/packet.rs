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
    /// The differentiated services codepoint of its IP header, 0 to 63 (RFC 2474).
    pub dscp: u8,
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

/// The ends of a flow. Packets do not carry them: a discipline that is fair among hosts learns them once for each flow
/// ([`LinkFeedback::know_flow`]).
///
/// [`LinkFeedback::know_flow`]: crate::LinkFeedback::know_flow
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// Where its packets come from, by whatever numbers the owner of the queues gives hosts.
    pub source: u32,
    /// Where they go.
    pub destination: u32,
}

impl Ecn {
    /// Whether the packet may carry a mark, or does.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A number of packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts one packet more.
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Tally) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Packet {
    /// A packet of `size` bytes made at `now`, for neighbour 0, with no payload, not ECN-capable, of the
    /// default class.
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
            dscp: 0,
        }
    }
}
