//! What is changed in a network while it runs.

use super::engine::Wlan;
use super::hop::Hop;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use crate::{HopId, InterfaceId};
use airqueue_core::{Hosts, Limit};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Changes the limit of a station's queue for an access category, now; where it keeps flows or links apart, that of
    /// each. What waits in it stays, also beyond the limit: no packet is dropped but by its arrival. A ring behind the
    /// queue has as much room as before.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn set_limit(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        limit: Limit,
        queue: &mut EventQueue<U::Event>,
    ) {
        let interface = self.interface_of(station, ac);
        self.interfaces[interface.index()].queue.tx_queue.set_limit(limit);
        self.fill(interface, queue);
    }

    /// Changes the limit of the queue that the packets of a hop have for themselves at the station that sends them or,
    /// where queues are for links, that they share with the other hops of their link; by the rules of
    /// [`Self::set_limit`]. False, and nothing changes, where all packets wait in one queue.
    ///
    /// # Panics
    ///
    /// If there is no such hop.
    pub fn set_hop_limit(
        &mut self,
        hop: HopId,
        limit: Limit,
        queue: &mut EventQueue<U::Event>,
    ) -> bool {
        let &Hop { interface, neighbour, .. } = &self.hops[hop.index()];
        let changed = self.interfaces[interface.index()].queue.tx_queue.set_limit_of(
            hop.flow(),
            neighbour,
            limit,
        );
        if changed {
            self.fill(interface, queue);
        }
        changed
    }

    /// Names the ends of the flow of a hop to the queue that its packets wait in.
    ///
    /// # Panics
    ///
    /// If there is no such hop.
    pub fn set_flow_hosts(&mut self, hop: HopId, hosts: Hosts) {
        let interface = self.hops[hop.index()].interface;
        self.interfaces[interface.index()].queue.tx_queue.set_flow_hosts(hop.flow(), hosts);
    }

    /// Changes the rate of a hop's data frames, now. Packets that the MAC has in hand are sent at the rate that they
    /// were taken with.
    ///
    /// # Panics
    ///
    /// If there is no such hop, or rate control looks for its rate.
    pub fn set_rate(&mut self, hop: HopId, rate: RateIndex) {
        let hop = &mut self.hops[hop.index()];
        assert!(hop.control.is_none(), "rate control looks for the rate");
        hop.rate = rate;
    }

    /// The queue of an access category of a station.
    ///
    /// # Panics
    ///
    /// If the station has no such access category.
    #[inline]
    pub fn interface_of(&self, station: StationId, ac: AccessCategory) -> InterfaceId {
        let (first, end) = (self.first[station.index()], self.first[station.index() + 1]);
        let interface = InterfaceId(first.0 + ac.index() as u32);
        assert!(interface < end, "the station has no such access category");
        interface
    }
}
