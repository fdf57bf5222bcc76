//! Captures of what real nodes send and receive.

use super::{Emulation, Errand, Held, Purpose};
use crate::capture::{CaptureState, Captures, Sink};
use crate::figures::{LossPlace, Refusal};
use crate::story::End;
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
        let captures = self
            .captures
            .get_or_insert_with(|| Box::new(Captures::new(self.nodes.len(), self.labels.clone())));
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
        for traced in self.run.network().model.traced() {
            if let Some(captures) = &mut self.captures {
                captures.trace(&traced);
            }
            let held = self.held.get_mut(traced.packet.payload.0 as usize);
            // As with captures: another packet may have the place of one whose last frames end.
            if let Some(held) = held.filter(|held| held.arrived == traced.packet.created) {
                held.lost_at = LossPlace::after(&traced).or(held.lost_at);
            }
        }
    }
}

/// The network is done with a packet, which comes to a place unless the packet is lost.
pub(super) fn ended(
    captures: &mut Option<Box<Captures>>,
    packet: &Packet,
    held: &Held,
    to: Option<usize>,
    (marked, now): (bool, Time),
) {
    // What comes to a router that does not forward the packet, the router's node does not receive.
    let Some(captures) = captures.as_mut().filter(|_| !matches!(held.purpose, Purpose::Stopped(_)))
    else {
        return;
    };
    let end = match (to, held.narrow) {
        (None, _) => End::Lost,
        (Some(_), Some(narrow)) => End::Fragmented { mtu_bytes: narrow.mtu_bytes },
        (Some(to), None) => End::Delivered { to, bytes: &held.bytes },
    };
    captures.ends(packet.payload.0, end, marked, now);
}
