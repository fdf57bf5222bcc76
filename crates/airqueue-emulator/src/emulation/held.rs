//! Packets in the network.

use super::routers::Errand;
use crate::figures::LossPlace;
use crate::header;
use airqueue_core::{Ecn, Packet, Time};

/// A packet in the network.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    /// The route that the packet takes in the network.
    pub(super) route: usize,
    /// The route among whose packets the packet counts: of a fragment that of the whole packet.
    pub(super) pair: usize,
    /// The link for which a router at the end of `route` fragments the packet.
    pub(super) narrow: Option<Narrow>,
    /// When the packet entered the network; a fragment does so at the router that made it.
    pub(super) arrived: Time,
    /// When the node sent the packet; a fragment was sent with the whole packet.
    pub(super) sent: Time,
    /// The ECN field with which the packet was sent.
    pub(super) ecn: Ecn,
    /// What the sender's owner holds, until the sender's station is done with the packet.
    pub(super) token: Option<u32>,
    /// Whether the sender's station still has the packet.
    pub(super) at_sender: bool,
    /// Whether the packet has not left the network.
    pub(super) in_network: bool,
    pub(super) purpose: Purpose,
    /// Where the packet was dropped or given up, if it was.
    pub(super) lost_at: Option<LossPlace>,
}

/// Why a packet is in the network.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Purpose {
    /// The packet goes from a real node to its destination.
    #[default]
    Carried,
    /// The packet goes from a real node to a router that does not forward the packet.
    Stopped(Errand),
    /// A router has sent the packet.
    FromRouter,
}

/// A link that carries no packet of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    /// The largest packets of the link, in IP bytes.
    pub(super) mtu_bytes: u32,
    /// The place to which the fragments go.
    pub(super) to: usize,
}

impl Held {
    /// Whether the packet counts among those of its pair.
    pub(super) fn is_carried(&self) -> bool {
        matches!(self.purpose, Purpose::Carried)
    }

    /// Whether a router has to do something about the packet, at the end of its route.
    pub(super) fn is_for_router(&self) -> bool {
        self.narrow.is_some() || matches!(self.purpose, Purpose::Stopped(_))
    }

    /// Writes into a delivered packet what the network and so many routers changed. Returns whether a queue has marked the
    /// packet.
    pub(super) fn finish(&mut self, routers: usize, packet: &Packet) -> bool {
        if packet.ecn == Ecn::Ce {
            header::mark_ce(&mut self.bytes);
        }
        header::pass_routers(&mut self.bytes, routers as u8);
        self.ecn != Ecn::Ce && packet.ecn == Ecn::Ce
    }
}
