//! Changes of a wireless LAN at work.

use super::engine::Wlan;
use super::hop::Hop;
use super::interface::counted;
use super::listeners::Away;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use crate::{HopId, InterfaceId};
use airqueue_core::{Hosts, Limit, Packet, RandomStream, TcpHeader};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::Txop;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

impl<U: UpperLayer> Wlan<U> {
    /// Changes the limit of a station's queue for an access category, now; a queue that separates flows or links
    /// applies the limit to each of them. Packets already waiting stay, even beyond the limit: only an arrival causes
    /// drops. A ring behind the queue keeps its room.
    ///
    /// # Panics
    ///
    /// If the queue does not exist.
    pub fn set_limit(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        limit: Limit,
        queue: &mut EventQueue<U::Event>,
    ) {
        let interface = self.interface_of(station, ac);
        let of = &mut self.interfaces[interface.index()];
        match (&mut of.counted, limit) {
            // The next arrival gives the queue its part of the limit.
            (Some(counted), Limit::Packets(packets)) => *counted = packets,
            _ => of.queue.tx_queue.set_limit(limit),
        }
        self.fill(interface, queue);
    }

    /// Gives a station's access category another limit of TXOPs ([`Mac::set_txop`](airqueue_wifi::mac::Mac::set_txop)).
    pub fn set_txop(&mut self, station: StationId, ac: AccessCategory, txop: Txop) {
        self.listeners.macs[station.index()].set_txop(ac, txop);
    }

    /// Gives a station's access category another AIFSN ([`Mac::set_aifsn`](airqueue_wifi::mac::Mac::set_aifsn)).
    pub fn set_aifsn(&mut self, station: StationId, ac: AccessCategory, aifsn: u32) {
        self.listeners.set_aifsn(station, ac, aifsn);
    }

    /// Gives a station's access category other windows
    /// ([`Mac::set_windows`](airqueue_wifi::mac::Mac::set_windows)).
    pub fn set_windows(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        (w_min, w_max): (u32, u32),
    ) {
        self.listeners.macs[station.index()].set_windows(ac, w_min, w_max);
    }

    /// Replaces a station's queue for an access category, now. Packets that wait stay in the queue that is replaced, and
    /// leave before later packets. The new queue knows neither hosts of flows nor limits of its parts. `spec` counts
    /// bytes as the queue that is replaced.
    ///
    /// # Panics
    ///
    /// If the queue does not exist.
    pub fn replace_queue(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        (spec, rng): (&QueueSpec, RandomStream),
        queue: &mut EventQueue<U::Event>,
    ) {
        let interface = self.interface_of(station, ac);
        self.interfaces[interface.index()].queue.replace(spec, rng, queue.now());
        self.interfaces[interface.index()].counted = counted(spec);
        // A new ring dequeues at once, and dequeuing can drop.
        self.report_drops(interface);
        self.fill(interface, queue);
    }

    /// Changes the limit of the queue in which only the packets of a hop wait at the sending station or, where queues
    /// are per link, only those of the hop's link; by the rules of [`Self::set_limit`]. Returns false and changes
    /// nothing where all packets wait in one queue.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
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

    /// Sets the ends of a hop's flow, for the queue of the hop's packets.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn set_flow_hosts(&mut self, hop: HopId, hosts: Hosts) {
        let interface = self.hops[hop.index()].interface;
        self.interfaces[interface.index()].queue.tx_queue.set_flow_hosts(hop.flow(), hosts);
    }

    /// Whether the queue of a hop's packets reads TCP headers.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn reads_tcp_headers(&self, hop: HopId) -> bool {
        let interface = self.hops[hop.index()].interface;
        self.interfaces[interface.index()].queue.tx_queue.reads_tcp_headers()
    }

    /// Sets the TCP header of a packet, the next that is offered, for the queue of the packet's hop.
    ///
    /// # Panics
    ///
    /// If there is no hop with the number in [`Packet::flow`].
    pub fn set_tcp_header(&mut self, packet: &Packet, header: &TcpHeader) {
        let interface = self.hops[HopId::of(packet).index()].interface;
        self.interfaces[interface.index()].queue.tx_queue.set_tcp_header(packet.id, header);
    }

    /// Changes the rate of a hop's data frames, now. Packets held by the MAC keep the rate with which they were
    /// dequeued.
    ///
    /// # Panics
    ///
    /// If the hop does not exist, or has rate control.
    pub fn set_rate(&mut self, hop: HopId, rate: RateIndex) {
        let hop = &mut self.hops[hop.index()];
        assert!(hop.control.is_none(), "rate control looks for the rate");
        hop.rate = rate;
    }

    /// A station goes out of reach of all others, or comes back, now. A station out of reach takes no packets out of its
    /// queues; nobody decodes frames from the station, and the station decodes none, so that the MACs of other stations
    /// repeat and give up packets for the station. What the station's MAC had in hand is repeated and given up
    /// likewise; until then, the station occupies the medium.
    ///
    /// # Panics
    ///
    /// If the station does not exist.
    pub fn set_away(&mut self, station: StationId, away: bool, queue: &mut EventQueue<U::Event>) {
        self.listeners.set_away(station, Away::ByChange, away, queue.now());
        self.on_reach_changed(station, away, queue);
        if !away {
            self.interfaces_of(station).for_each(|interface| self.fill(interface, queue));
        }
        self.conclude(queue);
    }

    /// A station has another position from now on: who hears and senses the station, and whom the station hears, and
    /// with what power. Frames on the air are heard as they began. Routes and rates stay.
    ///
    /// # Panics
    ///
    /// If the station does not exist, the stations have no positions, or the new position is not valid.
    pub fn move_station(&mut self, station: StationId, x_m: f64, y_m: f64) {
        self.listeners.move_station(station, x_m, y_m);
    }

    /// Whether a station is out of reach of all others.
    #[inline]
    pub fn is_away(&self, station: StationId) -> bool {
        self.listeners.is_away(station)
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

    /// The queues of a station.
    pub(super) fn interfaces_of(
        &self,
        station: StationId,
    ) -> impl Iterator<Item = InterfaceId> + use<U> {
        let (first, end) = (self.first[station.index()], self.first[station.index() + 1]);
        (first.0..end.0).map(InterfaceId)
    }
}
