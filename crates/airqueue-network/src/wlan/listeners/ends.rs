//! Frames begin and end: what they do to those who hear them.

use super::Listeners;
use super::hearing::{Alone, OnAirNow};
use super::meaning::{Ending, Meaning};
use super::on_air::OnAir;
use crate::wlan::tap::Socket;
use airqueue_core::Time;
use airqueue_wifi::mac::{Frame, FrameKind, Reaction, Scoreboard};
use airqueue_wifi::medium::{End, StationId};

impl Listeners {
    /// A frame begins where stations on their own hear it.
    #[inline]
    pub(super) fn begin_at_apart(&mut self, from: StationId, place: u32, now: Time) {
        let (single, many) = self.ears.of(from);
        for at in single {
            let ear = self.ears.at(at);
            self.begin_at(ear.station(), ear.alone, place, now);
        }
        for at in many {
            let ear = self.ears.at(at);
            for member in 0..self.cohorts.all[ear.cohort()].apart.len() {
                let station = self.cohorts.all[ear.cohort()].apart[member];
                if station != from {
                    self.begin_at(station, ear.alone, place, now);
                }
            }
        }
    }

    #[inline(always)]
    fn begin_at(&mut self, station: StationId, alone: Alone, place: u32, now: Time) {
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        self.hearing.begin(station, place, now, &on);
        let mac = &mut self.macs[station.index()];
        if alone.is_sensed() && mac.on_sensed_begin(now, &self.radio) {
            self.grants.set(station.index(), mac.next_grant());
        }
    }

    #[inline]
    pub(super) fn begin_at_crowd(
        &mut self,
        crowd: usize,
        cohort: usize,
        alone: Alone,
        place: u32,
        now: Time,
    ) {
        let members = self.cohorts.crowds[crowd].members();
        let told = if self.cohorts.all[cohort].uniform { &members[..1] } else { members };
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        self.hearing.begin_at_crowd(crowd, told, place, &on);
        if !alone.is_sensed() {
            return;
        }
        if self.cohorts.crowds[crowd].is_surprised(now, &self.radio) {
            self.surprise(crowd, now);
        }
        self.cohorts.crowds[crowd].on_sensed_begin(now, &self.radio);
        self.grants.set(self.grant_of(crowd), Time::MAX);
    }

    /// Members that will transmit before they notice a frame that begins.
    #[cold]
    fn surprise(&mut self, crowd: usize, now: Time) {
        let mut stations = std::mem::take(&mut self.called);
        let noticed = now + self.radio.rules.sense_delay;
        self.cohorts.crowds[crowd].due(noticed, &self.radio, &mut stations);
        stations.sort_unstable();
        stations.dedup();
        self.set_all_apart(crowd, &stations);
        for station in stations.drain(..) {
            let mac = &mut self.macs[station as usize];
            mac.on_sensed_begin(now, &self.radio);
            self.grants.set(station as usize, mac.next_grant());
        }
        self.called = stations;
    }

    /// A frame ends. `TAPPED`: what became of it everywhere is also told to the tap. Who sends it is alone, and so are those
    /// of [`Self::poll_touched`] afterwards; then [`Self::regroup`] is due.
    pub(in crate::wlan) fn end<const TAPPED: bool>(
        &mut self,
        place: u32,
        now: Time,
        tap: &mut Socket,
    ) -> Ending {
        let &OnAir { id, from, air } = self.airings.at(place);
        self.macs[from.index()].on_transmitted(now, &self.radio);
        let frame = self.macs[from.index()].frame();
        let &Frame { kind, to, mpdus, .. } = frame;
        let overheard = self.radio.overheard(frame, now);
        self.airings.end(place);
        let (begins, time) = (air.begins, air.ends - air.begins);
        let at_receiver = None;
        let mut ending =
            Ending { place, id, from, to, kind, mpdus, begins, now, time, overheard, at_receiver };
        let (single, cohorts) = self.ears.of(from);
        for at in single {
            let ear = self.ears.at(at);
            self.end_at::<TAPPED>(ear.station(), ear.alone, &mut ending, tap);
        }
        for ear in self.ears.watchers(from).map(|at| self.ears.at(at)) {
            if ear.alone.is_sensed() {
                self.macs[ear.station().index()].watch_end(now);
            }
        }
        for at in cohorts {
            self.end_at_cohort::<TAPPED>(at, &mut ending, tap);
        }
        // In an order that does not depend on who is in a crowd.
        self.touched.sort_unstable();
        ending
    }

    fn end_at_cohort<const TAPPED: bool>(
        &mut self,
        at: usize,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let ear = self.ears.at(at);
        for member in 0..self.cohorts.all[ear.cohort()].apart.len() {
            let station = self.cohorts.all[ear.cohort()].apart[member];
            if station != ending.from {
                self.end_at::<TAPPED>(station, ear.alone, ending, tap);
            }
        }
        for crowd in (0..self.cohorts.all[ear.cohort()].crowds().len()).rev() {
            let crowd = self.cohorts.all[ear.cohort()].crowds()[crowd] as usize;
            self.end_at_crowd::<TAPPED>(crowd, ear.cohort(), ear.alone, ending, tap);
        }
    }

    /// A frame ends where a station on its own hears it. Mostly it is for another and met none there: there is nothing to
    /// find out then, unless somebody asks or noise may have taken it.
    #[inline(always)]
    fn end_at<const TAPPED: bool>(
        &mut self,
        station: StationId,
        alone: Alone,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let plain = !TAPPED && station != ending.to && !self.errors.happen();
        if plain && self.hearing.end_alone(station, ending.place) {
            let end = alone.end();
            self.react(station, alone, Meaning::to_others(&end, end.outcome.decoded()), ending);
        } else {
            self.end_in_full::<TAPPED>(station, alone, ending, tap);
        }
    }

    #[inline(never)]
    fn end_in_full<const TAPPED: bool>(
        &mut self,
        station: StationId,
        alone: Alone,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let end = self.hearing.end(station, alone, ending.place, ending.id);
        let meaning = self.meaning::<TAPPED>(station, station, &end, ending, tap);
        self.react(station, alone, meaning, ending);
    }

    #[inline(always)]
    fn react(&mut self, station: StationId, alone: Alone, meaning: Meaning, ending: &Ending) {
        let now = ending.now;
        let idle = alone.is_sensed() && self.macs[station.index()].on_sensed_end(now);
        let (mac, radio) = (&mut self.macs[station.index()], &self.radio);
        let reaction = match meaning {
            Meaning::ForIt => self.receive(station, ending),
            Meaning::Overheard => mac.overhear(ending.overheard, now, radio),
            Meaning::Misheard(outcome) => mac.on_error(outcome, now, radio),
            Meaning::Ignored => {
                mac.on_ignored(ending.begins, now, radio);
                Reaction::Overheard
            }
            Meaning::Nothing => Reaction::Overheard,
        };
        if reaction == Reaction::Mine {
            self.touched.push(station);
        } else if idle {
            self.macs[station.index()].settle(now, &self.radio);
            self.grants.set(station.index(), self.macs[station.index()].next_grant());
        }
    }

    /// A station takes a frame that is for it.
    fn receive(&mut self, station: StationId, ending: &Ending) -> Reaction {
        let frame = *self.macs[ending.from.index()].frame();
        if frame.opens {
            self.cohorts.on_asked(station);
        }
        let scoreboard = match frame.kind {
            FrameKind::BlockAck => *self.macs[ending.from.index()].scoreboard(),
            _ => Scoreboard::default(),
        };
        self.macs[station.index()].on_frame(&frame, &scoreboard, ending.now, &self.radio)
    }

    /// A frame ends where a crowd hears it.
    #[inline]
    fn end_at_crowd<const TAPPED: bool>(
        &mut self,
        crowd: usize,
        cohort: usize,
        alone: Alone,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let receiver = ending.to;
        let told = self.cohorts.crowds[crowd].members()[0];
        let end = if self.hearing.end_at_crowd(crowd, ending.place) {
            alone.end()
        } else if self.cohorts.all[cohort].uniform {
            self.hearing.end_told(told, ending.id)
        } else {
            return self.end_at_each::<TAPPED>(crowd, cohort, alone, None, ending, tap);
        };
        // Somebody asks about each of them, or noise can tell them apart.
        if TAPPED || self.is_partial(told, &end, ending) {
            return self.end_at_each::<TAPPED>(crowd, cohort, alone, Some(end), ending, tap);
        }
        if self.cohorts.crowd_of(receiver) == Some(crowd) {
            let meaning = self.meaning::<TAPPED>(receiver, told, &end, ending, tap);
            if ending.is_received() {
                self.split(receiver);
                self.react(receiver, alone, meaning, ending);
            }
        }
        let decoded = self.is_found(told, &end, ending);
        self.react_together(crowd, alone, Meaning::to_others(&end, decoded), ending);
    }

    /// A frame ends at a crowd to whose members it need not all mean the same; `alike`: what became of it, if that is the
    /// same at all.
    #[cold]
    fn end_at_each<const TAPPED: bool>(
        &mut self,
        crowd: usize,
        cohort: usize,
        alone: Alone,
        alike: Option<End>,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let mut meanings = std::mem::take(&mut self.meanings);
        let first = self.cohorts.crowds[crowd].members()[0];
        for member in 0..self.cohorts.crowds[crowd].members().len() {
            let station = self.cohorts.crowds[crowd].members()[member];
            let told = if alike.is_some() { first } else { station };
            let end = alike.unwrap_or_else(|| self.hearing.end_told(station, ending.id));
            let meaning = self.meaning::<TAPPED>(station, told, &end, ending, tap);
            meanings.push((station, meaning));
        }
        let most = Meaning::of_most(&meanings);
        meanings.retain(|(_, meaning)| !meaning.is_like(&most));
        while let Some(&(station, meaning)) = meanings.last() {
            let alike = meanings.iter().filter(|(_, other)| other.is_like(&meaning));
            let several = meanings.len() > 1 && !meaning.is_like(&Meaning::ForIt);
            let leaving = alike.map(|&(station, _)| station);
            if several && let Some(other) = self.branch_off(crowd, cohort, leaving) {
                self.react_together(other, alone, meaning, ending);
                meanings.retain(|(_, other)| !other.is_like(&meaning));
            } else {
                self.split(station);
                self.react(station, alone, meaning, ending);
                meanings.pop();
            }
        }
        self.meanings = meanings;
        self.react_together(crowd, alone, most, ending);
    }

    /// What a frame means to all members of a crowd, if there are any left. [`Self::gather`] is due.
    #[inline]
    fn react_together(&mut self, crowd: usize, alone: Alone, meaning: Meaning, ending: &Ending) {
        let (crowd, radio, now) = (&mut self.cohorts.crowds[crowd], &self.radio, ending.now);
        if crowd.members().is_empty() {
            return;
        }
        if alone.is_sensed() {
            crowd.on_sensed_end(now);
        }
        match meaning {
            Meaning::Overheard => crowd.overhear(ending.overheard),
            Meaning::Misheard(outcome) => crowd.on_error(outcome, now, radio),
            Meaning::Ignored => crowd.on_ignored(ending.begins, now, radio),
            Meaning::ForIt | Meaning::Nothing => {}
        }
    }
}
