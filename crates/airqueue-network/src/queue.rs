//! A queue: its discipline, the driver ring behind it, and how long it has been over time.

use crate::counters::Occupancy;
use crate::stages::{BoxedQueue, Framing, Stages};
use airqueue_core::{Dropped, Limit, Packet, QueueDisc, Stream, Time};
use airqueue_qdisc::{
    Adaptive, AdaptiveParams, Cake, CakeParams, Codel, CodelParams, DropFrom, DropTail, FqCodel,
    FqCodelParams, KeptApart, Mac80211, Mac80211Params, PerFlow, Pie, PieParams, Rdqm, RdqmParams,
    Red, RedParams, Sfq, SfqParams,
};

/// How a queue decides what to drop and what leaves next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served; when it is full it drops what this says.
    DropTail(DropFrom),
    /// [`Codel`].
    Codel(CodelParams),
    /// [`FqCodel`]; the limit stands in the place of that of the parameters which is in the same unit.
    FqCodel(FqCodelParams),
    /// [`Red`].
    Red(RedParams),
    /// [`Pie`].
    Pie(PieParams),
    /// [`Cake`]; a limit in bytes stands in the place of its memory limit.
    Cake(CakeParams),
    /// [`Sfq`].
    Sfq(SfqParams),
    /// Drop-tail queues that flows or links have for themselves, each with the limit; they take turns of so many IP
    /// bytes.
    DeficitRoundRobin {
        /// Whose queue each is.
        by: KeptApart,
        /// Bytes of a turn.
        quantum: u32,
        /// What a full one drops.
        drop_from: DropFrom,
    },
    /// [`Adaptive`], with the limit as its ceiling.
    Adaptive(AdaptiveParams),
    /// [`Rdqm`], which divides the limit.
    Rdqm(RdqmParams),
    /// [`Mac80211`]; the limit stands in the place of that of the parameters which is in the same unit.
    Mac80211(Mac80211Params),
}

/// An interface of a station: the queue of one access category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSpec {
    /// How it works.
    pub discipline: Discipline,
    /// The hard limit.
    pub limit: Limit,
    /// Bytes that it counts on top of each IP packet, wherever it counts bytes.
    pub link_layer_bytes: u32,
    /// Packets of the driver ring behind it; 0: none. The packet that the MAC is busy with is in neither.
    pub ring_packets: usize,
}

impl QueueSpec {
    /// A drop-tail queue without a ring.
    pub fn new(limit: Limit) -> QueueSpec {
        let discipline = Discipline::DropTail(DropFrom::Tail);
        QueueSpec { discipline, limit, link_layer_bytes: 0, ring_packets: 0 }
    }

    /// The discipline; its random numbers, or the keys of its hash, come from `chance`.
    pub fn make(&self, mut chance: Stream) -> BoxedQueue {
        let QueueSpec { limit, link_layer_bytes: link, .. } = *self;
        let droptail =
            move |drop_from| DropTail::new(limit).dropping_from(drop_from).with_link_layer(link);
        match self.discipline {
            Discipline::DropTail(drop_from) => Box::new(droptail(drop_from)),
            Discipline::Codel(params) => Box::new(Codel::new(params, limit).with_link_layer(link)),
            Discipline::FqCodel(params) => {
                let mut queue = FqCodel::new(params, &mut chance).with_link_layer(link);
                queue.set_limit(limit);
                Box::new(queue)
            }
            Discipline::Red(params) => {
                Box::new(Red::new(params, limit, chance).with_link_layer(link))
            }
            Discipline::Pie(params) => {
                Box::new(Pie::new(params, limit, chance).with_link_layer(link))
            }
            Discipline::Cake(params) => {
                let mut queue = Cake::new(params, chance).with_link_layer(link);
                queue.set_limit(limit);
                Box::new(queue)
            }
            Discipline::Sfq(params) => {
                Box::new(Sfq::new(params, limit, chance).with_link_layer(link))
            }
            Discipline::DeficitRoundRobin { by, quantum, drop_from } => {
                let queues = PerFlow::new(move |_| droptail(drop_from)).by(by);
                Box::new(queues.with_quantum(quantum))
            }
            Discipline::Mac80211(params) => {
                let mut queue = Mac80211::new(params, &mut chance).with_link_layer(link);
                queue.set_limit(limit);
                Box::new(queue)
            }
            Discipline::Rdqm(params) => Box::new(Rdqm::new(params, limit).with_link_layer(link)),
            Discipline::Adaptive(params) => {
                Box::new(Adaptive::new(params, limit, &mut chance).with_link_layer(link))
            }
        }
    }
}

/// Queue discipline and ring, and how many packets were in them over time. The packets themselves are counted by the owner
/// of the queue, hop by hop.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) stages: Stages,
    occupancy: Occupancy,
    /// How many packets wait, and since when.
    waiting: u64,
    changed: Time,
    /// Marks before counting began.
    marked_before: u64,
}

impl Queue {
    /// An empty queue with a random stream of its own.
    pub(crate) fn new(spec: &QueueSpec, chance: Stream) -> Queue {
        let framing = Framing { link_layer: spec.link_layer_bytes, mpu: 0 };
        Queue {
            stages: Stages::new(spec.make(chance), spec.ring_packets, framing),
            occupancy: Occupancy::default(),
            waiting: 0,
            changed: Time::ZERO,
            marked_before: 0,
        }
    }

    /// Hands over what has been dropped since the last call; true if there was anything.
    #[inline(always)]
    pub(crate) fn take_drops(&mut self, each: impl FnMut(Dropped)) -> bool {
        let any = self.has_drops();
        if any {
            self.stages.drops().drain().for_each(each);
        }
        any
    }

    #[inline(always)]
    fn has_drops(&mut self) -> bool {
        !self.stages.drops().as_slice().is_empty()
    }

    /// A packet arrives. What the arrival cost is in the drops of the stages.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, packet: Packet, now: Time) {
        self.pass(now);
        self.stages.enqueue(packet, now);
        self.measure();
    }

    /// The next packet for the link.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.change(now, |stages| stages.take(now))
    }

    /// The packet for a neighbour that [`Self::take_along`] returns.
    pub(crate) fn peek_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.look(now, |stages| stages.peek_along(hop, now).copied())
    }

    /// The neighbour of a packet that waits and is for none of these.
    pub(crate) fn next_hop_beside(&mut self, hops: &[u16], now: Time) -> Option<u16> {
        self.look(now, |stages| stages.next_hop_beside(hops, now))
    }

    /// The next packet for a neighbour, out of turn.
    pub(crate) fn take_along(&mut self, hop: u16, now: Time) -> Option<Packet> {
        self.change(now, |stages| stages.take_along(hop, now))
    }

    #[inline(always)]
    fn change<T>(&mut self, now: Time, change: impl FnOnce(&mut Stages) -> T) -> T {
        self.pass(now);
        let found = change(&mut self.stages);
        self.measure();
        found
    }

    /// What only looks for a packet changes the length by what it drops.
    #[inline(always)]
    fn look<T>(&mut self, now: Time, look: impl FnOnce(&mut Stages) -> T) -> T {
        self.pass(now);
        let found = look(&mut self.stages);
        if self.has_drops() {
            self.measure();
        }
        found
    }

    /// How long the queue was since counting began, up to `now`.
    pub(crate) fn occupancy_at(&mut self, now: Time) -> Occupancy {
        self.pass(now);
        Occupancy { marked: self.stages.marks() - self.marked_before, ..self.occupancy }
    }

    /// Counting begins anew; returns what was counted before.
    pub(crate) fn start_counting(&mut self, now: Time) -> Occupancy {
        let before = self.occupancy_at(now);
        self.occupancy = Occupancy::default();
        self.marked_before = self.stages.marks();
        before
    }

    /// Time passes to `now` with the queue as long as it is.
    #[inline(always)]
    fn pass(&mut self, now: Time) {
        // Most of what happens to a queue happens several times at an instant.
        if now != self.changed {
            let since = i128::from((now - self.changed).as_nanos());
            self.occupancy.packet_time += i128::from(self.waiting) * since;
            self.changed = now;
        }
    }

    fn measure(&mut self) {
        self.waiting = self.stages.packets();
        self.occupancy.longest = self.occupancy.longest.max(self.waiting);
    }
}
