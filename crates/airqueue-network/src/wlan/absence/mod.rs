//! Stations that are absent now and then: they scan other channels, or go out of reach.
//!
//! A station that scans leaves the channel between two exchanges. Its MAC then finds the medium busy until the station
//! is back, so that backoffs stand still; its queues stop, and nobody decodes anything from or at the station. A station
//! that tells its access point does so as a station that sleeps ([`super::power`]): it leaves once the null frame has been
//! acknowledged or given up, and another null frame after its return lets go what the access point has kept.

mod counters;
mod leaving;
mod spec;

pub use counters::AbsenceCounters;
pub use spec::{AbsenceKind, AbsenceSpec};

use super::engine::{Event, INPUT};
use super::spec::WlanSpec;
use crate::counters::Timings;
use crate::timer::Timer;
use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::medium::StationId;
use counters::Absent;

/// Where a station is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    /// On its channel, until the timer expires.
    Present,
    /// About to leave.
    Leaving,
    /// Absent, until the timer expires.
    Absent,
}

/// A station that is absent now and then.
#[derive(Debug)]
struct Absentee<E> {
    spec: AbsenceSpec,
    stream: RandomStream,
    whereabouts: Whereabouts,
    /// When the present or next time is due, without its random delay.
    due: Time,
    /// Channels that the station is still to visit at the present time.
    left: u32,
    /// Whether the station has told its access point that it leaves, and is to tell of its return.
    told: bool,
    absent: Absent,
    counters: AbsenceCounters,
    /// The absences that have ended.
    ended: Timings,
    timer: Timer<E>,
}

/// The absences of a network.
#[derive(Debug)]
pub(super) struct Absences<E> {
    /// For each station the place of its absences; empty in a network without absences.
    places: Vec<Option<u32>>,
    all: Vec<Absentee<E>>,
}

impl<E: Copy + From<Event>> Absences<E> {
    /// All stations are present.
    pub(super) fn new(spec: &WlanSpec, seed: Seed) -> Absences<E> {
        let mut places = Vec::new();
        if !spec.absences.is_empty() {
            places.resize(spec.stations.len(), None);
        }
        let mut all = Vec::with_capacity(spec.absences.len());
        for (place, of) in (0..).zip(&spec.absences) {
            places[of.station.index()] = Some(place);
            let timer = Timer::new(Event::Absence(place).into(), INPUT);
            let stream = seed.stream(&format!("absences/{}", of.station.0));
            all.push(Absentee::new(of.clone(), stream, timer));
        }
        Absences { places, all }
    }

    fn of(&self, station: StationId) -> Option<usize> {
        self.places.get(station.index()).copied().flatten().map(|place| place as usize)
    }

    /// Whether a station is on other channels.
    #[inline]
    pub(super) fn is_off_channel(&self, station: StationId) -> bool {
        self.of(station).is_some_and(|at| self.all[at].is_off_channel())
    }

    /// Whether a station is about to leave.
    pub(super) fn is_leaving(&self, station: StationId) -> bool {
        self.of(station).is_some_and(|at| self.all[at].whereabouts == Whereabouts::Leaving)
    }

    /// The counters begin anew.
    pub(super) fn start_counting(&mut self, now: Time) {
        for of in &mut self.all {
            of.absent.count(&mut of.counters, now);
            of.counters = AbsenceCounters::default();
            of.ended.clear();
        }
    }

    /// The counters of a station up to `now`, if it is absent now and then. Those of packets that were kept are those of
    /// its access point.
    pub(super) fn counters(&self, station: StationId, now: Time) -> Option<AbsenceCounters> {
        let of = &self.all[self.of(station)?];
        let (mut absent, mut counters) = (of.absent, of.counters);
        absent.count(&mut counters, now);
        Some(counters)
    }

    /// How long, from time zero to `now`, a station has been on other channels.
    pub(super) fn off_channel_ever(&self, station: StationId, now: Time) -> Span {
        let of = self.of(station).map(|at| &self.all[at]).filter(|of| of.spec.is_scan());
        of.map_or(Span::ZERO, |of| of.absent.ever(now))
    }
}

impl<E> Absentee<E> {
    fn new(spec: AbsenceSpec, mut stream: RandomStream, timer: Timer<E>) -> Absentee<E> {
        let first = spec.first.unwrap_or_else(|| stream.span_below(spec.period));
        Absentee {
            spec,
            stream,
            whereabouts: Whereabouts::Present,
            due: Time::ZERO + first,
            left: 0,
            told: false,
            absent: Absent::PRESENT,
            counters: AbsenceCounters::default(),
            ended: Timings::default(),
            timer,
        }
    }

    fn is_off_channel(&self) -> bool {
        self.whereabouts == Whereabouts::Absent && self.spec.is_scan()
    }

    /// When the time that is due begins.
    fn begins(&mut self) -> Time {
        let jitter = self.spec.jitter;
        let delay = if jitter > Span::ZERO { self.stream.span_below(jitter) } else { Span::ZERO };
        self.due.saturating_add(delay)
    }
}
