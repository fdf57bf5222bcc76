//! The names of what a network has, as places in its lists.

use airqueue_core::Packet;

airqueue_core::ids! {
    /// A flow, by its place in [`NetworkSpec::flows`](crate::network::NetworkSpec::flows).
    FlowId;
    /// A route of a flow, by its place: 0 for the usual one, and from 1 on its
    /// [others](crate::network::FlowSpec::others).
    RouteId;
    /// A hop of a route. A hop over the air has its place in [`WlanSpec::hops`](crate::wlan::WlanSpec::hops); hops through
    /// wires come after those.
    HopId;
    /// A wire, by its place in [`NetworkSpec::wires`](crate::network::NetworkSpec::wires).
    WireId;
    /// The queue of an access category of a station, among those of all stations: one station's after the other's.
    InterfaceId;
    /// One direction of a flow.
    PathId;
    /// The connections of a flow that TCP governs, by the flow's place among these flows.
    ConnectionId;
    /// A source of packets that TCP does not govern.
    SourceId;
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
        HopId(packet.flow)
    }
}
