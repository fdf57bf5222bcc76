//! The ids of the parts of a network: places in the network's lists.

use airqueue_core::{FlowKey, Packet};

airqueue_core::ids! {
    /// A flow: its place in [`NetworkSpec::flows`](crate::network::NetworkSpec::flows).
    FlowId(u32);
    /// A route of a flow: 0 is the usual route, 1 and above are the [others](crate::network::FlowSpec::others).
    RouteId(u32);
    /// A hop of a route. A hop over the air has its place in [`WlanSpec::hops`](crate::wlan::WlanSpec::hops); hops
    /// through wires come after the hops over the air.
    HopId(u32);
    /// A wire: its place in [`NetworkSpec::wires`](crate::network::NetworkSpec::wires).
    WireId(u32);
    /// The queue of one access category of a station, numbered over all stations, station by station.
    InterfaceId(u32);
    /// One direction of a flow, or of one of its lanes.
    PathId(u32);
    /// The successive connections of a flow that TCP governs, or of several side by side one lane: the place among those
    /// of all flows, flow by flow.
    ConnectionId(u32);
    /// A browser: the flow's place among all flows of pages.
    BrowserId(u32);
    /// A source of packets that TCP does not govern.
    SourceId(u32);
    /// The messages of a flow: pictures, or answers to requests.
    MessagesId(u32);
}

impl PathId {
    /// The path of the acknowledgements of a flow that TCP governs, which directly follows the path of the data.
    #[inline]
    pub(crate) const fn back(self) -> PathId {
        PathId(self.0 + 1)
    }
}

impl HopId {
    /// The hop that a packet takes. Queues see a hop as a flow ([`Packet::flow`]).
    #[inline]
    pub fn of(packet: &Packet) -> HopId {
        HopId(packet.flow.0)
    }

    /// The flow key of the hop's packets in queues.
    #[inline]
    pub const fn flow(self) -> FlowKey {
        FlowKey(self.0)
    }
}
