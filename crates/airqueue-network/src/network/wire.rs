//! One direction of a wired link: its queue, its serialisation and its delay.

use super::engine::{Event, OUTSIDE};
use super::hops::Hops;
use super::spec::WireSpec;
use crate::bottleneck::link::{Link, LinkSpec};
use crate::counters::Occupancy;
use crate::delay_line::DelayLine;
use crate::event::EventQueue;
use crate::histogram::Histogram;
use crate::queue::Queue;
use crate::timer::Timer;
use crate::tx_queue::Framing;
use crate::{HopId, WireId};
use airqueue_core::{DataRate, Dropped, Hosts, Packet, RandomStream, Seed, Span, TcpHeader, Time};

/// Packets enter at one end and leave at the other, in order.
#[derive(Debug)]
pub(super) struct Wire {
    rate: Option<DataRate>,
    delay: Span,
    gate: Option<Gate>,
    /// The line behind the gate; without a gate, the whole wire.
    line: DelayLine,
    /// Probability that a packet is lost in the wire.
    loss: f64,
    losses: RandomStream,
    served: Timer<Event>,
    arrived: Timer<Event>,
    /// Number of waiting packets, integrated over time, when counting began.
    before: i128,
}

/// The queue and the serialisation.
#[derive(Debug)]
struct Gate {
    queue: Queue,
    link: Link,
}

/// One packet per transmission, and only the time of its bits.
const PLAIN: LinkSpec = LinkSpec { aggregate: 1, overhead: Span::ZERO, jitter: Span::ZERO };

impl Gate {
    fn begin(&mut self, now: Time, hops: &mut Hops) {
        self.link.begin(now, || {
            let packet = self.queue.take(now)?;
            hops.on_taken(&packet, now);
            Some(packet)
        });
    }
}

impl Wire {
    /// The wire with this id. The random stream of its queue is `wire/NUMBER`, that of its losses `wire/NUMBER/loss`.
    pub(super) fn new(spec: &WireSpec, id: WireId, seed: Seed) -> Wire {
        let rng = |what: &str| seed.stream(&format!("wire/{}{what}", id.0));
        let gate = match (&spec.queue, spec.rate) {
            (Some(queue), Some(rate)) => {
                let framing = Framing { link_layer: queue.link_layer_bytes, mpu: 0 };
                let link = Link::new(PLAIN, framing, rate, rng("/link"));
                Some(Gate { queue: Queue::new(queue, rng("")), link })
            }
            _ => None,
        };
        let rate = if gate.is_some() { None } else { spec.rate };
        Wire {
            rate: spec.rate,
            delay: spec.delay,
            gate,
            line: DelayLine::new(rate, spec.delay),
            loss: spec.loss,
            losses: rng("/loss"),
            served: Timer::new(Event::Served(id), OUTSIDE),
            arrived: Timer::new(Event::Arrived(id), OUTSIDE),
            before: 0,
        }
    }

    /// Sets the ends of a flow, for the wire's queue.
    pub(super) fn set_flow_hosts(&mut self, hop: HopId, hosts: Hosts) {
        if let Some(gate) = &mut self.gate {
            gate.queue.tx_queue.set_flow_hosts(hop.flow(), hosts);
        }
    }

    /// Whether the wire's queue reads TCP headers.
    pub(super) fn reads_tcp_headers(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.queue.tx_queue.reads_tcp_headers())
    }

    /// Sets the TCP header of the packet with this id, which is the next packet that enters.
    pub(super) fn set_tcp_header(&mut self, packet: u64, header: &TcpHeader) {
        if let Some(gate) = &mut self.gate {
            gate.queue.tx_queue.set_tcp_header(packet, header);
        }
    }

    /// A packet enters. [`Self::take_drops`] returns the resulting drops.
    pub(super) fn enter(&mut self, packet: Packet, hops: &mut Hops, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        match &mut self.gate {
            None => self.line.send(packet, now),
            Some(gate) => {
                gate.queue.enqueue(packet, now);
                gate.begin(now, hops);
            }
        }
        self.set_timers(queue);
    }

    /// A packet may have been serialised.
    pub(super) fn on_served(&mut self, hops: &mut Hops, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        if let Some(gate) = &mut self.gate {
            gate.link.finish(now, |packet| self.line.send(packet, now));
            gate.begin(now, hops);
        }
        self.set_timers(queue);
    }

    /// Takes out a packet that has reached the other end, and whether the packet is lost there.
    pub(super) fn take_due(&mut self, now: Time) -> Option<(Packet, bool)> {
        let packet = self.line.take_due(now)?;
        Some((packet, self.loss > 0.0 && self.losses.bernoulli(self.loss)))
    }

    /// Changes the rate from now on, also for the bits of waiting packets.
    pub(super) fn set_rate(&mut self, rate: DataRate, queue: &mut EventQueue<Event>) {
        self.rate = Some(rate);
        match &mut self.gate {
            Some(gate) => gate.link.set_rate(Some(rate), queue.now()),
            None => self.line.set_rate(rate, queue.now()),
        }
        self.set_timers(queue);
    }

    /// Changes the delay of packets that are serialised from now on.
    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
        self.line.set_delay(delay);
    }

    /// Time that a packet of so many bytes takes at present, without waiting.
    pub(super) fn time_for(&self, bytes: u32) -> Span {
        self.delay + self.rate.map_or(Span::ZERO, |rate| rate.time_for(bytes))
    }

    /// Changes the probability of a loss, also for packets in the wire.
    pub(super) fn set_loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    /// Whether the queue has dropped packets that [`Self::take_drops`] has not returned yet.
    #[inline(always)]
    pub(super) fn has_drops(&mut self) -> bool {
        self.gate.as_mut().is_some_and(|gate| gate.queue.has_drops())
    }

    /// Moves the drops of the queue into a list.
    pub(super) fn take_drops(&mut self, into: &mut Vec<Dropped>) {
        if let Some(gate) = &mut self.gate {
            gate.queue.take_drops(|drop| into.push(drop));
        }
    }

    #[inline(always)]
    pub(super) fn set_timers(&mut self, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        self.arrived.set(self.line.next_at(), queue);
        if let Some(gate) = &self.gate {
            let again =
                if gate.link.wants_packets() { gate.queue.tx_queue.next_wakeup(now) } else { None };
            self.served.set(gate.link.ends_at().or(again), queue);
        }
    }

    /// Whether the wire has a queue.
    pub(super) fn has_queue(&self) -> bool {
        self.gate.is_some()
    }

    /// The length of the queue over time, up to `now`; zero without a queue.
    pub(super) fn occupancy(&mut self, now: Time) -> Occupancy {
        self.gate.as_mut().map(|gate| gate.queue.occupancy_at(now)).unwrap_or_default()
    }

    /// Number of packets waiting in the queue, integrated over time from time zero to `now`, in packet-nanoseconds.
    pub(super) fn packet_time_ever(&mut self, now: Time) -> i128 {
        self.before + self.occupancy(now).packet_time
    }

    /// Sojourn times of the packets dequeued; `None` without a queue.
    pub(super) fn sojourns(&self) -> Option<&Histogram> {
        self.gate.as_ref().map(|gate| gate.queue.sojourns())
    }

    /// Packets and bytes waiting in the queue.
    pub(super) fn waiting(&self) -> (u64, u64) {
        self.gate.as_ref().map(|gate| gate.queue.tx_queue.waiting()).unwrap_or_default()
    }

    /// Restarts counting.
    pub(super) fn start_counting(&mut self, now: Time) {
        if let Some(gate) = &mut self.gate {
            self.before += gate.queue.start_counting(now).packet_time;
        }
    }
}
