//! The network as the upper layer of its wireless LAN: counters, sources, and a list of packet outcomes.

use super::hops::Hops;
use super::roaming::Roaming;
use super::sources::Sources;
use super::trace::Step;
use crate::InterfaceId;
use crate::network::Event;
use crate::outcome::Outcome;
use crate::wlan::UpperLayer;
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
    fn on_finished(&mut self, packet: &Packet, rate: DataRate, airtime: Span) {
        let state = self.hops.state(packet);
        state.counters.on_finished(rate, airtime);
        if state.sender_waits {
            self.released.push(*packet);
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

    #[inline(never)]
    fn on_delivered(&mut self, packet: Packet, now: Time) {
        self.hops.watch_delivered(&packet, now);
        let state = self.hops.state(&packet);
        state.counters.on_delivered(&packet, now);
        if state.leads_on {
            self.outcomes.push(Outcome::Delivered(packet));
        }
    }

    #[inline(always)]
    fn begin_top_up(&mut self, interface: InterfaceId) -> usize {
        self.sources.begin_top_up(interface)
    }

    #[inline]
    fn top_up(&mut self, interface: InterfaceId, turn: usize, now: Time) -> Option<Packet> {
        self.sources.top_up(interface, turn, now, &mut self.hops)
    }
}
