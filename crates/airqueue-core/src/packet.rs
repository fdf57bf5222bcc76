//! Packets in queues.

use crate::Time;

crate::ids! {
    /// The key by which queues distinguish flows, as Linux's flow keys: packets of one flow have one key. The owner of
    /// the queue assigns the keys.
    FlowKey(u32);
    /// A neighbour of a station, as numbered by the owner of the queue before it: 0, 1, 2 and so on.
    NeighbourId(u16);
}

/// A packet as a queue sees it: small, `Copy`, and without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Unique within one simulation.
    pub id: u64,
    /// The packet's flow; disciplines with a queue per flow use nothing else.
    pub flow: FlowKey,
    /// IP packet size in bytes.
    pub size: u32,
    /// When the source created the packet.
    pub created: Time,
    /// When the discipline that holds the packet accepted it: the start of its sojourn time.
    pub enqueued: Time,
    /// Handle of the packet's bytes.
    pub payload: Payload,
    /// The neighbour that the packet goes to, as the owner of the queue numbers neighbours; disciplines with a queue
    /// per neighbour use nothing else.
    pub neighbour: NeighbourId,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The differentiated services codepoint of the IP header, 0 to 63 (RFC 2474).
    pub dscp: u8,
}

// Queues hold many packets.
const _: () = assert!(size_of::<Packet>() == 40);

/// The ECN field of an IP header (RFC 3168, section 5). ECT(0) and ECT(1) are not distinguished: no discipline treats
/// them differently.
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

/// A handle for the bytes of a packet in the store of the simulation; queues never access the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload(pub u32);

/// The ends of a flow. Packets do not carry their ends: a discipline that is fair among hosts gets them once per flow
/// ([`LinkFeedback::set_flow_hosts`]).
///
/// [`LinkFeedback::set_flow_hosts`]: crate::LinkFeedback::set_flow_hosts
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// The source host, as the owner of the queues numbers hosts.
    pub source: u32,
    /// The destination host.
    pub destination: u32,
}

impl Ecn {
    /// The ECN field of a traffic class: its two last bits.
    pub fn of(traffic_class: u8) -> Ecn {
        match traffic_class & 3 {
            0 => Ecn::NotEct,
            3 => Ecn::Ce,
            _ => Ecn::Ect,
        }
    }

    /// Whether the packet may carry, or carries, a mark.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// A number of packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCount {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl PacketCount {
    /// Counts a packet.
    pub fn add(&mut self, packet: &Packet) {
        self.add_size(u64::from(packet.size));
    }

    /// Counts a packet of so many bytes.
    pub fn add_size(&mut self, bytes: u64) {
        self.add_alike(bytes, 1);
    }

    /// Counts a number of packets of so many bytes each.
    #[inline]
    pub fn add_alike(&mut self, bytes: u64, packets: u64) {
        self.packets += packets;
        self.bytes += bytes * packets;
    }

    /// The count since an earlier moment.
    pub fn since(&self, before: &PacketCount) -> PacketCount {
        PacketCount { packets: self.packets - before.packets, bytes: self.bytes - before.bytes }
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &PacketCount) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Packet {
    /// A packet of `size` bytes created at `now`, for neighbour 0, without payload, not ECN-capable, of the default
    /// class.
    pub fn new(id: u64, flow: FlowKey, size: u32, now: Time) -> Packet {
        Packet {
            id,
            flow,
            size,
            created: now,
            enqueued: now,
            payload: Payload::default(),
            neighbour: NeighbourId(0),
            ecn: Ecn::NotEct,
            dscp: 0,
        }
    }
}
