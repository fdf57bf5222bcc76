//! Frames begin and end: what they do to those who hear them.

use super::air::OnAir;
use super::engine::{END, Event, Wlan};
use super::hearing::{Alone, Ended, OnAirNow};
use super::spared::Spared;
use super::tap::{Carried, Heard};
use crate::event::EventQueue;
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Frame, FrameKind, Overheard, Reaction};
use airqueue_wifi::medium::{Air, End, FrameId, Outcome, StationId};
use airqueue_wifi::phy::Phy;
use airqueue_wifi::phy::frames::DELIMITER_BYTES;
use std::mem::discriminant;

/// A frame that ends.
struct Ending {
    place: u32,
    id: FrameId,
    frame: Frame,
    begins: Time,
    now: Time,
    time: Span,
    overheard: Overheard,
    /// Whether the one for whom it is has decoded it.
    received: bool,
}

impl Ending {
    /// What other frames leave of it at a receiver.
    #[inline]
    fn spares(&self, end: &End, phy: &Phy) -> Spared {
        Spared::of(&self.frame, end, self.begins, self.now, phy)
    }
}

/// What a frame that ends means to a station.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// It is for it, and decoded.
    ForIt,
    /// It is for another, and decoded.
    Overheard,
    /// The receiver was with it and has not decoded it.
    Misheard(Outcome),
    /// It was ignored for a stronger one.
    Ignored,
    /// Nothing.
    Nothing,
}

/// What the frames of one instant mean to the members of a crowd that do not hear alike.
pub(super) type Meanings = Vec<(u32, Meaning)>;

impl Meaning {
    #[inline]
    fn to_others(end: &End, decoded: bool) -> Meaning {
        if decoded {
            Meaning::Overheard
        } else if end.engaged {
            Meaning::Misheard(end.outcome)
        } else if end.outcome == Outcome::Overpowered {
            Meaning::Ignored
        } else {
            Meaning::Nothing
        }
    }

    fn is_like(&self, other: &Meaning) -> bool {
        discriminant(self) == discriminant(other)
    }

    /// That of most.
    fn of_most(meanings: &Meanings) -> Meaning {
        let mut count = [0u32; 3];
        let kinds = [Meaning::Overheard, Meaning::Misheard(Outcome::Collided), Meaning::Ignored];
        for (_, meaning) in meanings {
            for (count, kind) in count.iter_mut().zip(&kinds) {
                *count += u32::from(kind.is_like(meaning));
            }
        }
        let most = (0..kinds.len()).max_by_key(|&kind| count[kind]).unwrap_or(0);
        let others = meanings.len() as u32 - count.iter().sum::<u32>();
        if count[most] >= others { kinds[most] } else { Meaning::Nothing }
    }
}

impl Wlan {
    /// A frame begins. Who sends it is on its own.
    pub(super) fn begin(&mut self, frame: Frame, now: Time, queue: &mut EventQueue<Event>) {
        let from = frame.from.index();
        let air = Air { begins: now, ends: now + self.net.phy.airtime(frame.rate, frame.bytes) };
        let place = self.airings.begin(frame, air);
        queue.schedule(air.ends, END, Event::End(place));
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        self.hearing.transmit(frame.from, air, &on);
        self.macs[from].on_transmit(now);
        self.settle(from, now);
        for at in 0..self.ears.single(frame.from).len() {
            let ear = self.ears.single(frame.from)[at];
            self.begin_at(ear.to(), ear.alone, place, now);
        }
        for at in self.ears.cohorts(frame.from) {
            let ear = self.ears.cohort(at);
            for member in 0..self.cohorts.all[ear.to()].apart.len() {
                let station = self.cohorts.all[ear.to()].apart[member] as usize;
                if station != from {
                    self.begin_at(station, ear.alone, place, now);
                }
            }
            for crowd in (0..self.cohorts.all[ear.to()].crowds.len()).rev() {
                let crowd = self.cohorts.all[ear.to()].crowds[crowd] as usize;
                self.begin_at_crowd(crowd, ear.to(), ear.alone, place, now);
            }
        }
    }

    /// A frame begins where a station on its own hears it.
    #[inline]
    fn begin_at(&mut self, station: usize, alone: Alone, place: u32, now: Time) {
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        self.hearing.begin(station, place, now, &on);
        self.sense(station, alone, now);
    }

    #[inline]
    fn sense(&mut self, station: usize, alone: Alone, now: Time) {
        let mac = &mut self.macs[station];
        if alone.sensed && mac.on_sensed_begin(now, &self.net) {
            self.grants.set(station, mac.next_grant());
        }
    }

    #[inline]
    fn begin_at_crowd(&mut self, crowd: usize, cohort: usize, alone: Alone, place: u32, now: Time) {
        let members = self.cohorts.crowds[crowd].members();
        let told = if self.cohorts.all[cohort].uniform { &members[..1] } else { members };
        let on = OnAirNow { ears: &self.ears, airings: &self.airings };
        self.hearing.begin_at_crowd(crowd, told, place, &on);
        if !alone.sensed {
            return;
        }
        if self.cohorts.crowds[crowd].is_surprised(now, &self.net) {
            self.surprise(crowd, alone, now);
        }
        self.cohorts.crowds[crowd].on_sensed_begin(now, &self.net);
        self.grants.set(self.grant_of(crowd), Time::MAX);
    }

    /// Members that will transmit before they notice a frame that begins.
    #[cold]
    fn surprise(&mut self, crowd: usize, alone: Alone, now: Time) {
        let mut stations = std::mem::take(&mut self.called);
        let noticed = now + self.net.rules.sense_delay;
        self.cohorts.crowds[crowd].due(noticed, &self.net, &mut stations);
        stations.sort_unstable();
        stations.dedup();
        self.set_all_apart(crowd, &stations);
        for station in stations.drain(..) {
            self.sense(station as usize, alone, now);
        }
        self.called = stations;
    }

    /// A frame ends. `TAPPED`: what became of it is also told to the tap.
    pub(super) fn on_end<const TAPPED: bool>(
        &mut self,
        place: u32,
        now: Time,
        queue: &mut EventQueue<Event>,
    ) {
        let OnAir { id, frame, air } = self.airings.end(place);
        let (from, begins, time) = (frame.from.index(), air.begins, air.ends - air.begins);
        self.macs[from].on_transmitted(&frame, now, &self.net);
        self.stations[from].on_sent(frame.kind, time);
        let overheard = self.net.overheard(&frame, now);
        let mut ending = Ending { place, id, frame, begins, now, time, overheard, received: false };
        for at in 0..self.ears.single(frame.from).len() {
            let ear = self.ears.single(frame.from)[at];
            self.end_at::<TAPPED>(ear.to(), ear.alone, &mut ending);
        }
        for at in self.ears.cohorts(frame.from) {
            self.end_at_cohort::<TAPPED>(at, &mut ending);
        }
        if ending.received && frame.kind == FrameKind::Data {
            self.deliver(from, frame.queue.into(), now);
        }
        if TAPPED {
            let mpdus = self.macs[from].sent(frame.queue.into());
            let mpdus = mpdus.filter(|_| frame.kind == FrameKind::Data);
            let carried = mpdus.map(|(msdu, decoded)| Carried {
                packet: msdu.packet,
                mpdu_bytes: msdu.mpdu_bytes,
                decoded,
            });
            self.tap.tell(frame, carried, begins, now);
        }
        self.follow_up(from, now, queue);
        // In an order that does not depend on who is in a crowd.
        self.touched.sort_unstable();
        while let Some(station) = self.touched.pop() {
            self.follow_up(station as usize, now, queue);
        }
        for at in self.ears.cohorts(frame.from) {
            self.gather(self.ears.cohort(at).to(), now);
        }
    }

    fn end_at_cohort<const TAPPED: bool>(&mut self, at: usize, ending: &mut Ending) {
        let ear = self.ears.cohort(at);
        for member in 0..self.cohorts.all[ear.to()].apart.len() {
            let station = self.cohorts.all[ear.to()].apart[member] as usize;
            if station != ending.frame.from.index() {
                self.end_at::<TAPPED>(station, ear.alone, ending);
            }
        }
        for crowd in (0..self.cohorts.all[ear.to()].crowds.len()).rev() {
            let crowd = self.cohorts.all[ear.to()].crowds[crowd] as usize;
            self.end_at_crowd::<TAPPED>(crowd, ear.to(), ear.alone, ending);
        }
    }

    /// A frame ends where a station on its own hears it.
    #[inline]
    fn end_at<const TAPPED: bool>(&mut self, station: usize, alone: Alone, ending: &mut Ending) {
        let end = self.hearing.end(station, alone, ending.place, ending.id);
        let meaning = self.meaning::<TAPPED>(station, &end, ending);
        self.react(station, alone, meaning, ending);
    }

    /// What a frame means to a station, and the books on that.
    #[inline]
    fn meaning<const TAPPED: bool>(
        &mut self,
        station: usize,
        end: &End,
        ending: &mut Ending,
    ) -> Meaning {
        let frame = &ending.frame;
        let spared = ending.spares(end, &self.net.phy);
        let decoded = spared.any(frame) && self.decodes(frame, station, end, spared);
        if TAPPED {
            let whole = end.outcome.decoded();
            // An A-MPDU of which something is left was captured.
            let outcome = if decoded && !whole { Outcome::Captured } else { end.outcome };
            let (station, bit_error) = (StationId(station as u32), whole && !decoded);
            self.tap.hear(Heard { station, outcome, engaged: end.engaged, bit_error });
        }
        if station != frame.to.index() {
            return Meaning::to_others(end, decoded);
        }
        self.stations[frame.from.index()].on_outcome(frame, end.outcome, !decoded, ending.time);
        ending.received = decoded;
        if decoded { Meaning::ForIt } else { Meaning::to_others(end, false) }
    }

    /// Whether noise leaves a station anything of what others have spared of a frame. Whose data they are looks at
    /// each MPDU.
    #[inline]
    fn decodes(&mut self, frame: &Frame, station: usize, end: &End, spared: Spared) -> bool {
        let signal = || self.ears.signal(frame.from, station);
        let mut noise = (self.errors.happen()).then(|| self.errors.at(frame, station, end, signal));
        if station != frame.to.index() || frame.kind != FrameKind::Data {
            return !noise.is_some_and(|mut noise| noise.takes_all(frame));
        }
        let mut takes = |bytes: u32| noise.as_mut().is_some_and(|noise| noise.takes(bytes));
        let mut at = 0;
        let lost = |mpdu_bytes: u32| {
            if frame.mpdus == 1 {
                return takes(frame.bytes);
            }
            let from = at;
            at = (from + DELIMITER_BYTES + mpdu_bytes).next_multiple_of(4);
            let to = at.min(frame.bytes);
            let hit = matches!(spared, Spared::Some(around) if !around.spares(from, to));
            hit || takes(DELIMITER_BYTES + mpdu_bytes)
        };
        self.macs[frame.from.index()].on_received_by_peer(frame.queue.into(), lost)
    }

    #[inline]
    fn react(&mut self, station: usize, alone: Alone, meaning: Meaning, ending: &Ending) {
        let (mac, net, now) = (&mut self.macs[station], &self.net, ending.now);
        let idle = alone.sensed && mac.on_sensed_end(now);
        let reaction = match meaning {
            Meaning::ForIt => mac.on_frame(&ending.frame, now, net),
            Meaning::Overheard => mac.overhear(ending.overheard, now, net),
            Meaning::Misheard(outcome) => mac.on_error(outcome, now, net),
            Meaning::Ignored => {
                mac.on_ignored(ending.begins, now, net);
                Reaction::Overheard
            }
            Meaning::Nothing => Reaction::Overheard,
        };
        if reaction == Reaction::Mine {
            self.touched.push(station as u32);
        } else if idle {
            mac.settle(now, net);
            self.grants.set(station, mac.next_grant());
        }
    }

    /// A frame ends where a crowd hears it.
    #[inline]
    fn end_at_crowd<const TAPPED: bool>(
        &mut self,
        crowd: usize,
        cohort: usize,
        alone: Alone,
        ending: &mut Ending,
    ) {
        let Ending { place, id, ref frame, .. } = *ending;
        let first = self.cohorts.crowds[crowd].members()[0];
        let first = self.cohorts.all[cohort].uniform.then_some(first);
        let ended = self.hearing.end_at_crowd(crowd, first, alone, place, id);
        let spared = |end: &End| ending.spares(end, &self.net.phy).any(frame);
        let end = match ended {
            // Nobody asks about each of them, and noise cannot tell them apart.
            Ended::Alike(end) if !(TAPPED || self.errors.happen() && spared(&end)) => end,
            ended => return self.end_at_each::<TAPPED>(crowd, cohort, alone, &ended, ending),
        };
        let decoded = spared(&end);
        let receiver = frame.to.index();
        if self.cohorts.crowd_of(receiver) == Some(crowd) {
            let meaning = self.meaning::<TAPPED>(receiver, &end, ending);
            if ending.received {
                self.set_apart(receiver);
                self.react(receiver, alone, meaning, ending);
            }
        }
        self.react_together(crowd, alone, Meaning::to_others(&end, decoded), ending);
    }

    /// A frame ends at a crowd whose members need not all have heard the same.
    #[cold]
    fn end_at_each<const TAPPED: bool>(
        &mut self,
        crowd: usize,
        cohort: usize,
        alone: Alone,
        ended: &Ended,
        ending: &mut Ending,
    ) {
        let mut meanings = std::mem::take(&mut self.meanings);
        for member in 0..self.cohorts.crowds[crowd].members().len() {
            let station = self.cohorts.crowds[crowd].members()[member].index();
            let end = match ended {
                Ended::Alike(end) => *end,
                Ended::Apart => self.hearing.end_among_others(station, ending.id),
            };
            let meaning = self.meaning::<TAPPED>(station, &end, ending);
            meanings.push((station as u32, meaning));
        }
        let most = Meaning::of_most(&meanings);
        meanings.retain(|(_, meaning)| !meaning.is_like(&most));
        while let Some(&(station, meaning)) = meanings.last() {
            let alike = meanings.iter().filter(|(_, other)| other.is_like(&meaning));
            let several = meanings.len() > 1 && !meaning.is_like(&Meaning::ForIt);
            let leaving = alike.map(|&(station, _)| station);
            if several && let Some(other) = self.split(crowd, cohort, leaving) {
                self.react_together(other, alone, meaning, ending);
                meanings.retain(|(_, other)| !other.is_like(&meaning));
            } else {
                self.set_apart(station as usize);
                self.react(station as usize, alone, meaning, ending);
                meanings.pop();
            }
        }
        self.meanings = meanings;
        self.react_together(crowd, alone, most, ending);
    }

    /// What a frame means to all members of a crowd, if there are any left.
    #[inline]
    fn react_together(&mut self, crowd: usize, alone: Alone, meaning: Meaning, ending: &Ending) {
        let place = self.grant_of(crowd);
        let (crowd, net, now) = (&mut self.cohorts.crowds[crowd], &self.net, ending.now);
        if crowd.members().is_empty() {
            return;
        }
        let idle = alone.sensed && crowd.on_sensed_end(now);
        match meaning {
            Meaning::Overheard => crowd.overhear(ending.overheard),
            Meaning::Misheard(outcome) => crowd.on_error(outcome, now, net),
            Meaning::Ignored => crowd.on_ignored(ending.begins, now, net),
            Meaning::ForIt | Meaning::Nothing => {}
        }
        if idle {
            crowd.settle(now, net);
            self.grants.set(place, crowd.next_grant());
        }
    }
}
