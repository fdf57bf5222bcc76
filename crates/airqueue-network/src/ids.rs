//! The names of what a network has, as places in its lists.

use airqueue_core::{FlowKey, Packet};

airqueue_core::ids! {
    /// A flow, by its place in [`NetworkSpec::flows`](crate::network::NetworkSpec::flows).
    FlowId(u32);
    /// A route of a flow, by its place: 0 for the usual one, and from 1 on its
    /// [others](crate::network::FlowSpec::others).
    RouteId(u32);
    /// A hop of a route. A hop over the air has its place in [`WlanSpec::hops`](crate::wlan::WlanSpec::hops); hops through
    /// wires come after those.
    HopId(u32);
    /// A wire, by its place in [`NetworkSpec::wires`](crate::network::NetworkSpec::wires).
    WireId(u32);
    /// The queue of an access category of a station, among those of all stations: one station's after the other's.
    InterfaceId(u32);
    /// One direction of a flow.
    PathId(u32);
    /// The connections of a flow that TCP governs, by the flow's place among these flows.
    ConnectionId(u32);
    /// A source of packets that TCP does not govern.
    SourceId(u32);
}

impl PathId {
    /// The acknowledgements' of a flow that TCP governs: their path comes right after that of the data.
    #[inline]
    pub(crate) const fn back(self) -> PathId {
        PathId(self.0 + 1)
    }
}

impl HopId {
    /// The hop that a packet takes: queues know a hop as a flow ([`Packet::flow`]).
    #[inline]
    pub fn of(packet: &Packet) -> HopId {
        HopId(packet.flow.0)
    }

    /// What queues tell the packets of the hop apart by.
    #[inline]
    pub const fn flow(self) -> FlowKey {
        FlowKey(self.0)
    }
}
