//! Stations that associate with an access point, lose it, and roam to another one (IEEE 802.11-2016, 11.3).
//!
//! A station ([`Associate`]) without service looks for access points for a time, off its channel, and then exchanges the
//! frames of the [`Handshake`] with one of them, each after the one before. Each end acts on what it has received and on
//! what was acknowledged; a station that waits in vain begins anew. Until the last frame has been acknowledged, the
//! station takes no packets out of its queues.
//!
//! Packets go only between a station and the access point that serves it. An access point discards a packet for a station
//! that it does not serve when the packet's turn comes, and what its MAC has in hand at the moment when it learns this
//! ([`Wlan::close`](super::engine::Wlan)). An access point learns this when the station authenticates anew, or when the
//! station has associated with another access point; until then the access point sends to the station in vain.
//!
//! A network in which no station associates has none of this.

mod counters;
mod frames;
mod handshake;
mod packets;
mod spec;

pub use counters::AssociationCounters;
pub use spec::{AssociationSpec, Roam};

use super::engine::{Event, INPUT};
use super::spec::WlanSpec;
use crate::counters::Timings;
use crate::timer::Timer;
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Msdu, TxReport};
use airqueue_wifi::medium::StationId;
use std::collections::VecDeque;

/// What a station does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The station has not begun, or is out of reach.
    Out,
    /// The station is without service, and waits for the end of an exchange.
    Parting,
    /// The station is on other channels, until the timer expires.
    Searching,
    /// The station exchanges frames with the access point, and waits for the next one until the timer expires.
    Shaking,
    /// The access point serves the station.
    Served,
}

/// A station that associates.
#[derive(Debug)]
struct Associate<E> {
    spec: AssociationSpec,
    phase: Phase,
    /// The access point that serves the station, or with which it is to associate.
    access_point: StationId,
    /// The access point that believes that it serves the station.
    served_by: Option<StationId>,
    /// The last access point that served the station.
    last: Option<StationId>,
    /// How many frames of the handshake their receivers have received.
    received: usize,
    /// When the present time without service began.
    since: Time,
    /// Number of [`AssociationSpec::roams`] that have begun.
    roamed: usize,
    /// When the present phase ends by itself; [`Time::MAX`]: never.
    deadline: Time,
    timer: Timer<E>,
    /// How long the station has been on other channels since time zero, apart from the present time.
    searched: Span,
    /// When it went to other channels last.
    left: Time,
    counters: AssociationCounters,
    /// Times without service that have ended, from the loss of the access point, or the beginning, to the last
    /// acknowledgement.
    gaps: Timings,
}

/// The associations of a network.
#[derive(Debug)]
pub(super) struct Associations<E> {
    /// For each station the place of its association; empty in a network where no station associates.
    places: Vec<Option<u32>>,
    all: Vec<Associate<E>>,
    /// For each station the frames of handshakes that wait for the MAC, likewise.
    outboxes: Vec<VecDeque<Msdu>>,
    /// Access points that have packets in hand for stations that they serve no longer, within an exchange that goes on.
    late: Vec<(StationId, StationId)>,
    /// Scratch list: packets that a MAC has given up.
    reports: Vec<TxReport>,
}

impl<E: Copy + From<Event>> Associations<E> {
    /// No station is associated.
    pub(super) fn new(spec: &WlanSpec) -> Associations<E> {
        let (mut places, mut outboxes) = (Vec::new(), Vec::new());
        if !spec.associations.is_empty() {
            places.resize(spec.stations.len(), None);
            outboxes.resize(spec.stations.len(), VecDeque::new());
        }
        let mut all = Vec::with_capacity(spec.associations.len());
        for (place, of) in (0..).zip(&spec.associations) {
            places[of.station.index()] = Some(place);
            all.push(Associate::new(
                of.clone(),
                Timer::new(Event::Association(place).into(), INPUT),
            ));
        }
        Associations { places, all, outboxes, late: Vec::new(), reports: Vec::new() }
    }

    fn of(&self, station: StationId) -> Option<usize> {
        self.places.get(station.index()).copied().flatten().map(|place| place as usize)
    }

    /// Whether a station associates, and is without service at present.
    #[inline]
    pub(super) fn is_unserved(&self, station: StationId) -> bool {
        self.of(station).is_some_and(|at| self.all[at].phase != Phase::Served)
    }

    /// Whether data may go from one station to another.
    #[inline]
    pub(super) fn is_open(&self, from: StationId, to: StationId) -> bool {
        if self.all.is_empty() {
            return true;
        }
        let down = self.of(to).map(|at| &self.all[at]);
        let up = self.of(from).map(|at| &self.all[at]);
        down.is_none_or(|of| !of.spec.may_join(from) || of.served_by == Some(from))
            && up.is_none_or(|of| !of.spec.may_join(to) || of.is_served_by(to))
    }

    /// The counters begin anew.
    pub(super) fn start_counting(&mut self, now: Time) {
        for of in &mut self.all {
            of.counters = AssociationCounters { counted: now, ..Default::default() };
            of.gaps.clear();
        }
    }

    /// How long, from time zero to `now`, a station has been on other channels.
    pub(super) fn off_channel_ever(&self, station: StationId, now: Time) -> Span {
        self.of(station).map_or(Span::ZERO, |at| self.all[at].searched_until(now))
    }
}

impl<E> Associate<E> {
    fn new(spec: AssociationSpec, timer: Timer<E>) -> Associate<E> {
        Associate {
            phase: Phase::Out,
            access_point: spec.access_point,
            served_by: None,
            last: None,
            received: 0,
            since: Time::ZERO + spec.first,
            roamed: 0,
            deadline: Time::ZERO + spec.first,
            timer,
            searched: Span::ZERO,
            left: Time::ZERO,
            counters: AssociationCounters::default(),
            gaps: Timings::default(),
            spec,
        }
    }

    fn is_served_by(&self, access_point: StationId) -> bool {
        self.phase == Phase::Served && self.access_point == access_point
    }

    /// When the station leaves its access point for another one next.
    fn next_roam(&self) -> Time {
        self.spec.roams.get(self.roamed).map_or(Time::MAX, |roam| roam.at)
    }

    fn searched_until(&self, now: Time) -> Span {
        let ongoing = match self.phase {
            Phase::Searching => now - self.left,
            _ => Span::ZERO,
        };
        self.searched + ongoing
    }
}
