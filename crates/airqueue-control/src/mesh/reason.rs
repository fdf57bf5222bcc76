//! Why a flow has its limit at a router, in a sentence.

use super::sizing::FlowBuffers;
use super::statement::RouterId;
use super::view::{Unknown, View};
use std::fmt;

/// The reason for a flow's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowReason {
    /// The flow is sized.
    Sized {
        /// The ends of the link in the middle of its bottleneck.
        centre: (RouterId, RouterId),
        /// Whether the domain is full, or only the busiest.
        full: bool,
        /// How much of its time the domain is used.
        utilisation: f64,
        /// M: the flow's hops in the domain,
        inside: usize,
        /// of so many.
        hops: usize,
        /// RTT without queues.
        rtt_s: f64,
        /// λ.
        packets_per_s: f64,
        /// B: for all M nodes together.
        together: f64,
        /// The router's share of B.
        packets: u32,
    },
    /// The flow is not sized.
    Unknown(Unknown),
}

impl FlowReason {
    pub(super) fn sized(
        view: &View,
        flow: usize,
        buffers: &FlowBuffers,
        packets: u32,
    ) -> FlowReason {
        let bottleneck = &buffers.bottleneck;
        let link = &view.mesh.links[bottleneck.centre];
        FlowReason::Sized {
            centre: (view.routers[link.sender], view.routers[link.receiver]),
            full: bottleneck.full,
            utilisation: bottleneck.utilisation,
            inside: bottleneck.hops.len(),
            hops: view.mesh.flows[flow].hops.len(),
            rtt_s: buffers.rtt_s,
            packets_per_s: buffers.packets_per_s,
            together: buffers.packets_together(),
            packets,
        }
    }
}

impl fmt::Display for FlowReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowReason::Sized {
                centre: (from, to),
                full,
                utilisation,
                inside,
                hops,
                rtt_s,
                packets_per_s,
                together,
                packets,
            } => write!(
                f,
                "the collision domain around {from} -> {to} is {} ({:.0} %) and holds {inside} of its {hops} hops; \
                 RTT without queues is {:.1} ms, at most {packets_per_s:.0} packets/s pass, \
                 B = RTT · λ = {together:.1} packets; this router's share is {packets}",
                if *full { "full" } else { "the busiest" },
                utilisation * 100.0,
                rtt_s * 1e3,
            ),
            FlowReason::Unknown(why) => write!(f, "not sized: {why}"),
        }
    }
}
