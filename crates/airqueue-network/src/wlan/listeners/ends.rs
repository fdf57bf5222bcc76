//! Frames begin and end: their effect on their listeners.

use super::Listeners;
use super::apart::Ears;
use super::classes::Membership;
use super::collisions::{Collision, Outcome};
use super::on_air::FrameOnAir;
use super::rx_end::{Ending, RxEnd, RxEnds};
use super::tables::{Alone, Listener};
use crate::wlan::tap::Socket;
use airqueue_core::Time;
use airqueue_wifi::mac::{FrameKind, Reaction, Scoreboard};
use airqueue_wifi::medium::{End, StationId};
use std::ops::Range;

/// The outcomes of a frame at the members of a group.
enum Ends {
    /// The same at all members.
    Alike(End),
    /// Each member's receiver tracks the frame.
    Tracked,
    /// No receiver tracks the frame.
    OfCollision(Collision),
}

impl Listeners {
    /// The outcome at a listener of a frame on the air, or of one that ends, if it meets no other.
    #[inline]
    pub(super) fn alone(&self, listener: Listener, place: u32) -> Alone {
        match &self.varying {
            Some(varying) => varying.heard(place, listener.station()).alone,
            None => listener.alone,
        }
    }

    #[inline]
    pub(super) fn begin_at_group(
        &mut self,
        group: usize,
        class: usize,
        alone: Alone,
        place: u32,
        now: Time,
    ) {
        let untracked = self.is_untracked(group, class, place);
        let Ears { hearing, classes, on, .. } = self.ears();
        let members = classes.groups[group].members();
        let trackers = if classes.all[class].uniform { &members[..1] } else { members };
        hearing.begin_at_group(group, trackers, untracked, place, &on);
        if !alone.is_sensed() {
            return;
        }
        if self.classes.groups[group].is_surprised(now, &self.radio) {
            self.surprise(group, now);
        }
        self.classes.groups[group].on_sensed_begin(now, &self.radio);
        self.grants.set(self.grant_of(group), Time::MAX);
    }

    /// Whether the outcomes of a frame that begins at a group, and of those on the air there, are known from their
    /// powers: A-MPDUs may be received in part, and noise adds to the interference of other frames.
    #[inline]
    fn is_untracked(&self, group: usize, class: usize, place: u32) -> bool {
        let is_single = |place| {
            let from = self.on_air_frames.at(place).from;
            self.macs[from.index()].frame().mpdus == 1
        };
        !self.classes.all[class].uniform
            && !self.examines
            && is_single(place)
            && match self.hearing.lone_at_group(group) {
                Some(lone) => is_single(lone),
                None => self.hearing.takes_more(group),
            }
    }

    /// Handles members that will transmit before they sense a frame that begins.
    #[cold]
    fn surprise(&mut self, group: usize, now: Time) {
        let mut stations = std::mem::take(&mut self.called);
        let noticed = now + self.radio.rules.sense_delay;
        self.classes.groups[group].due(noticed, &self.radio, &mut stations);
        stations.sort_unstable();
        stations.dedup();
        self.set_all_apart(group, &stations);
        for station in stations.drain(..) {
            let mac = &mut self.macs[station as usize];
            mac.on_sensed_begin(now, &self.radio);
            self.grants.set(station as usize, mac.next_grant());
        }
        self.called = stations;
    }

    /// A frame ends. `TAPPED`: the fate of the frame at every station is reported to the tap. The sender is on its own,
    /// and so are the stations of [`Self::poll_touched`] afterwards; then [`Self::regroup`] is due.
    pub(in crate::wlan) fn end<const TAPPED: bool>(
        &mut self,
        place: u32,
        now: Time,
        tap: &mut Socket,
    ) -> Ending {
        let on_air = *self.on_air_frames.at(place);
        let mut ending = self.conclude(on_air, place, now);
        self.on_air_frames.end(place);
        let FrameOnAir { from, version, .. } = on_air;
        let (single, classes) = self.listeners.for_frame(version).of(from);
        if self.varying.is_some() {
            self.end_varied::<TAPPED>(single, &mut ending, tap);
        } else {
            self.end_at_apart::<TAPPED>(single, &mut ending, tap);
        }
        let watchers = self.listeners.for_frame(version).watchers(from);
        if !watchers.is_empty() {
            self.watch_end(watchers, &ending);
        }
        for at in classes {
            self.end_at_class::<TAPPED>(at, &mut ending, tap);
        }
        // In an order that does not depend on the membership of groups.
        self.touched.sort_unstable();
        ending
    }

    /// A frame ends at listeners that only keep the time in which they sense frames.
    #[inline(never)]
    fn watch_end(&mut self, watchers: Range<usize>, ending: &Ending) {
        for at in watchers {
            let listener = self.listeners.for_frame(ending.version).at(at);
            if self.alone(listener, ending.place).is_sensed() {
                self.macs[listener.station().index()].watch_end(ending.now);
            }
        }
    }

    /// The sender of a frame, which is or was on the air at `place`, is done with the frame now.
    #[inline(always)]
    pub(super) fn conclude(&mut self, on_air: FrameOnAir, place: u32, now: Time) -> Ending {
        let sender = &mut self.macs[on_air.from.index()];
        sender.on_transmitted(now, &self.radio);
        Ending::new(on_air, place, sender.frame(), now, &self.radio)
    }

    #[inline(never)]
    fn end_varied<const TAPPED: bool>(
        &mut self,
        single: Range<usize>,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        for at in single {
            let listener = self.listeners.for_frame(ending.version).at(at);
            let listener = listener.heard_as(self.alone(listener, ending.place));
            self.end_at::<TAPPED>(listener, ending, tap);
        }
    }

    fn end_at_class<const TAPPED: bool>(
        &mut self,
        at: usize,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let listener = self.listeners.for_frame(ending.version).at(at);
        for member in 0..self.classes.all[listener.class()].apart.len() {
            let station = self.classes.all[listener.class()].apart[member];
            if station != ending.from {
                self.end_at::<TAPPED>(listener.member(station), ending, tap);
            }
        }
        for group in (0..self.classes.all[listener.class()].groups().len()).rev() {
            let group = self.classes.all[listener.class()].groups()[group] as usize;
            self.end_at_group::<TAPPED>(group, listener.class(), listener.alone, ending, tap);
        }
    }

    /// A frame ends at the listeners on their own outside classes. Most frames are for another station and met no other
    /// frame here: nothing has to be computed then, unless there is a tap or noise may have destroyed the frame.
    #[inline(always)]
    fn end_at_apart<const TAPPED: bool>(
        &mut self,
        mut single: Range<usize>,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let plain = !TAPPED && !self.examines;
        loop {
            if plain {
                single = self.end_at_plain(single, ending);
            }
            let Some(at) = single.next() else { return };
            let listener = self.listeners.for_frame(ending.version).at(at);
            self.end_in_full::<TAPPED>(listener.station(), listener.alone, ending, tap);
        }
    }

    /// A frame ends at a station on its own.
    #[inline(always)]
    pub(super) fn end_at<const TAPPED: bool>(
        &mut self,
        listener: Listener,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let station = listener.station();
        let plain = !TAPPED && station != ending.to && !self.examines;
        if !plain || !self.ears().end_plainly(listener, ending) {
            self.end_in_full::<TAPPED>(station, listener.alone, ending, tap);
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
        let rx_end = if !TAPPED && self.is_plain(station, ending) {
            RxEnd::to_others(&end, end.outcome.decoded())
        } else {
            self.rx_end::<TAPPED>(station, station, &end, ending, tap)
        };
        self.react(station, alone, rx_end, ending);
    }

    /// Whether the effect of a frame on a station follows from what overlapping frames left of the frame.
    #[inline(always)]
    fn is_plain(&self, station: StationId, ending: &Ending) -> bool {
        station != ending.to && ending.mpdus == 1 && !self.examines
    }

    #[inline(always)]
    pub(super) fn react(
        &mut self,
        station: StationId,
        alone: Alone,
        rx_end: RxEnd,
        ending: &Ending,
    ) {
        let RxEnd::Addressed = rx_end else {
            return self.ears().react(station, alone, rx_end, ending);
        };
        let idle = alone.is_sensed() && self.macs[station.index()].on_sensed_end(ending.now);
        let reaction = self.receive(station, ending);
        self.ears().conclude(station, reaction, idle, ending.now);
    }

    /// A station receives a frame addressed to it.
    fn receive(&mut self, station: StationId, ending: &Ending) -> Reaction {
        let frame = *self.frame_of(ending);
        if frame.opens {
            self.classes.on_asked(station);
        }
        let scoreboard = match frame.kind {
            FrameKind::BlockAck => *self.scoreboard_of(ending),
            _ => Scoreboard::default(),
        };
        self.macs[station.index()].on_frame(&frame, &scoreboard, ending.now, &self.radio)
    }

    /// A frame ends at a group.
    #[inline]
    fn end_at_group<const TAPPED: bool>(
        &mut self,
        group: usize,
        class: usize,
        alone: Alone,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let tracker = self.classes.groups[group].members()[0];
        let end = if self.hearing.end_at_group(group, ending.place) {
            alone.end()
        } else if self.classes.all[class].uniform {
            self.hearing.end_tracked(tracker, ending.id)
        } else {
            let collision = self.hearing.end_of_collision(group, ending.id);
            let ends = collision.map_or(Ends::Tracked, Ends::OfCollision);
            return self.end_at_each::<TAPPED>(group, class, alone, &ends, ending, tap);
        };
        self.end_at_all::<TAPPED>(group, class, alone, end, ending, tap);
    }

    /// A frame ends at a group, with the same outcome at all members.
    #[inline]
    pub(super) fn end_at_all<const TAPPED: bool>(
        &mut self,
        group: usize,
        class: usize,
        alone: Alone,
        end: End,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let (receiver, tracker) = (ending.to, self.classes.groups[group].members()[0]);
        // The tap needs the outcome at each member, or noise may affect members differently.
        if TAPPED || self.is_partial(tracker, &end, ending) {
            return self.end_at_each::<TAPPED>(group, class, alone, &Ends::Alike(end), ending, tap);
        }
        let to_others = RxEnd::to_others(&end, self.is_found(tracker, &end, ending));
        if self.classes.group_of(receiver) == Some(group) {
            let rx_end = self.rx_end::<TAPPED>(receiver, tracker, &end, ending, tap);
            // It is addressed, or asleep, or out of reach as its sender may be.
            if !rx_end.is_like(&to_others) {
                self.split(receiver);
                self.react(receiver, alone, rx_end, ending);
            }
        }
        self.react_together(group, alone, to_others, ending);
    }

    /// A frame ends at a group whose members it may affect differently.
    #[cold]
    fn end_at_each<const TAPPED: bool>(
        &mut self,
        group: usize,
        class: usize,
        alone: Alone,
        ends: &Ends,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let mut rx_ends = std::mem::take(&mut self.rx_ends);
        rx_ends.clear();
        match ends {
            Ends::OfCollision(collision) if !TAPPED => {
                self.find_ends_of_collision(group, collision, &mut rx_ends, ending, tap);
            }
            _ => self.find_rx_ends::<TAPPED>(group, ends, &mut rx_ends, ending, tap),
        }
        let most = self.part_by(group, class, alone, &mut rx_ends, ending);
        // From the last place on: the last member takes the place of the one that leaves.
        for place in (0..rx_ends.len()).rev().filter(|&place| !rx_ends[place].is_like(&most)) {
            let station = self.classes.groups[group].members()[place];
            self.split(station);
            self.react(station, alone, rx_ends[place], ending);
        }
        self.rx_ends = rx_ends;
        self.react_together(group, alone, most, ending);
    }

    /// Members on which a frame does not have the most frequent effect, which is returned, form other groups as far as
    /// there may be more. The effects on those that stay are left.
    #[inline]
    fn part_by(
        &mut self,
        group: usize,
        class: usize,
        alone: Alone,
        rx_ends: &mut RxEnds,
        ending: &Ending,
    ) -> RxEnd {
        let count = RxEnd::count(rx_ends);
        let most = (0..count.len()).max_by_key(|&kind| count[kind]).unwrap_or(0);
        for kind in (0..count.len()).filter(|&kind| kind != most && count[kind] > 0) {
            let rx_end = RxEnd::SHARED[kind];
            let leaves = |place: usize| rx_ends[place].is_like(&rx_end);
            if let Some(other) = self.branch_off(group, class, leaves) {
                self.react_together(other, alone, rx_end, ending);
                rx_ends.retain(|other| !other.is_like(&rx_end));
            }
        }
        if rx_ends.len() == count[most] as usize {
            rx_ends.clear();
        }
        RxEnd::SHARED[most]
    }

    /// Adds the effect of the end of a frame on each member of a group.
    fn find_rx_ends<const TAPPED: bool>(
        &mut self,
        group: usize,
        ends: &Ends,
        rx_ends: &mut RxEnds,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let first = self.classes.groups[group].members()[0];
        for member in 0..self.classes.groups[group].members().len() {
            let station = self.classes.groups[group].members()[member];
            let (tracker, end) = match ends {
                Ends::Alike(end) => (first, *end),
                Ends::Tracked => (station, self.hearing.end_tracked(station, ending.id)),
                Ends::OfCollision(collision) => {
                    (station, self.hearing.end_at_member(collision, station, &self.listeners))
                }
            };
            let rx_end = if !TAPPED && self.is_plain(station, ending) {
                RxEnd::to_others(&end, end.outcome.decoded())
            } else {
                self.rx_end::<TAPPED>(station, tracker, &end, ending, tap)
            };
            rx_ends.push(rx_end);
        }
    }

    /// As [`Self::find_rx_ends`], for a frame that no receiver tracks. The effect on all but the receiver follows from
    /// what other frames left ([`Self::is_untracked`]).
    fn find_ends_of_collision(
        &mut self,
        group: usize,
        collision: &Collision,
        rx_ends: &mut RxEnds,
        ending: &mut Ending,
        tap: &mut Socket,
    ) {
        let (members, of) = (self.classes.groups[group].members(), &self.listeners);
        let add = |outcome: &Outcome| rx_ends.push(outcome.to_others);
        self.hearing.end_at_members(collision, members, of, add);
        let receiver = ending.to;
        let Membership { group: of_receiver, place, .. } =
            self.classes.memberships[receiver.index()];
        if of_receiver == group as u32 {
            let end = self.hearing.end_at_member(collision, receiver, &self.listeners);
            rx_ends[place as usize] = self.rx_end::<false>(receiver, receiver, &end, ending, tap);
        }
    }

    /// The effect of a frame on all members of a group, if there are any left. [`Self::gather`] is due.
    #[inline]
    fn react_together(&mut self, group: usize, alone: Alone, rx_end: RxEnd, ending: &Ending) {
        let (group, radio, now) = (&mut self.classes.groups[group], &self.radio, ending.now);
        if group.members().is_empty() {
            return;
        }
        if alone.is_sensed() {
            group.on_sensed_end(now);
        }
        match rx_end {
            RxEnd::Overheard => group.overhear(ending.overheard),
            RxEnd::Errored(outcome) => group.on_error(outcome, now, radio),
            RxEnd::Ignored => group.on_ignored(ending.begins, now, radio),
            RxEnd::Addressed | RxEnd::Nothing => {}
        }
    }
}
