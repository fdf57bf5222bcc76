//! A queue at work: its discipline, the driver ring behind it, and its length over time.

use crate::counters::Occupancy;
use crate::histogram::Histogram;
use crate::tx_queue::{Framing, TxQueue};
use airqueue_core::{Dropped, NeighbourId, Packet, RandomStream, Time};
use airqueue_qdisc::QueueSpec;

/// Queue discipline and ring, and their number of packets over time. The owner of the queue counts the packets
/// themselves, hop by hop.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) tx_queue: TxQueue,
    occupancy: Occupancy,
    /// Sojourn times of the packets dequeued, for quantiles. One histogram a queue: those of all hops would fill the caches.
    sojourns: Histogram,
    /// Number of waiting packets, and the time of its last change.
    waiting: u64,
    changed: Time,
    /// Marks before counting began.
    marked_before: u64,
}

impl Queue {
    /// An empty queue with its own random stream.
    pub(crate) fn new(spec: &QueueSpec, rng: RandomStream) -> Queue {
        let framing = Framing { link_layer: spec.link_layer_bytes, mpu: 0 };
        Queue {
            tx_queue: TxQueue::new(spec.make(rng), spec.ring_packets, framing),
            occupancy: Occupancy::default(),
            sojourns: Histogram::default(),
            waiting: 0,
            changed: Time::ZERO,
            marked_before: 0,
        }
    }

    /// Replaces the discipline and the ring's limit ([`TxQueue::replace`]).
    pub(crate) fn replace(&mut self, spec: &QueueSpec, rng: RandomStream, now: Time) {
        self.pass(now);
        self.tx_queue.replace(spec.make(rng), spec.ring_packets, now);
        self.measure();
    }

    /// Hands over the drops since the last call; true if there were any.
    #[inline(always)]
    pub(crate) fn take_drops(&mut self, each: impl FnMut(Dropped)) -> bool {
        let any = self.has_drops();
        if any {
            self.tx_queue.drops().drain().for_each(each);
        }
        any
    }

    #[inline(always)]
    pub(crate) fn has_drops(&mut self) -> bool {
        !self.tx_queue.drops().as_slice().is_empty()
    }

    /// A packet arrives. Drops caused by the arrival are among the drops of the stages.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Time) {
        self.pass(now);
        self.tx_queue.enqueue(packet, now);
        if self.has_drops() {
            self.measure();
        } else {
            self.waiting += 1;
            self.occupancy.longest = self.occupancy.longest.max(self.waiting);
        }
        debug_assert_eq!(self.waiting, self.tx_queue.packets());
    }

    /// Dequeues the next packet for the link.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.pass(now);
        let taken = self.tx_queue.take(now);
        self.on_taken(taken, now)
    }

    /// Number of waiting packets.
    #[inline]
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    #[inline(always)]
    fn on_taken(&mut self, taken: Option<Packet>, now: Time) -> Option<Packet> {
        if let Some(packet) = &taken {
            self.sojourns.add(now - packet.enqueued);
        }
        if self.has_drops() {
            self.measure();
        } else {
            self.waiting -= u64::from(taken.is_some());
        }
        debug_assert_eq!(self.waiting, self.tx_queue.packets());
        taken
    }

    /// The packet for a neighbour that [`Self::take_for_neighbour`] returns.
    pub(crate) fn peek_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
    ) -> Option<Packet> {
        self.look(now, |tx_queue| tx_queue.peek_for_neighbour(neighbour, now).copied())
    }

    /// The neighbour of a waiting packet that is for none of `neighbours`.
    pub(crate) fn other_neighbour(
        &mut self,
        neighbours: &[NeighbourId],
        now: Time,
    ) -> Option<NeighbourId> {
        self.look(now, |tx_queue| tx_queue.other_neighbour(neighbours, now))
    }

    /// Dequeues the next packet for a neighbour, out of turn.
    pub(crate) fn take_for_neighbour(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
    ) -> Option<Packet> {
        self.pass(now);
        let taken = self.tx_queue.take_for_neighbour(neighbour, now);
        self.on_taken(taken, now)
    }

    /// Dequeues the next packet for a neighbour if the packet is admitted; otherwise the packet stays.
    #[inline(always)]
    pub(crate) fn take_admitted(
        &mut self,
        neighbour: NeighbourId,
        now: Time,
        admits: &mut dyn FnMut(&Packet) -> bool,
    ) -> Option<Packet> {
        self.pass(now);
        let taken = self.tx_queue.take_admitted(neighbour, now, admits);
        self.on_taken(taken, now)
    }

    /// A peek can drop packets, and so change the length of the queue.
    #[inline(always)]
    fn look<T>(&mut self, now: Time, look: impl FnOnce(&mut TxQueue) -> T) -> T {
        self.pass(now);
        let found = look(&mut self.tx_queue);
        if self.has_drops() {
            self.measure();
        }
        found
    }

    /// The length of the queue over time since counting began, up to `now`.
    pub(crate) fn occupancy_at(&mut self, now: Time) -> Occupancy {
        self.pass(now);
        Occupancy { marked: self.tx_queue.marks() - self.marked_before, ..self.occupancy }
    }

    /// Sojourn times of the packets dequeued since counting began.
    pub(crate) fn sojourns(&self) -> &Histogram {
        &self.sojourns
    }

    /// Restarts counting; returns the counts so far.
    pub(crate) fn start_counting(&mut self, now: Time) -> Occupancy {
        let before = self.occupancy_at(now);
        self.occupancy = Occupancy { longest: self.waiting, ..Occupancy::default() };
        self.sojourns.clear();
        self.marked_before = self.tx_queue.marks();
        before
    }

    /// Advances time to `now` at the present queue length.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        // A queue often changes several times at one instant.
        if now != self.changed {
            let since = i128::from((now - self.changed).as_nanos());
            self.occupancy.packet_time += i128::from(self.waiting) * since;
            self.changed = now;
        }
    }

    fn measure(&mut self) {
        self.waiting = self.tx_queue.packets();
        self.occupancy.longest = self.occupancy.longest.max(self.waiting);
    }
}
