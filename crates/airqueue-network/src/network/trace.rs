//! What happens to packets from outside at each hop, for whoever asks. A network that nobody asks does none of this work.

use super::hops::{End, Hops};
use super::spec::Hop;
use crate::HopId;
use airqueue_core::{DropReason, Packet, Span, Time};

/// What happened to a packet from outside at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The packet. Its payload and its time of creation are the same at all hops.
    pub packet: Packet,
    /// The hop.
    pub over: Hop,
    /// What happened.
    pub step: Step,
}

/// What happens to a packet at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The packet has left the queue before the hop.
    Taken {
        /// How long the packet was in the queue.
        waited: Span,
    },
    /// A data frame with the packet has ended on the air.
    Sent,
    /// The queue before the hop has dropped the packet.
    Dropped(DropReason),
    /// The station before the hop has given the packet up.
    GivenUp,
}

impl Hops {
    /// From now on steps of packets from outside are kept, until somebody takes them.
    pub(super) fn start_trace(&mut self) {
        self.trace.get_or_insert_default();
    }

    /// The packet has left the queue before its hop.
    #[inline]
    pub(super) fn trace_taken(&mut self, packet: &Packet, now: Time) {
        if self.trace.is_some() {
            self.trace(packet, Step::Taken { waited: now - packet.enqueued });
        }
    }

    /// Notes a step of a packet, if the packet is from outside and somebody asked.
    #[inline]
    pub(super) fn trace(&mut self, packet: &Packet, step: Step) {
        if self.trace.is_some() {
            self.note(packet, step);
        }
    }

    #[cold]
    fn note(&mut self, packet: &Packet, step: Step) {
        let hop = self.all[HopId::of(packet).index()];
        let outside = self.paths.get(hop.path.index()).is_some_and(|path| path.end == End::Outside);
        if let Some(trace) = self.trace.as_mut().filter(|_| outside) {
            trace.push(Traced { packet: *packet, over: hop.over, step });
        }
    }
}
