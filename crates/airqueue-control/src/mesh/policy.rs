//! How a router computes limits and sets them.

use super::sizing::{ALIKE, SATURATED};
use airqueue_core::Span;
use serde::Deserialize;

/// What has a limit: a router's one queue, or its queue of each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One FIFO for all flows, which has what the most demanding of them needs, since each is sized as if alone.
    Node,
    /// A queue for each flow, as fair queueing has.
    Flow,
}

/// How the bottleneck of a flow is found. Who belongs to a domain is by two hops in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DomainsBy {
    /// The domain that max-min fair rates fill.
    TwoHop,
    /// Of the domains that are measured to be full; without one, of the busiest.
    Busy,
}

/// How limits are computed and when they are set. All routers of a mesh have the same, but for the safe limit, which is
/// that of each router's own queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What has a limit.
    pub queues: Queues,
    /// How bottlenecks are found.
    pub domains: DomainsBy,
    /// Busy time from which a medium is full.
    pub saturated: f64,
    /// The least limit: of a flow's queue, so at least one packet, and of a router's one queue.
    pub minimum_packets: u32,
    /// The safe limit: what a queue holds without this mechanism. No limit is larger, whatever neighbours state, and a
    /// flow of which too little is known has no limit but this.
    pub unsized_packets: u32,
    /// Payload of a packet, which λ counts.
    pub segment_bytes: u32,
    /// How often measured busy times are taken.
    pub every: Span,
    /// How long a raised limit is kept.
    pub hold: Span,
    /// A flow that has not sent for so long is no longer active.
    pub idle: Span,
}

impl Default for Policy {
    /// MESH's: 1460-byte segments, 50 packets in queues that are not sized, computed every 10 s.
    fn default() -> Policy {
        Policy {
            queues: Queues::Node,
            domains: DomainsBy::TwoHop,
            saturated: SATURATED,
            minimum_packets: 1,
            unsized_packets: 50,
            segment_bytes: 1_460,
            every: Span::from_secs(10),
            hold: Span::from_secs(30),
            idle: Span::from_secs(10),
        }
    }
}

/// A policy that cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} must be {expected}")]
pub struct PolicyError {
    /// The field.
    pub key: &'static str,
    /// What it must be.
    pub expected: &'static str,
}

impl Policy {
    /// Whether all fields are in range.
    pub fn check(&self) -> Result<(), PolicyError> {
        let spans = [self.every, self.hold, self.idle];
        let fields = [
            (self.saturated > ALIKE && self.saturated <= 1.0, "saturated", "above 0.05, at most 1"),
            (self.minimum_packets > 0, "minimum_packets", "at least 1"),
            (
                self.unsized_packets >= self.minimum_packets,
                "unsized_packets",
                "at least minimum_packets",
            ),
            (self.segment_bytes > 0, "segment_bytes", "at least 1"),
            (self.every.min(self.idle) >= Span::from_secs(1), "every and idle", "at least 1 s"),
            (self.hold >= Span::ZERO, "hold", "at least 0"),
            (
                spans.iter().all(|span| *span <= Span::from_secs(86_400)),
                "every, hold and idle",
                "at most a day",
            ),
        ];
        match fields.iter().find(|(holds, ..)| !holds) {
            Some(&(_, key, expected)) => Err(PolicyError { key, expected }),
            None => Ok(()),
        }
    }

    /// A computed limit between one packet of a flow and the safe one.
    pub(super) fn clamped(&self, packets: u32) -> u32 {
        packets.clamp(self.minimum_packets, self.unsized_packets)
    }
}
