//! Captures of what real nodes send and receive.

use super::{Emulation, Errand, Purpose};
use crate::capture::{CaptureState, Captures, Sink};
use crate::figures::Refusal;
use airqueue_core::{Packet, Payload, Span, Time};

impl Emulation {
    /// From now on writes what a real node sends and receives to `sink`, as pcapng. The file is complete after
    /// [`Self::finish_captures`]; before that every write is of whole blocks.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    pub fn capture(&mut self, node: usize, sink: Sink) {
        assert!(node < self.nodes.len(), "a capture is of a real node");
        self.run.network().model.start_trace();
        let captures = self.captures.get_or_insert_with(|| {
            Box::new(Captures::new(self.nodes.len(), std::mem::take(&mut self.labels)))
        });
        captures.add(node, sink);
    }

    /// Sets time zero of the network, since 1970, for captures.
    pub fn set_capture_zero(&mut self, zero: Span) {
        if let Some(captures) = &mut self.captures {
            captures.set_zero(zero);
        }
    }

    /// Writes what is complete and has not been written for long.
    pub fn write_captures(&mut self, now: Time) {
        if let Some(captures) = &mut self.captures {
            captures.write(now);
        }
    }

    /// Writes all that captures have; packets in the network are written as such.
    pub fn finish_captures(&mut self) {
        let now = self.run.now();
        if let Some(captures) = &mut self.captures {
            captures.finish(now);
        }
    }

    /// The captures so far.
    pub fn captures(&self) -> impl Iterator<Item = CaptureState<'_>> {
        self.captures.iter().flat_map(|captures| captures.states())
    }

    pub(super) fn capture_entry(&mut self, held: Payload, route: usize) {
        let ends = (self.routes[route].from, self.routes[route].to);
        let now = self.run.now();
        if let Some(captures) = &mut self.captures {
            captures.enters(held.0, ends, now);
        }
    }

    pub(super) fn capture_sent(&mut self, held: Payload, from: usize, bytes: &[u8]) {
        let now = self.run.now();
        if let Some(captures) = &mut self.captures {
            captures.sent(held.0, from, bytes, now);
        }
    }

    pub(super) fn capture_refused(
        &mut self,
        from: usize,
        bytes: &[u8],
        refusal: Refusal,
        errand: Option<Errand>,
    ) {
        let now = self.run.now();
        if let Some(captures) = &mut self.captures {
            captures.refused(from, bytes, (refusal, errand.map(|of| of.router)), now);
        }
    }

    /// Takes note of what has happened in the network.
    pub(super) fn trace(&mut self) {
        if let Some(captures) = &mut self.captures {
            self.run.network().model.traced().for_each(|traced| captures.trace(&traced));
        }
    }
}

/// The network is done with a packet, which a place receives unless the packet is lost.
pub(super) fn ended(
    captures: &mut Option<Box<Captures>>,
    packet: &Packet,
    purpose: Purpose,
    to: Option<(usize, &[u8])>,
    (marked, now): (bool, Time),
) {
    // What comes to a router that does not forward the packet, the router's node does not receive.
    if let Some(captures) = captures.as_mut().filter(|_| !matches!(purpose, Purpose::Stopped(_))) {
        captures.ends(packet.payload.0, to, marked, now);
    }
}
