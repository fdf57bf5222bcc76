//! The output of a device: the outcome of each packet, and the device's packet counters.

use crate::outcome::Outcome;
use airqueue_core::{DropReason, Packet, PacketCount, RandomStream};
use std::collections::VecDeque;

/// The counters of a whole device: offered = dropped + lost + delivered + waiting + in service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets that arrived.
    pub offered: PacketCount,
    /// Packets dropped before service.
    pub dropped: PacketCount,
    /// Packets lost after service.
    pub lost: PacketCount,
    /// Packets that left the device.
    pub delivered: PacketCount,
}

/// Collects outcomes and keeps the counters.
#[derive(Debug)]
pub(super) struct Egress {
    loss: f64,
    rng: RandomStream,
    pub(super) counters: DeviceCounters,
    pub(super) outcomes: VecDeque<Outcome>,
}

impl Egress {
    /// Each served packet is lost with probability `loss`, drawn from `rng`.
    pub(super) fn new(loss: f64, rng: RandomStream) -> Egress {
        Egress { loss, rng, counters: DeviceCounters::default(), outcomes: VecDeque::new() }
    }

    /// A packet was served.
    pub(super) fn depart(&mut self, packet: Packet) {
        if self.loss > 0.0 && self.rng.bernoulli(self.loss) {
            self.counters.lost.add(&packet);
            self.outcomes.push_back(Outcome::Lost(packet));
        } else {
            self.counters.delivered.add(&packet);
            self.outcomes.push_back(Outcome::Delivered(packet));
        }
    }

    /// A packet was dropped.
    pub(super) fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.counters.dropped.add(&packet);
        self.outcomes.push_back(Outcome::Dropped(packet, reason));
    }
}
