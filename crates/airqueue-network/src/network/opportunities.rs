//! What the medium gave to a link: the times at which it delivered, for whoever asks. A network that nobody asks does none of
//! this work.

use super::hops::Hops;
use super::spec::NetworkSpec;
use airqueue_core::{Packet, Time};
use airqueue_wifi::medium::StationId;

/// Bytes of IP packets that make one opportunity: a packet of the largest usual size.
pub const OPPORTUNITY_BYTES: u64 = 1500;
/// Most opportunities, and most times without a waiting packet, that are kept: 120 MB of the former.
const MOST: usize = 15_000_000;

/// The delivery opportunities of a link: each time at which the sum of the bytes that its frames delivered passed a
/// multiple of [`OPPORTUNITY_BYTES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opportunities {
    /// When each opportunity was, from `from` on.
    pub at: Vec<Time>,
    /// From when to when no packet for the link waited behind those that the MAC had in hand: the medium could not show
    /// what it would have given.
    pub idle: Vec<(Time, Time)>,
    /// The beginning.
    pub from: Time,
    /// The end: earlier than that of the run where there was too much to keep.
    pub until: Time,
}

/// The opportunities so far.
#[derive(Debug)]
pub(super) struct Watch {
    found: Opportunities,
    /// Bytes since the last opportunity.
    rest: u64,
    waiting: u64,
    idle_since: Option<Time>,
    /// The latest time that is known.
    now: Time,
    full: bool,
}

impl Watch {
    fn new(from: Time) -> Watch {
        let found = Opportunities { from, ..Opportunities::default() };
        Watch {
            found,
            rest: 0,
            waiting: 0,
            idle_since: Some(Time::ZERO),
            now: Time::ZERO,
            full: false,
        }
    }

    fn see(&mut self, now: Time) {
        self.now = self.now.max(now);
        if !self.full && (self.found.at.len() >= MOST || self.found.idle.len() >= MOST) {
            self.full = true;
            self.found.until = self.now;
        }
    }

    fn come(&mut self, now: Time) {
        self.see(now);
        self.waiting += 1;
        if let Some(since) = self.idle_since.take() {
            self.idle(since, now);
        }
    }

    fn go(&mut self, now: Time) {
        self.see(now);
        self.waiting -= 1;
        if self.waiting == 0 {
            self.idle_since = Some(self.now);
        }
    }

    fn idle(&mut self, since: Time, to: Time) {
        let since = since.max(self.found.from);
        if to > since && !self.full {
            self.found.idle.push((since, to));
        }
    }

    fn deliver(&mut self, bytes: u64, now: Time) {
        self.see(now);
        if now < self.found.from || self.full {
            return;
        }
        self.rest += bytes;
        while self.rest >= OPPORTUNITY_BYTES {
            self.rest -= OPPORTUNITY_BYTES;
            self.found.at.push(now);
        }
    }

    /// The opportunities up to `now`.
    pub(super) fn until(&self, now: Time) -> Opportunities {
        let mut ended = Watch { found: self.found.clone(), ..*self };
        if !ended.full {
            ended.found.until = now.max(ended.found.from);
        }
        if let Some(since) = ended.idle_since.take() {
            ended.idle(since, now);
        }
        ended.found
    }
}

impl Hops {
    /// Watches the hops over the air from a station, or only those to another station. False if there are none.
    pub(super) fn start_watch(
        &mut self,
        spec: &NetworkSpec,
        (from, to): (StationId, Option<StationId>),
        begin: Time,
    ) -> bool {
        let mut watch = Watch::new(begin);
        let mut any = false;
        for (hop, state) in spec.wlan.hops.iter().zip(&mut self.states) {
            state.watched = hop.from == from && to.is_none_or(|to| hop.to == to);
            any |= state.watched;
            watch.waiting += if state.watched { state.waiting } else { 0 };
        }
        if watch.waiting > 0 {
            watch.idle_since = None;
        }
        self.watch = any.then(|| Box::new(watch));
        any
    }

    /// A packet begins to wait for its hop.
    #[inline]
    pub(super) fn watch_come(&mut self, packet: &Packet, now: Time) {
        if self.watch.is_some() && self.state(packet).watched {
            self.watch.as_mut().into_iter().for_each(|watch| watch.come(now));
        }
    }

    /// A packet no longer waits for its hop; `None`: at the latest known time.
    #[inline]
    pub(super) fn watch_go(&mut self, packet: &Packet, now: Option<Time>) {
        if self.watch.is_some() && self.state(packet).watched {
            self.watch.as_mut().into_iter().for_each(|watch| watch.go(now.unwrap_or(watch.now)));
        }
    }

    /// A number of packets of the size of this packet has passed its hop.
    #[inline]
    pub(super) fn watch_delivered(&mut self, packet: &Packet, number: u64, now: Time) {
        if self.watch.is_some() && self.state(packet).watched {
            let bytes = u64::from(packet.size);
            let watch = self.watch.as_mut().into_iter();
            watch.for_each(|watch| (0..number).for_each(|_| watch.deliver(bytes, now)));
        }
    }
}
