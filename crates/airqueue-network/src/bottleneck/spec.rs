//! The description of a device.

use super::bucket::TokenBucket;
use super::conditions::DeviceChange;
use super::link::{Link, LinkSpec};
use crate::tx_queue::Framing;
use airqueue_core::rate::work_for;
use airqueue_core::{BoxedQueue, DataRate, Limit, Seed, Span};
use airqueue_qdisc::{DropFrom, DropTail, PerFlow};

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerSpec {
    /// A link that serialises packets.
    Link(LinkSpec),
    /// A token-bucket shaper: the head of the queue waits for tokens and leaves at once, as with Linux's tbf. A packet
    /// larger than the bucket is dropped on arrival.
    Shaper {
        /// Depth of the bucket.
        burst_bytes: u32,
    },
    /// A token-bucket policer: drops packets that exceed the bucket, and has no queue.
    Policer {
        /// Depth of the bucket.
        burst_bytes: u32,
    },
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// Hard limit of the queue; of each flow's queue if flows are isolated.
    pub limit: Limit,
    /// Which packet a full queue drops.
    pub drop_from: DropFrom,
    /// One queue per flow, served in turn.
    pub isolate_flows: bool,
    /// Room of the driver ring in packets; 0: no ring.
    pub ring: usize,
    /// The kind of server.
    pub server: ServerSpec,
    /// Rate of the server.
    pub rate: DataRate,
    /// How bytes are counted.
    pub framing: Framing,
    /// Probability that a served packet is lost.
    pub loss: f64,
    /// Changes, by offset from time zero.
    pub changes: Vec<(Span, DeviceChange)>,
    /// Period after which the changes repeat.
    pub period: Option<Span>,
}

/// The server at work.
#[derive(Debug)]
pub(super) enum Server {
    Link(Link),
    Shaper(TokenBucket),
    Policer(TokenBucket),
}

impl DeviceSpec {
    /// The drop-tail queue, or queues, of this description.
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
