//! The way out of a device: what became of each packet, and the books on all of them.

use crate::outcome::Outcome;
use airqueue_core::Tally;
use airqueue_core::{DropReason, Packet, Stream};
use std::collections::VecDeque;

/// The books on a whole device: offered = dropped + lost + delivered + waiting + in service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Arrived.
    pub offered: Tally,
    /// Dropped before service.
    pub dropped: Tally,
    /// Lost after service.
    pub lost: Tally,
    /// Left.
    pub delivered: Tally,
}

/// Collects outcomes and keeps the books.
#[derive(Debug)]
pub(super) struct Exit {
    loss: f64,
    chance: Stream,
    pub(super) books: Books,
    pub(super) outcomes: VecDeque<Outcome>,
}

impl Exit {
    /// Each served packet is lost with probability `loss`, as `chance` decides.
    pub(super) fn new(loss: f64, chance: Stream) -> Exit {
        Exit { loss, chance, books: Books::default(), outcomes: VecDeque::new() }
    }

    /// A packet was served.
    pub(super) fn depart(&mut self, packet: Packet) {
        if self.loss > 0.0 && self.chance.chance(self.loss) {
            self.books.lost.add(&packet);
            self.outcomes.push_back(Outcome::Lost(packet));
        } else {
            self.books.delivered.add(&packet);
            self.outcomes.push_back(Outcome::Delivered(packet));
        }
    }

    /// A packet was dropped.
    pub(super) fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.books.dropped.add(&packet);
        self.outcomes.push_back(Outcome::Dropped(packet, reason));
    }
}
