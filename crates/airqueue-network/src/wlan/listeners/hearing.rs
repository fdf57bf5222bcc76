//! What each listener hears at present.
//!
//! Most frames meet no other frame at their listeners. The outcome of such a frame depends only on its signal, and is
//! computed when the network is built. A station's [`Reception`] tracks frames only when two frames overlap at the
//! station or the station itself transmits.

use super::classes::NONE;
use super::collisions::{Collision, Judge, Outcome};
use super::on_air::{FrameOnAir, FramesOnAir};
use super::tables::{Alone, Listener, Tables};
use super::varying::Varying;
use airqueue_core::{Span, Time};
use airqueue_wifi::medium::{Air, End, FrameId, Overlap, Reception, Signal, StationId};

/// The frames on the air at one place.
#[derive(Clone, Copy, Debug)]
struct ReceiverState {
    /// The place of the only frame on the air here, if this frame began on a silent medium.
    lone: u32,
    /// The link over which this frame comes ([`Listener::link`]).
    lone_link: u32,
    /// Number of frames on the air here.
    frames: u32,
    /// The station's own last transmission. Frames on the air that began before `deaf_from` may be tracked.
    deaf_from: Time,
    deaf_until: Time,
}

/// The frames on the air, as receivers get them.
pub(super) struct OnAirNow<'a> {
    pub(super) listeners: &'a Tables,
    pub(super) on_air_frames: &'a FramesOnAir,
    /// How frames are heard, where signals change.
    pub(super) varying: Option<&'a Varying>,
}

impl OnAirNow<'_> {
    /// When a frame on the air is at a listener, and how the listener hears the frame over a link of [`Listener::link`].
    #[inline(always)]
    fn received(&self, place: u32, station: StationId, link: u32) -> (&FrameOnAir, Air, Signal) {
        let on_air = self.on_air_frames.at(place);
        let table = self.listeners.for_frame(on_air.version);
        let signal = match self.varying {
            Some(varying) => varying.heard(place, station).signal,
            None => table.signal_over(link, on_air.from, station),
        };
        let Air { begins, ends } = on_air.air;
        let delay = table.reach().delay(on_air.from, station);
        (on_air, Air { begins: begins + delay, ends: ends + delay }, signal)
    }
}

/// The frames that each listener hears at present.
#[derive(Debug)]
pub(super) struct Hearing {
    /// The receivers of stations on their own.
    receivers: Vec<ReceiverState>,
    /// The receivers of groups.
    groups: Vec<ReceiverState>,
    /// For each group, the overlapping frames that it hears and that no receiver tracks.
    collisions: Vec<Option<Collision>>,
    judge: Option<Judge>,
    /// If overlapping frames have the same outcome at all members of a group, only the first member tracks frames.
    receptions: Vec<Reception>,
    /// Whether a frame that begins and ends during a station's own transmission is not tracked there, because it leaves no
    /// trace: many stations may transmit at once.
    passes_over_deaf: bool,
}

impl ReceiverState {
    const SILENT: ReceiverState = ReceiverState {
        lone: NONE,
        lone_link: NONE,
        frames: 0,
        deaf_from: Time::ZERO,
        deaf_until: Time::ZERO,
    };

    /// Whether the receivers here track the frames on the air.
    fn is_tracking(&self) -> bool {
        self.frames > 0 && self.lone == NONE
    }
}

impl Hearing {
    /// A silent medium. `errors_count`: whether a frame that a station could not hear for its own affects the station.
    pub(super) fn new(receptions: Vec<Reception>, groups: usize, errors_count: bool) -> Hearing {
        let passes_over_deaf = !errors_count && receptions.iter().all(Reception::forgets_deaf);
        let receivers = vec![ReceiverState::SILENT; receptions.len()];
        let judge = if groups > 0 { Judge::new(&receptions) } else { None };
        let (collisions, groups) = (vec![None; groups], vec![ReceiverState::SILENT; groups]);
        Hearing { receivers, groups, collisions, judge, receptions, passes_over_deaf }
    }

    /// The receivers of all stations.
    pub(super) fn receptions(&self) -> &[Reception] {
        &self.receptions
    }

    /// A station begins to transmit.
    #[inline(always)]
    pub(super) fn transmit(&mut self, from: StationId, air: Air) {
        let receiver = &mut self.receivers[from.index()];
        // Frames that have begun at this instant are tracked.
        let before = if receiver.frames > 0 { Span::from_nanos(1) } else { Span::ZERO };
        (receiver.deaf_from, receiver.deaf_until) = (air.begins + before, air.ends);
        self.receptions[from.index()].on_transmit(air);
    }

    /// Hands the frame that was the only one so far to a station's receiver.
    #[inline(always)]
    pub(super) fn track_lone(&mut self, station: StationId, on: &OnAirNow) {
        let receiver = &mut self.receivers[station.index()];
        let lone = std::mem::replace(&mut receiver.lone, NONE);
        if lone != NONE {
            let link = receiver.lone_link;
            self.track(station, lone, link, on);
        }
    }

    #[inline(never)]
    fn track(&mut self, station: StationId, place: u32, link: u32, on: &OnAirNow) {
        let (on_air, air, signal) = on.received(place, station, link);
        self.receptions[station.index()].on_begin(on_air.id, air, signal);
    }

    /// A frame begins at a station on its own.
    #[inline(always)]
    pub(super) fn begin(&mut self, listener: Listener, place: u32, now: Time, on: &OnAirNow) {
        let station = listener.station();
        let receiver = &mut self.receivers[station.index()];
        receiver.frames += 1;
        if receiver.frames == 1 && now >= receiver.deaf_until {
            (receiver.lone, receiver.lone_link) = (place, listener.link());
        } else if !self.passes_over_deaf
            || on.on_air_frames.at(place).air.ends > receiver.deaf_until
        {
            self.begin_among_others(station, place, listener.link(), on);
        }
    }

    #[cold]
    fn begin_among_others(&mut self, station: StationId, place: u32, link: u32, on: &OnAirNow) {
        self.track_lone(station, on);
        self.track(station, place, link, on);
    }

    /// A frame begins at a group; `trackers`: the members whose receivers track frames. `untracked`: whether
    /// the receivers need not track what is on the air now: this frame and either the only one so far, or a collision that
    /// [`Self::takes_more`].
    #[inline]
    pub(super) fn begin_at_group(
        &mut self,
        group: usize,
        trackers: &[StationId],
        untracked: bool,
        place: u32,
        on: &OnAirNow,
    ) {
        let receiver = &mut self.groups[group];
        receiver.frames += 1;
        if receiver.frames == 1 {
            receiver.lone = place;
            return;
        }
        // The frame that was the only one until now, and the frame that begins.
        let lone = std::mem::replace(&mut receiver.lone, NONE);
        if untracked {
            match &mut self.collisions[group] {
                Some(collision) => collision.add(place, on),
                none => *none = Some(Collision::new(lone, place, on)),
            }
            return;
        }
        if let Some(collision) = self.collisions[group].take() {
            for &member in trackers {
                collision.track(member, &mut self.receptions[member.index()], on.listeners);
            }
        }
        for of in [lone, place].into_iter().filter(|&of| of != NONE) {
            for &member in trackers {
                self.track(member, of, NONE, on);
            }
        }
    }

    /// A frame ends at a station on its own: returns its outcome.
    #[inline(always)]
    pub(super) fn end(&mut self, station: StationId, alone: Alone, place: u32, id: FrameId) -> End {
        if self.end_alone(station, place) {
            return alone.end();
        }
        self.receivers[station.index()].frames -= 1;
        self.end_among_others(station, id)
    }

    /// Ends a frame that met no other frame at a station on its own; false, without any change, if the frame met
    /// another.
    #[inline(always)]
    pub(super) fn end_alone(&mut self, station: StationId, place: u32) -> bool {
        let receiver = &mut self.receivers[station.index()];
        let alone = receiver.lone == place;
        if alone {
            (receiver.frames, receiver.lone) = (receiver.frames - 1, NONE);
        }
        alone
    }

    /// Ends a frame that began and ends during a station's own transmission, if the frame is not tracked there; false,
    /// without any change, if it is.
    #[inline(always)]
    pub(super) fn end_deaf(&mut self, station: StationId, air: Air) -> bool {
        let receiver = &mut self.receivers[station.index()];
        let within = air.begins >= receiver.deaf_from && air.ends <= receiver.deaf_until;
        let passed_over = within && self.passes_over_deaf;
        receiver.frames -= u32::from(passed_over);
        passed_over
    }

    #[cold]
    fn end_among_others(&mut self, station: StationId, id: FrameId) -> End {
        self.receptions[station.index()].on_end(id).unwrap_or(End::DEAF)
    }

    /// From now on each receiver tracks each frame that meets another, for a tap.
    pub(super) fn track_all(&mut self) {
        self.passes_over_deaf = false;
    }

    /// A frame ends at a station whose receiver tracks it: returns its outcome.
    #[inline(always)]
    pub(super) fn end_tracked(&mut self, station: StationId, id: FrameId) -> End {
        self.receptions[station.index()].on_end(id).expect("a frame that ends has begun")
    }

    /// A frame ends at a group. True if the frame met no other frame there; otherwise receivers track it.
    #[inline(always)]
    pub(super) fn end_at_group(&mut self, group: usize, place: u32) -> bool {
        let receiver = &mut self.groups[group];
        receiver.frames -= 1;
        let alone = receiver.lone == place;
        if alone {
            receiver.lone = NONE;
        }
        alone
    }

    /// Whether the receivers of a group that hears several frames need not track one more that begins.
    pub(super) fn takes_more(&self, group: usize) -> bool {
        let (collision, judge) = (&self.collisions[group], &self.judge);
        let both = collision.as_ref().zip(judge.as_ref());
        both.is_some_and(|(collision, judge)| collision.takes_more(judge.receiver()))
    }

    /// A frame ends at a group. `None`: receivers track the frame; otherwise its collision, for
    /// [`Self::end_at_members`].
    pub(super) fn end_of_collision(&mut self, group: usize, id: FrameId) -> Option<Collision> {
        let collision = self.collisions[group].as_mut()?;
        collision.end(id);
        let ends = *collision;
        if ends.is_over() {
            self.collisions[group] = None;
        }
        self.judge.as_mut()?.hear(&ends);
        Some(ends)
    }

    /// The outcome of such a frame at a member.
    #[inline]
    pub(super) fn end_at_member(
        &mut self,
        collision: &Collision,
        station: StationId,
        of: &Tables,
    ) -> End {
        self.judge.as_mut().expect("there are groups").at(collision, station, of)
    }

    /// The outcome of such a frame at each of these members, in their order.
    #[inline]
    pub(super) fn end_at_members(
        &mut self,
        collision: &Collision,
        members: &[StationId],
        of: &Tables,
        add: impl FnMut(&Outcome),
    ) {
        self.judge.as_mut().expect("there are groups").at_each(collision, members, of, add);
    }

    /// The rest that overlapping frames left of a part of the last ended frame, at a station whose receiver tracks
    /// frames.
    pub(super) fn beside(&self, tracker: StationId, part: Air, signal: Signal) -> Option<f64> {
        self.receptions[tracker.index()].beside(part, signal)
    }

    /// The frames that add to the noise during the last ended frame, at such a station.
    pub(super) fn overlaps(&self, tracker: StationId, end: &End) -> &[Overlap] {
        if end.overlapped { self.receptions[tracker.index()].overlaps() } else { &[] }
    }

    /// An empty group gets members, who hear nothing.
    pub(super) fn found_group(&mut self, group: usize) {
        self.groups[group] = ReceiverState::SILENT;
        self.collisions[group] = None;
    }

    /// An empty group gets members of another group, who hear what that group hears.
    pub(super) fn branch_off(&mut self, group: usize, other: usize) {
        self.groups[group] = self.groups[other];
        self.collisions[group] = self.collisions[other];
    }

    /// Whether receivers of a group track the frames on the air there.
    pub(super) fn is_tracking_at_group(&self, group: usize) -> bool {
        self.groups[group].is_tracking()
    }

    /// From now on each member of a group tracks frames, not only the first.
    pub(super) fn track_at_each(&mut self, group: usize, members: &[StationId]) {
        let [first, others @ ..] = members else { return };
        for other in others.iter().filter(|_| self.groups[group].is_tracking()) {
            let pair = self.receptions.get_disjoint_mut([first.index(), other.index()]);
            if let Ok([from, to]) = pair {
                to.hear_as(from);
            }
        }
    }

    /// A station is about to leave its group and continues to hear what the group hears. `uniform`: the first and
    /// second member of a group in which the first stands for all, if it is such a group.
    pub(super) fn set_apart(
        &mut self,
        station: StationId,
        group: usize,
        uniform: Option<(StationId, Option<StationId>)>,
        tables: &Tables,
    ) {
        let ReceiverState { lone, frames, .. } = self.groups[group];
        let receiver = &mut self.receivers[station.index()];
        (receiver.lone, receiver.lone_link, receiver.frames) = (lone, NONE, frames);
        if let Some(collision) = &self.collisions[group] {
            return collision.track(station, &mut self.receptions[station.index()], tables);
        }
        let Some((first, heir)) = uniform.filter(|_| self.groups[group].is_tracking()) else {
            return;
        };
        let to = if first == station { heir } else { Some(station) };
        if let Some(to) = to
            && let Ok([from, to]) = self.receptions.get_disjoint_mut([first.index(), to.index()])
        {
            to.hear_as(from);
        }
    }

    /// Whether a station on its own hears nothing.
    #[inline]
    pub(super) fn is_silent(&self, station: StationId) -> bool {
        self.receivers[station.index()].frames == 0
    }

    /// The only frame on the air at a group, if the frame began on a silent medium.
    #[inline]
    pub(super) fn lone_at_group(&self, group: usize) -> Option<u32> {
        let lone = self.groups[group].lone;
        (lone != NONE).then_some(lone)
    }

    /// Whether a group hears nothing.
    #[inline]
    pub(super) fn is_silent_at_group(&self, group: usize) -> bool {
        self.groups[group].frames == 0
    }

    /// Whether the receiver of a station is at `now` busy with a frame that began on a silent medium, and that the
    /// receiver may still decode.
    #[inline]
    pub(super) fn may_decode_alone(
        &self,
        station: StationId,
        begins: Time,
        signal: Signal,
        now: Time,
    ) -> bool {
        self.receptions[station.index()].may_decode(begins, signal, now)
    }

    /// Whether the receiver of a station on its own is at `now` busy with a frame that the receiver may still decode.
    pub(super) fn receiving(&mut self, station: StationId, now: Time, on: &OnAirNow) -> bool {
        let ReceiverState { lone, lone_link, frames, .. } = self.receivers[station.index()];
        if frames == 0 {
            return false;
        }
        let reception = &mut self.receptions[station.index()];
        if lone == NONE {
            return reception.receiving(now);
        }
        let (_, air, signal) = on.received(lone, station, lone_link);
        reception.may_decode(air.begins, signal, now)
    }
}
