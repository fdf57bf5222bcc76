//! A device that queues: waiting stages, a server, and the disturbances of both.
//!
//! A sans-IO state machine like everything below the event loop: packets and deadlines go in, outcomes come out. Each
//! mechanism has its own module (`tx_queue`, `link`, `bucket`, `conditions`); a [`DeviceSpec`] combines them.

pub mod bucket;
pub mod conditions;
mod egress;
pub mod link;
mod replay;
mod spec;

pub use crate::outcome::Outcome;
pub use crate::tx_queue::Framing;
pub use egress::DeviceCounters;
pub use spec::{DeviceSpec, ServerSpec};

use crate::tx_queue::TxQueue;
use airqueue_core::rate::work_for;
use airqueue_core::{BoxedQueue, DropReason, FlowKey, Hosts, Packet, Seed, Time};
use conditions::{DeviceChange, Schedule, ScheduledEvent, ServiceRate};
use egress::Egress;
use spec::Server;

/// An emulated device: packets go in, and the outcome of each packet comes out.
///
/// After each call, take the outcomes with `poll_outcome`, and call `on_deadline` at `next_deadline`. Within one
/// instant, deadlines come before arrivals: a departure makes room for a packet that arrives at the same nanosecond.
#[derive(Debug)]
pub struct Bottleneck {
    spec: DeviceSpec,
    tx_queue: TxQueue,
    server: Server,
    service_rate: ServiceRate,
    schedule: Schedule,
    egress: Egress,
    /// When the head of the queue may leave, while something other than a packet in service delays it.
    head_ready: Option<Time>,
}

impl Bottleneck {
    /// An empty device at time zero, with the drop-tail queue that `spec` describes. Its random streams are `service`
    /// and `loss` of `seed`.
    pub fn new(spec: DeviceSpec, seed: Seed) -> Bottleneck {
        let queue = spec.queue();
        Bottleneck::with_queue(spec, queue, seed)
    }

    /// As [`Self::new`], with any queue discipline in place of the drop-tail queue.
    pub fn with_queue(spec: DeviceSpec, queue: BoxedQueue, seed: Seed) -> Bottleneck {
        Bottleneck {
            tx_queue: TxQueue::new(queue, spec.ring, spec.framing),
            server: spec.server(seed),
            service_rate: ServiceRate::new(spec.rate),
            schedule: Schedule::new(spec.changes.clone(), spec.period),
            egress: Egress::new(spec.loss, seed.stream("loss")),
            head_ready: None,
            spec,
        }
    }

    /// Sets the ends of a flow, for the queue.
    pub fn set_flow_hosts(&mut self, flow: u32, hosts: Hosts) {
        self.tx_queue.set_flow_hosts(FlowKey(flow), hosts);
    }

    /// A packet arrives.
    pub fn enqueue(&mut self, packet: Packet, now: Time) {
        self.egress.counters.offered.add(&packet);
        let work = work_for(self.spec.framing.charged(&packet));
        match &mut self.server {
            Server::Policer(bucket) => {
                if bucket.try_take(work, now) {
                    self.egress.depart(packet);
                } else {
                    self.egress.drop(packet, DropReason::Policed);
                }
                return;
            }
            Server::Shaper(bucket) if !bucket.can_ever_take(work) => {
                self.egress.drop(packet, DropReason::Oversize);
                return;
            }
            Server::Shaper(_) | Server::Link(_) => self.tx_queue.enqueue(packet, now),
        }
        self.serve(now);
    }

    /// When `on_deadline` must be called next.
    pub fn next_deadline(&self) -> Option<Time> {
        let service = match &self.server {
            Server::Link(link) => link.ends_at(),
            Server::Shaper(_) | Server::Policer(_) => None,
        };
        [service, self.head_ready, self.schedule.next_at()].into_iter().flatten().min()
    }

    /// Handles a deadline. A transmission that ends at the instant of a change ends before the change.
    pub fn on_deadline(&mut self, now: Time) {
        if let Server::Link(link) = &mut self.server {
            link.finish(now, |packet| self.egress.depart(packet));
        }
        while let Some(event) = self.schedule.take_due(now) {
            self.apply(event, now);
        }
        self.serve(now);
    }

    /// The next outcome, in order of time.
    pub fn poll_outcome(&mut self) -> Option<Outcome> {
        self.egress.outcomes.pop_front()
    }

    /// Packets and bytes (link layer included) waiting in all stages, packets in service excluded.
    pub fn waiting(&self) -> (u64, u64) {
        self.tx_queue.waiting()
    }

    /// Packets in service.
    pub fn in_service(&self) -> &[Packet] {
        match &self.server {
            Server::Link(link) => link.in_service(),
            Server::Shaper(_) | Server::Policer(_) => &[],
        }
    }

    /// The counters of the device.
    pub fn counters(&self) -> &DeviceCounters {
        &self.egress.counters
    }

    fn apply(&mut self, event: ScheduledEvent, now: Time) {
        match event {
            ScheduledEvent::DeviceChange(DeviceChange::Limit(limit)) => {
                self.tx_queue.set_limit(limit)
            }
            ScheduledEvent::Restart => self.tx_queue.set_limit(self.spec.limit),
            ScheduledEvent::DeviceChange(_) => {}
        }
        self.service_rate.apply(event);
        let rate = self.service_rate.rate();
        match &mut self.server {
            Server::Link(link) => link.set_rate(rate, now),
            Server::Shaper(bucket) | Server::Policer(bucket) => bucket.set_rate(rate, now),
        }
    }

    /// Serves all packets that can be served now, and collects the drops of the stages.
    fn serve(&mut self, now: Time) {
        self.head_ready = None;
        match &mut self.server {
            Server::Link(link) => {
                link.begin(now, || self.tx_queue.take(now));
                if link.wants_packets() {
                    self.head_ready = self.tx_queue.next_wakeup(now);
                }
            }
            Server::Shaper(_) => self.pass_tokens(now),
            Server::Policer(_) => {}
        }
        for drop in self.tx_queue.drops().drain() {
            self.egress.drop(drop.packet, drop.reason);
        }
    }

    /// Releases the head of the queue as long as there are tokens for it.
    fn pass_tokens(&mut self, now: Time) {
        let Server::Shaper(bucket) = &mut self.server else { return };
        while let Some(head) = self.tx_queue.peek(now) {
            let work = work_for(self.spec.framing.charged(head));
            if !bucket.try_take(work, now) {
                self.head_ready = bucket.ready_at(work, now);
                return;
            }
            if let Some(packet) = self.tx_queue.take(now) {
                self.egress.depart(packet);
            }
        }
        self.head_ready = self.tx_queue.next_wakeup(now);
    }
}
