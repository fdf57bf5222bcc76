//! The network as the upper layer of its wireless LAN: counters, sources, and a list of packet outcomes.

use super::hops::Hops;
use super::roaming::Roaming;
use super::sources::Sources;
use super::trace::Step;
use crate::network::Event;
use crate::outcome::Outcome;
use crate::wlan::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{DataRate, Dropped, Packet, Span, Time};
use airqueue_wifi::medium::StationId;

/// The layer above the link layer.
#[derive(Debug)]
pub struct Upper {
    pub(super) hops: Hops,
    pub(super) sources: Sources,
    /// The stations that roam, if there are any.
    pub(super) roaming: Option<Box<Roaming>>,
    /// Outcomes of packets that have further hops or a waiting recipient, in the order in which they happened.
    pub(super) outcomes: Vec<Outcome>,
    /// Packets that their first station no longer has, of senders that wait for this, in the order in which this
    /// happened.
    pub(super) released: Vec<Packet>,
}

impl UpperLayer for Upper {
    type Event = Event;

    #[inline]
    fn on_dropped(&mut self, dropped: &Dropped) {
        let state = self.hops.on_dropped(dropped);
        if state.sender_waits {
            self.released.push(dropped.packet);
        }
        if state.loss_matters {
            self.outcomes.push(Outcome::Dropped(dropped.packet, dropped.reason));
        }
    }

    #[inline]
    fn on_taken(&mut self, packet: &Packet, now: Time) {
        let state = self.hops.state(packet);
        state.waiting -= 1;
        state.counters.on_taken(packet, now);
        self.hops.watch_go(packet, Some(now));
        self.hops.trace_taken(packet, now);
    }

    #[inline]
    fn watches_frames(&self) -> bool {
        self.hops.trace.is_some()
    }

    fn on_sent(&mut self, packet: &Packet) {
        self.hops.trace(packet, Step::Sent);
    }

    #[inline]
    fn on_finished<'a>(
        &mut self,
        hop: HopId,
        (number, packets): (u64, impl Iterator<Item = &'a Packet>),
        rate: DataRate,
        airtime: Span,
    ) {
        let state = &mut self.hops.states[hop.index()];
        state.counters.on_finished(number, rate, airtime);
        if state.sender_waits {
            self.released.extend(packets);
        }
    }

    fn on_given_up(&mut self, packet: Packet) {
        self.hops.trace(&packet, Step::GivenUp);
        let state = self.hops.state(&packet);
        state.counters.given_up.add(&packet);
        if state.loss_matters {
            self.outcomes.push(Outcome::Lost(packet));
        }
    }

    fn on_discarded(&mut self, packet: Packet) {
        if self.hops.state(&packet).sender_waits {
            self.released.push(packet);
        }
        self.on_given_up(packet);
    }

    fn on_associated(&mut self, station: StationId, access_point: StationId) {
        if let Some(roaming) = &mut self.roaming {
            roaming.on_associated(station, access_point, &mut self.hops);
        }
    }

    #[inline]
    fn is_at_rest(&self) -> bool {
        self.outcomes.is_empty() && self.released.is_empty()
    }

    #[inline]
    fn on_delivered<'a>(
        &mut self,
        mut packets: impl Iterator<Item = &'a Packet>,
        now: Time,
    ) -> usize {
        let mut all = 0;
        let mut next = packets.next();
        while let Some(first) = next {
            let leads_on = self.hops.state(first).leads_on;
            let mut number = 0;
            while let Some(packet) = next.filter(|next| is_alike(next, first)) {
                number += 1;
                if leads_on {
                    self.outcomes.push(Outcome::Delivered(*packet));
                }
                next = packets.next();
            }
            self.on_delivered_alike(first, number, now);
            all += number as usize;
        }
        all
    }

    #[inline(always)]
    fn begin_top_up(&mut self, interface: InterfaceId) -> usize {
        self.sources.begin_top_up(interface)
    }

    #[inline(always)]
    fn top_up(&mut self, interface: InterfaceId, turn: usize, now: Time) -> Option<Packet> {
        self.sources.top_up(interface, turn, now, &mut self.hops)
    }
}

impl Upper {
    /// A number of packets has been delivered that the counters do not tell from this packet.
    #[inline(never)]
    fn on_delivered_alike(&mut self, packet: &Packet, number: u64, now: Time) {
        self.hops.watch_delivered(packet, number, now);
        self.hops.state(packet).counters.on_delivered_alike(packet, number, now);
    }
}

/// Whether the counters do not tell two packets from each other once they have been delivered.
#[inline]
fn is_alike(a: &Packet, b: &Packet) -> bool {
    (a.flow, a.created, a.size, a.ecn) == (b.flow, b.created, b.size, b.ecn)
}
