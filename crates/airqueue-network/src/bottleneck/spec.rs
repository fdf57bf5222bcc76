//! What a device is made of.

use super::bucket::TokenBucket;
use super::conditions::DeviceChange;
use super::link::{Link, LinkSpec};
use crate::tx_queue::Framing;
use airqueue_core::rate::work_for;
use airqueue_core::{BoxedQueue, DataRate, Limit, Seed, Span};
use airqueue_qdisc::{DropFrom, DropTail, PerFlow};

/// What serves the stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerSpec {
    /// Packets are serialised.
    Link(LinkSpec),
    /// The head of the queue waits for tokens and leaves at once, as with Linux's tbf. A packet
    /// that exceeds the depth in bytes is dropped on arrival.
    Shaper {
        /// Depth of the bucket.
        burst_bytes: u32,
    },
    /// A bucket that drops what exceeds it; nothing waits.
    Policer {
        /// Depth of the bucket.
        burst_bytes: u32,
    },
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// The hard limit of the queue, of each flow's queue if flows are isolated.
    pub limit: Limit,
    /// What a full queue drops.
    pub drop_from: DropFrom,
    /// One queue per flow, served in turn.
    pub isolate_flows: bool,
    /// Packets of the driver ring; 0: none.
    pub ring: usize,
    /// What serves.
    pub server: ServerSpec,
    /// Its rate.
    pub rate: DataRate,
    /// How bytes are counted.
    pub framing: Framing,
    /// Chance of each served packet to be lost.
    pub loss: f64,
    /// What changes, by offset from time zero.
    pub changes: Vec<(Span, DeviceChange)>,
    /// After which the changes begin again.
    pub period: Option<Span>,
}

/// What serves the device's queue.
#[derive(Debug)]
pub(super) enum Server {
    Link(Link),
    Shaper(TokenBucket),
    Policer(TokenBucket),
}

impl DeviceSpec {
    /// The drop-tail queue, or queues, of this specification.
    pub(super) fn queue(&self) -> BoxedQueue {
        let (limit, drop_from, link_layer) = (self.limit, self.drop_from, self.framing.link_layer);
        let fifo =
            move |_| DropTail::new(limit).dropping_from(drop_from).with_link_layer(link_layer);
        if self.isolate_flows { Box::new(PerFlow::new(fifo)) } else { Box::new(fifo(0)) }
    }

    pub(super) fn server(&self, seed: Seed) -> Server {
        let bucket = |burst| TokenBucket::new(self.rate, work_for(burst));
        match self.server {
            ServerSpec::Link(spec) => {
                Server::Link(Link::new(spec, self.framing, self.rate, seed.stream("service")))
            }
            ServerSpec::Shaper { burst_bytes } => Server::Shaper(bucket(burst_bytes)),
            ServerSpec::Policer { burst_bytes } => Server::Policer(bucket(burst_bytes)),
        }
    }
}
