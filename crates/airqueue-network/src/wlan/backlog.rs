//! The number of flows with packets at an interface, in the queue or held by the MAC. A TXOP by flows depends on this
//! number.

use super::engine::Wlan;
use super::feeder::Feeder;
use super::upper::UpperLayer;
use crate::HopId;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// The backlog of an interface, counted only where the number is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    counts: bool,
    flows: u32,
    /// Number of TXOPs that the queue has won.
    txops: u64,
}

/// A flow's share of its interface's backlog.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    packets: u64,
    /// The TXOP in which the flow last had a packet.
    until: u64,
}

impl Backlog {
    /// A backlog without packets.
    pub(super) fn new(counts: bool) -> Backlog {
        Backlog { counts, flows: 0, txops: 0 }
    }

    /// A packet arrives. True if its flow has had no packet since the queue won the medium.
    #[inline]
    pub(super) fn add(&mut self, flow: &mut Presence) -> bool {
        if !self.counts {
            return false;
        }
        flow.packets += 1;
        if flow.packets > 1 {
            return false;
        }
        self.flows += 1;
        flow.until < self.txops
    }

    /// Packets of a flow have left: dropped, or finished by the MAC.
    #[inline]
    pub(super) fn remove(&mut self, flow: &mut Presence, packets: u64) {
        if !self.counts {
            return;
        }
        flow.packets -= packets;
        if flow.packets == 0 {
            self.flows -= 1;
            flow.until = self.txops;
        }
    }

    /// The queue has won the medium: returns the number of flows with packets.
    fn open_txop(&mut self) -> u32 {
        self.txops += 1;
        self.flows
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// A queue has won the medium: each flow with packets in the queue may send one packet.
    pub(super) fn open_txop(&mut self, station: StationId, ac: AccessCategory) {
        let interface = self.interface_of(station, ac);
        let backlog = &mut self.interfaces[interface.index()].backlog;
        if backlog.counts {
            let others = backlog.open_txop() - 1;
            self.listeners.macs[station.index()].extend_txop(ac, others);
        }
    }
}

impl<U: UpperLayer> Feeder<'_, U> {
    /// A flow without packets has got a packet, and may send this packet in the present TXOP of its queue, if there is
    /// one. A packet that was dropped changes nothing.
    #[cold]
    pub(super) fn extend_txop(&mut self, hop: HopId) {
        if self.hops[hop.index()].presence.packets > 0 {
            self.mac.extend_txop(self.interface.ac, 1);
        }
    }
}
