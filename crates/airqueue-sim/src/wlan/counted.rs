//! A queue and the books on it.

use super::record::QueueTally;
use super::spec::QueueSpec;
use crate::stages::{Framing, Stages};
use airqueue_core::{DropReason, Dropped, Packet, Stream, Time};

/// Queue discipline, ring, and the books on them.
#[derive(Debug)]
pub(crate) struct CountedQueue {
    pub(crate) stages: Stages,
    pub(crate) tally: QueueTally,
    /// How many packets wait, and since when.
    waiting: u64,
    changed: Time,
}

impl CountedQueue {
    /// An empty queue with its own chance.
    pub(crate) fn new(spec: &QueueSpec, chance: Stream) -> CountedQueue {
        let framing = Framing { link_layer: spec.link_layer_bytes, mpu: 0 };
        CountedQueue {
            stages: Stages::new(spec.make(chance), spec.ring_packets, framing),
            tally: QueueTally::default(),
            waiting: 0,
            changed: Time::ZERO,
        }
    }

    /// Hands over what has been dropped since the last call; true if there was anything.
    #[inline]
    pub(crate) fn take_drops(&mut self, mut each: impl FnMut(Dropped)) -> bool {
        let any = !self.stages.drops().as_slice().is_empty();
        for drop in self.stages.drops().drain() {
            self.tally.dropped.add(&drop.packet);
            each(drop);
        }
        any
    }

    /// A packet comes. What that cost is in the stages' drops.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Time) {
        self.pass(now);
        self.tally.offered.add(&packet);
        let marked = self.stages.account().marked;
        self.stages.enqueue(packet, now);
        self.count(marked);
    }

    /// The next packet for the MAC.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.take_by(now, |stages| stages.take(now))
    }

    #[inline(always)]
    fn take_by(
        &mut self,
        now: Time,
        take: impl FnOnce(&mut Stages) -> Option<Packet>,
    ) -> Option<Packet> {
        let packet = self.look(now, take);
        if let Some(packet) = &packet {
            self.tally.taken.add(packet);
            self.tally.waited.add(now - packet.enqueued);
        }
        packet
    }

    /// The packet for a hop that [`Self::take_along`] returns.
    pub(crate) fn peek_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.look(now, |stages| stages.peek_along(hop, now).copied())
    }

    /// The hop of a packet that waits and is for none of these.
    pub(crate) fn next_hop_beside(&mut self, hops: &[u16], now: Time) -> Option<u16> {
        self.look(now, |stages| stages.next_hop_beside(hops, now))
    }

    fn look<T>(&mut self, now: Time, look: impl FnOnce(&mut Stages) -> T) -> T {
        self.pass(now);
        let marked = self.stages.account().marked;
        let found = look(&mut self.stages);
        self.count(marked);
        found
    }

    /// The next packet for a hop, out of turn.
    pub(crate) fn take_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.take_by(now, |stages| stages.take_along(hop, now))
    }

    /// The books up to `now`.
    pub(crate) fn tally_at(&mut self, now: Time) -> QueueTally {
        self.pass(now);
        self.tally
    }

    /// Begins new books, and returns the old ones.
    pub(crate) fn start_counting(&mut self, now: Time) -> QueueTally {
        self.pass(now);
        std::mem::take(&mut self.tally)
    }

    /// Lets time pass to `now` with the queue as long as it is.
    fn pass(&mut self, now: Time) {
        let since = i128::from((now - self.changed).as_nanos());
        self.tally.packet_time += i128::from(self.waiting) * since;
        self.changed = now;
    }

    /// After a call, before which so many packets had been marked: the drops that it caused are still in the
    /// stages.
    fn count(&mut self, marked: u64) {
        self.tally.marked += self.stages.account().marked - marked;
        for drop in self.stages.drops().as_slice() {
            if drop.reason == DropReason::Aqm {
                self.tally.dropped_early.add(&drop.packet);
            }
        }
        self.waiting = self.stages.packets();
        self.tally.longest = self.tally.longest.max(self.waiting);
    }
}
