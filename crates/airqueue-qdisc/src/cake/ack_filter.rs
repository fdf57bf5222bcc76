//! The ACK filter: an arriving acknowledgement makes an earlier one in the same queue redundant (`cake_ack_filter`).

use airqueue_core::{FlowKey, OctetRange, Packet, TcpHeader};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which acknowledgements CAKE drops because a later one covers them, in the words of tc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None.
    #[default]
    NoAckFilter,
    /// The oldest redundant acknowledgement of a connection, if two wait that are redundant.
    AckFilter,
    /// Also the only redundant one, if the packet that covers it comes right after it.
    AckFilterAggressive,
}

/// The TCP headers of the waiting packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers {
    /// The id and the header of the packet that arrives next.
    next: Option<(u64, TcpHeader)>,
    /// The flow and the header of each packet, by the packet's place in the store; `None`: not a TCP packet.
    waiting: Vec<Option<(FlowKey, TcpHeader)>>,
}

/// A redundant acknowledgement in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Redundant {
    /// The place of the acknowledgement.
    pub(super) at: u32,
    /// The place of the packet before, if there is one.
    pub(super) before: Option<u32>,
}

impl Headers {
    /// Sets the header of the packet that arrives next.
    pub(super) fn announce(&mut self, packet: u64, header: &TcpHeader) {
        self.next = Some((packet, *header));
    }

    /// A packet has come to this place.
    pub(super) fn arrive(&mut self, packet: &Packet, at: u32) {
        let header = self.next.take().filter(|&(id, _)| id == packet.id);
        let at = at as usize;
        if at >= self.waiting.len() {
            self.waiting.resize(at + 1, None);
        }
        self.waiting[at] = header.map(|(_, header)| (packet.flow, header));
    }

    /// The acknowledgement that the packet at the place `arrived`, the last of a queue, makes redundant. `queue`: the
    /// places of the queue's packets, in order.
    ///
    /// Two redundant acknowledgements must wait, of which the older is dropped, so that an end that counts
    /// acknowledgements still gets some. ECN-Echo and CWR must not be lost: an acknowledgement counts only if the next
    /// packet of the connection has the same flags.
    pub(super) fn redundant(
        &self,
        queue: impl Iterator<Item = u32>,
        arrived: u32,
        aggressive: bool,
    ) -> Option<Redundant> {
        let (flow, new) = self.waiting[arrived as usize].as_ref()?;
        let is_of_connection = |(other, header): &&(FlowKey, TcpHeader)| {
            (other, header.connection) == (flow, new.connection)
        };
        let mut oldest: Option<(Redundant, &TcpHeader)> = None;
        let mut last = None;
        for at in queue.take_while(|&at| at != arrived) {
            let before = last.replace(at);
            let Some((_, old)) = self.waiting[at as usize].as_ref().filter(is_of_connection) else {
                continue;
            };
            oldest = oldest.filter(|(_, header)| header.ecn == old.ecn);
            if !covers(new, old) {
                continue;
            }
            match oldest {
                Some((found, _)) => return Some(found),
                None => oldest = Some((Redundant { at, before }, old)),
            }
        }
        let (only, header) = oldest?;
        (aggressive && last == Some(only.at) && header.ecn == new.ecn).then_some(only)
    }
}

/// Whether a packet tells its receiver all that an earlier one of the connection tells it, except for the flags for ECN.
fn covers(new: &TcpHeader, old: &TcpHeader) -> bool {
    let (Some(acknowledged), Some(before)) = (new.ack, old.ack) else { return false };
    let is_bare = !old.syn && !old.fin && !old.has_data;
    let in_order = old.stamps.iter().zip(&new.stamps).all(|(old, new)| old <= new);
    // A duplicate acknowledgement says that another segment has arrived (RFC 5681, section 3.2).
    let says_more = acknowledged > before || new.sack.bytes() > old.sack.bytes();
    !new.syn
        && is_bare
        && in_order
        && acknowledged >= before
        && covers_blocks(new, old, before)
        && says_more
}

/// Whether the SACK blocks of a header cover those of an earlier one. Nothing covers the report of a duplicate (D-SACK,
/// RFC 2883), which begins below the acknowledgement.
fn covers_blocks(new: &TcpHeader, old: &TcpHeader, acknowledged: u64) -> bool {
    let is_covered = |block: OctetRange| new.sack.as_slice().iter().any(|of| of.covers(block));
    old.sack.as_slice().iter().all(|&block| block.start >= acknowledged && is_covered(block))
}

#[cfg(test)]
mod tests;
