//! One direction of a cable at work.

use super::engine::Event;
use super::spec::WireSpec;
use crate::alarm::Alarm;
use crate::bottleneck::link::{Link, LinkSpec};
use crate::event::{EventQueue, Phase};
use crate::line::Line;
use crate::stages::Framing;
use crate::wlan::QueueTally;
use crate::wlan::counted::CountedQueue;
use airqueue_core::{Dropped, Packet, Seed, Span, Time};

/// Packets go in at one end and come out at the other, in their order.
#[derive(Debug)]
pub(super) struct Wire {
    gate: Option<Gate>,
    /// Behind the gate, or all there is.
    line: Line,
    served: Alarm<Event>,
    arrived: Alarm<Event>,
    /// Packets that waited, summed over time, when counting began.
    before: i128,
}

/// Where packets wait and are serialised.
#[derive(Debug)]
struct Gate {
    queue: CountedQueue,
    link: Link,
}

/// A packet at a time, nothing but its bits.
const PLAIN: LinkSpec = LinkSpec { aggregate: 1, overhead: Span::ZERO, jitter: Span::ZERO };

impl Gate {
    fn begin(&mut self, now: Time) {
        self.link.begin(now, || self.queue.take(now));
    }
}

impl Wire {
    /// The wire of this number. The chance of its queue is the stream `wire/NUMBER`.
    pub(super) fn new(spec: &WireSpec, at: u32, seed: Seed) -> Wire {
        let chance = |what: &str| seed.stream(&format!("wire/{at}{what}"));
        let gate = match (&spec.queue, spec.rate) {
            (Some(queue), Some(rate)) => {
                let framing = Framing { link_layer: queue.link_layer_bytes, mpu: 0 };
                let link = Link::new(PLAIN, framing, rate, chance("/link"));
                Some(Gate { queue: CountedQueue::new(queue, chance("")), link })
            }
            _ => None,
        };
        let rate = if gate.is_some() { None } else { spec.rate };
        Wire {
            gate,
            line: Line::new(rate, spec.delay),
            served: Alarm::new(Event::Served(at), Phase(0)),
            arrived: Alarm::new(Event::Arrived(at), Phase(0)),
            before: 0,
        }
    }

    /// A packet enters. What that cost comes out of [`Self::take_drops`].
    pub(super) fn enter(&mut self, packet: Packet, now: Time, queue: &mut EventQueue<Event>) {
        match &mut self.gate {
            None => self.line.send(packet, now),
            Some(gate) => {
                gate.queue.enqueue(packet, now);
                gate.begin(now);
            }
        }
        self.set_alarms(now, queue);
    }

    /// A packet may have been serialised.
    pub(super) fn on_served(&mut self, now: Time, queue: &mut EventQueue<Event>) {
        if let Some(gate) = &mut self.gate {
            gate.link.finish(now, |packet| self.line.send(packet, now));
            gate.begin(now);
        }
        self.set_alarms(now, queue);
    }

    /// Takes out a packet that is at the other end.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Packet> {
        self.line.take_due(now)
    }

    /// Moves what the queue has dropped into a list.
    pub(super) fn take_drops(&mut self, into: &mut Vec<Dropped>) {
        if let Some(gate) = &mut self.gate {
            gate.queue.take_drops(|drop| into.push(drop));
        }
    }

    #[inline(always)]
    pub(super) fn set_alarms(&mut self, now: Time, queue: &mut EventQueue<Event>) {
        self.arrived.set(self.line.next_at(), queue);
        if let Some(gate) = &self.gate {
            let again =
                if gate.link.wants_packets() { gate.queue.stages.next_wakeup(now) } else { None };
            self.served.set(gate.link.ends_at().or(again), queue);
        }
    }

    /// The books on its queue up to `now`; empty ones if it has none.
    pub(super) fn queue_tally(&mut self, now: Time) -> QueueTally {
        self.gate.as_mut().map(|gate| gate.queue.tally_at(now)).unwrap_or_default()
    }

    /// Packets waiting in its queue, summed over time in nanoseconds from time zero to `now`.
    pub(super) fn packet_time_ever(&mut self, now: Time) -> i128 {
        self.before + self.queue_tally(now).packet_time
    }

    /// Packets and bytes that wait in its queue.
    pub(super) fn waiting(&self) -> (u64, u64) {
        self.gate.as_ref().map(|gate| gate.queue.stages.waiting()).unwrap_or_default()
    }

    /// Counting begins anew.
    pub(super) fn start_counting(&mut self, now: Time) {
        if let Some(gate) = &mut self.gate {
            self.before += gate.queue.start_counting(now).packet_time;
        }
    }
}
