//! One queue of a station: where its packets wait for the MAC.

use super::record::QueueTally;
use super::spec::QueueSpec;
use crate::stages::{Framing, Stages};
use airqueue_core::{DropReason, Packet, Seed, Time};
use airqueue_wifi::medium::StationId;
use std::collections::BTreeMap;

/// Queue discipline, ring, and the books on them.
#[derive(Debug)]
pub(super) struct Interface {
    /// Whose it is, and which of that station's queues.
    pub(super) station: usize,
    pub(super) category: usize,
    pub(super) stages: Stages,
    /// The saturated flows that feed it.
    pub(super) saturated: Vec<u32>,
    pub(super) tally: QueueTally,
    /// Which rate control chose the rate of its last data frame.
    pub(super) control: Option<usize>,
    /// How many packets wait, and since when.
    waiting: u64,
    changed: Time,
}

/// The numbers that queues give to the stations they send to: 0, 1, 2 in the order of the first flows.
#[derive(Debug, Default)]
pub(super) struct Hops {
    known: BTreeMap<(usize, StationId), u16>,
    /// How many each queue has.
    count: BTreeMap<usize, u32>,
}

impl Hops {
    /// The number of a station at a queue; `None`: it has no more of them.
    pub(super) fn number(&mut self, interface: usize, to: StationId) -> Option<u16> {
        if let Some(&hop) = self.known.get(&(interface, to)) {
            return Some(hop);
        }
        let count = self.count.entry(interface).or_default();
        let hop = u16::try_from(*count).ok()?;
        *count += 1;
        self.known.insert((interface, to), hop);
        Some(hop)
    }
}

impl Interface {
    /// Its chance is a stream of `seed` of its own.
    pub(super) fn new(spec: &QueueSpec, station: usize, category: usize, seed: Seed) -> Interface {
        let queue = spec.make(seed.stream(&format!("queue/{station}/{category}")));
        let framing = Framing { link_layer: spec.link_layer_bytes, mpu: 0 };
        Interface {
            station,
            category,
            stages: Stages::new(queue, spec.ring_packets, framing),
            saturated: Vec::new(),
            tally: QueueTally::default(),
            control: None,
            waiting: 0,
            changed: Time::ZERO,
        }
    }

    /// A packet comes. What that cost is in the stages' drops.
    pub(super) fn enqueue(&mut self, packet: Packet, now: Time) {
        self.pass(now);
        self.tally.offered.add(&packet);
        let marked = self.stages.account().marked;
        self.stages.enqueue(packet, now);
        self.count(marked);
    }

    /// The next packet for the MAC.
    pub(super) fn take(&mut self, now: Time) -> Option<Packet> {
        self.take_by(now, |stages| stages.take(now))
    }

    #[inline]
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
    pub(super) fn peek_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.look(now, |stages| stages.peek_along(hop, now).copied())
    }

    /// The hop of a packet that waits and is for none of these.
    pub(super) fn next_hop_beside(&mut self, hops: &[u16], now: Time) -> Option<u16> {
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
    pub(super) fn take_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.take_by(now, |stages| stages.take_along(hop, now))
    }

    /// Lets time pass to `now` with the queue as long as it is.
    pub(super) fn pass(&mut self, now: Time) {
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
