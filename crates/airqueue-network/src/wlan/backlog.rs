//! How many flows have packets at an interface, in the queue or in the MAC's hands: what a TXOP by flows goes by.

use super::engine::Wlan;
use super::interface::Interface;
use super::upper::UpperLayer;
use crate::HopId;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// Of an interface. It counts only where the answer is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    counts: bool,
    flows: u32,
    /// How often its queue has won the medium.
    txops: u64,
}

/// A flow's part in that of its interface.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    packets: u64,
    /// During which TXOP it had its last packet.
    until: u64,
}

impl Backlog {
    /// Without packets.
    pub(super) fn new(counts: bool) -> Backlog {
        Backlog { counts, flows: 0, txops: 0 }
    }

    /// A packet comes. True if its flow has had none since the queue has won the medium.
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

    /// A packet is gone: dropped, or out of the MAC's hands.
    #[inline]
    pub(super) fn remove(&mut self, flow: &mut Presence) {
        if !self.counts {
            return;
        }
        flow.packets -= 1;
        if flow.packets == 0 {
            self.flows -= 1;
            flow.until = self.txops;
        }
    }

    /// Its queue has won the medium: how many flows have packets.
    fn open_txop(&mut self) -> u32 {
        self.txops += 1;
        self.flows
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// A queue has won the medium: each flow with packets in it may send one.
    pub(super) fn open_txop(&mut self, station: StationId, ac: AccessCategory) {
        let interface = self.interface_of(station, ac);
        let backlog = &mut self.interfaces[interface.index()].backlog;
        if backlog.counts {
            let others = backlog.open_txop() - 1;
            self.listeners.macs[station.index()].extend_txop(ac, others);
        }
    }

    /// A flow that had none has got a packet: it may send it in the TXOP that its queue has, if it has one. If the
    /// packet was dropped there is none.
    #[cold]
    pub(super) fn extend_txop(&mut self, hop: HopId) {
        let hop = &self.hops[hop.index()];
        let Interface { station, ac, .. } = self.interfaces[hop.interface.index()];
        if hop.presence.packets > 0 {
            self.listeners.macs[station.index()].extend_txop(ac, 1);
        }
    }
}
