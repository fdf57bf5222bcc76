//! Stations that see the same events, simulated as one.

use super::backoff::{Backoff, after, slots_in};
use super::exchange::State;
use super::station::Mac;
use super::view::{Overheard, Radio, View};
use crate::contention::CountdownRule;
use crate::medium::{RxOutcome, StationId};
use airqueue_core::{Span, Time};
use std::ops::BitOr;

/// Stations that hear the same frames and at present only count down their backoff.
///
/// Most stations spend most of their time waiting for others. While they hear the same frames, their counters run and
/// freeze together, and one view of the medium serves all of them: a frame costs one visit, however many stations
/// listen. A station joins when its own view agrees with the view of the group. It leaves before an event that does
/// not concern the whole group: its backoff ends, a packet arrives, a frame is addressed to it, or it alone decodes a
/// frame. Membership does not change what a station does, only the cost of simulating it.
///
/// The [`Mac`] of a member must receive no inputs.
#[derive(Clone, Debug)]
pub struct LockstepGroup {
    view: View,
    members: Vec<StationId>,
    /// One entry for each access category of a station.
    counters: Vec<BackoffCounters>,
}

/// The counters of one access category of all members, which count down together.
#[derive(Clone, Debug)]
struct BackoffCounters {
    aifs: Span,
    rule: CountdownRule,
    /// How far all counters have counted down since time zero.
    passed: u64,
    /// For each member the value of `passed` at which its counter ends; [`NOT_READY`] is added if no frame waits.
    ends: Vec<u64>,
    /// The smallest entry of `ends`, if known.
    least: Option<u64>,
    /// The second smallest, if known: it becomes the smallest when the first leaves.
    second: Option<u64>,
}

/// Larger than every value of a counter.
const NOT_READY: u64 = 1 << 63;

impl BackoffCounters {
    fn new(like: &Backoff, members: usize) -> BackoffCounters {
        let ends = Vec::with_capacity(members);
        let (least, second) = (Some(u64::MAX), Some(u64::MAX));
        BackoffCounters { aifs: like.aifs, rule: like.rule, passed: 0, ends, least, second }
    }

    /// The rest of a counter.
    fn left(&self, end: u64) -> u32 {
        // The counter was a u32 when the member joined.
        (end & !NOT_READY).saturating_sub(self.passed) as u32
    }

    fn push(&mut self, backoff: &Backoff) {
        let end = self.passed + u64::from(backoff.slots);
        let end = if backoff.ready { end } else { end | NOT_READY };
        self.put(end);
    }

    #[inline]
    fn put(&mut self, end: u64) {
        self.ends.push(end);
        match self.least {
            Some(least) if end < least => (self.least, self.second) = (Some(end), Some(least)),
            Some(_) => self.second = self.second.map(|second| second.min(end)),
            None => {}
        }
    }

    #[inline]
    fn pick(&mut self, seat: usize) -> u64 {
        let end = self.ends.swap_remove(seat);
        if self.least.is_none_or(|least| end == least) {
            (self.least, self.second) = (self.second, None);
        } else if self.second == Some(end) {
            self.second = None;
        }
        end
    }

    fn take(&mut self, seat: usize, backoff: &mut Backoff) {
        let end = self.pick(seat);
        backoff.slots = self.left(end);
    }

    /// The counters of some seats go on in an empty list, as they are.
    fn part(&mut self, to: &mut BackoffCounters, leaves: &impl Fn(usize) -> bool) {
        to.passed = self.passed;
        move_seats(&mut self.ends, &mut to.ends, leaves);
        for counters in [self, to] {
            (counters.least, counters.second) = (None, None);
        }
    }

    /// Adds all counters of another list, which is empty afterwards.
    fn unite(&mut self, other: &mut BackoffCounters) {
        for &end in &other.ends {
            self.put(end & NOT_READY | (self.passed + u64::from(other.left(end))));
        }
        other.ends.clear();
        (other.least, other.second) = (Some(u64::MAX), Some(u64::MAX));
    }

    /// The smallest entry of `ends`, searched for if unknown.
    #[inline]
    fn least(&mut self) -> u64 {
        self.least.unwrap_or_else(|| self.look_for_least())
    }

    #[inline(never)]
    fn look_for_least(&mut self) -> u64 {
        let (mut least, mut second) = (u64::MAX, u64::MAX);
        for &end in &self.ends {
            // Branchless, because the branch would be unpredictable.
            second = second.min(least.max(end));
            least = least.min(end);
        }
        (self.least, self.second) = (Some(least), Some(second));
        least
    }

    /// When the first counter ends; SIFS and AIFSN slots begin at `base`.
    #[inline]
    fn grant(&mut self, base: Time, slot: Span) -> Time {
        let least = self.least();
        if least >= NOT_READY {
            return Time::MAX;
        }
        after(base + self.aifs, self.left(least), slot)
    }

    #[inline]
    fn freeze(&mut self, base: Time, now: Time, slot: Span) {
        self.passed += u64::from(self.rule.passed(base + self.aifs, now, slot));
    }
}

/// Moves the entries of those seats that leave to the end of another list. Those that stay keep their order.
#[inline(always)]
fn move_seats<T: Copy>(from: &mut Vec<T>, to: &mut Vec<T>, leaves: &impl Fn(usize) -> bool) {
    let mut stay = 0;
    for seat in 0..from.len() {
        let entry = from[seat];
        if leaves(seat) {
            to.push(entry);
        } else {
            from[stay] = entry;
            stay += 1;
        }
    }
    from.truncate(stay);
}

impl LockstepGroup {
    /// A group without members, with room for `room` stations whose access categories have the AIFS and the countdown
    /// rule of those of `like`.
    pub fn new(like: &Mac, room: usize) -> LockstepGroup {
        let counters =
            like.backoffs[..like.ac_count].iter().map(|b| BackoffCounters::new(b, room)).collect();
        LockstepGroup { view: View::IDLE, members: Vec::with_capacity(room), counters }
    }

    /// Whether two stations count down alike: whether their access categories have the same AIFS and countdown rule.
    pub fn count_alike(one: &Mac, other: &Mac) -> bool {
        let counting = |mac: &Mac| mac.backoffs.map(|backoff| (backoff.aifs, backoff.rule));
        one.ac_count == other.ac_count && counting(one) == counting(other)
    }

    /// The members; a member's index in this list is its seat.
    #[inline]
    pub fn members(&self) -> &[StationId] {
        &self.members
    }

    /// When the first member will transmit if the medium stays idle.
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.view.grant
    }

    /// Whether a station that hears the same frames as the members may join at `now`. Neither the station nor the
    /// members may hear a frame at present.
    #[inline]
    pub fn admits(&self, mac: &Mac, now: Time) -> bool {
        self.view.agrees(&mac.view, now)
    }

    /// Whether another group that hears the same frames has the same view at `now`; same precondition as
    /// [`Self::admits`].
    #[inline]
    pub fn agrees(&self, other: &LockstepGroup, now: Time) -> bool {
        self.view.agrees(&other.view, now)
    }

    /// Makes a station's view of the medium the view of this empty group.
    pub fn adopt(&mut self, mac: &Mac) {
        debug_assert!(self.members.is_empty(), "members have a view already");
        self.view = mac.view;
        self.view.grant = Time::MAX;
    }

    /// The members in the seats for which `leaves` is true move to an empty group and continue there with the same view.
    /// In both groups the members keep their order. [`Self::recount`] is due for both groups.
    #[inline]
    pub fn part(&mut self, to: &mut LockstepGroup, leaves: impl Fn(usize) -> bool) {
        debug_assert!(to.members.is_empty(), "members have a view already");
        to.view = self.view;
        to.view.grant = Time::MAX;
        move_seats(&mut self.members, &mut to.members, &leaves);
        for (from, to) in self.counters.iter_mut().zip(&mut to.counters) {
            from.part(to, &leaves);
        }
    }

    /// All members of another group with an agreeing view move to the last seats of this group. Returns for how much
    /// longer the other group was busy: [`Mac::add_busy_time`] is due for each of them unless the difference is zero,
    /// and [`Self::recount`] for this group.
    #[inline]
    pub fn unite(&mut self, other: &mut LockstepGroup) -> Span {
        self.members.append(&mut other.members);
        for (counters, others) in self.counters.iter_mut().zip(&mut other.counters) {
            counters.unite(others);
        }
        other.view.busy_time - self.view.busy_time
    }

    /// Brings [`Self::next_grant`] up to date after members have joined or left, and after the end of a frame.
    #[inline]
    pub fn recount(&mut self, radio: &Radio) {
        if !self.view.frozen {
            self.reckon(radio);
        }
    }

    /// Puts a station that [`Mac::may_join`] and is admitted in the last seat. [`Self::recount`] is due.
    pub fn join(&mut self, mac: &mut Mac) {
        self.members.push(mac.id);
        for (ladder, backoff) in self.counters.iter_mut().zip(&mac.backoffs) {
            ladder.push(backoff);
        }
        // The time for which the station was busy beyond the group's.
        mac.view.busy_time = mac.view.busy_time - self.view.busy_time;
        mac.view.grant = Time::MAX;
    }

    /// Takes a member out of its seat, which the last member takes. [`Self::recount`] is due.
    pub fn leave(&mut self, seat: usize, mac: &mut Mac, radio: &Radio) {
        let left = self.members.swap_remove(seat);
        debug_assert_eq!(left, mac.id);
        for (ladder, backoff) in self.counters.iter_mut().zip(&mut mac.backoffs) {
            ladder.take(seat, backoff);
        }
        let own_busy_time = mac.view.busy_time;
        mac.view = self.view;
        mac.view.busy_time = own_busy_time + self.view.busy_time;
        if !self.view.frozen {
            mac.reckon(radio);
        }
    }

    /// How long, up to `now`, a member has sensed frames or transmitted.
    pub fn busy_time(&self, member: &Mac, now: Time) -> Span {
        member.view.busy_time + self.view.busy_time(now)
    }

    fn reckon(&mut self, radio: &Radio) {
        let base = self.view.base();
        let grants = self.counters.iter_mut().map(|ladder| ladder.grant(base, radio.slot));
        self.view.grant = grants.fold(Time::MAX, Time::min);
    }

    /// Adds the members whose counters end at or before `by`.
    #[inline(always)]
    pub fn due(&self, by: Time, radio: &Radio, stations: &mut Vec<u32>) {
        let base = self.view.base();
        for ladder in &self.counters {
            let begin = base + ladder.aifs;
            if by < begin {
                continue;
            }
            let reached = ladder.passed + u64::from(slots_in(by - begin, radio.slot));
            for (members, ends) in self.members.chunks(64).zip(ladder.ends.chunks(64)) {
                let is_due = |(seat, &end): (usize, &u64)| u64::from(end <= reached) << seat;
                // A bit mask: one or two of many counters match, and the branch would be unpredictable.
                let mut due = ends.iter().enumerate().map(is_due).fold(0, u64::bitor);
                while due != 0 {
                    stations.push(members[due.trailing_zeros() as usize].0);
                    due &= due - 1;
                }
            }
        }
    }

    /// Whether some members would notice a frame that begins at `now` too late; these members have to leave first.
    #[inline]
    pub fn is_surprised(&self, now: Time, radio: &Radio) -> bool {
        !self.view.frozen && self.view.grant <= now + radio.rules.sense_delay
    }

    /// A frame that makes the medium busy begins; the members that transmit before they notice the frame
    /// ([`Self::is_surprised`], [`Self::due`]) have left.
    #[inline]
    pub fn on_sensed_begin(&mut self, now: Time, radio: &Radio) {
        if self.view.begin_sensing(now, radio) {
            let base = self.view.base();
            for ladder in &mut self.counters {
                ladder.freeze(base, self.view.noticed, radio.slot);
            }
            self.view.frozen = true;
            self.view.grant = Time::MAX;
        }
    }

    /// Such a frame ends; its outcome is reported afterwards. If no frame is left on the air the counters run again,
    /// and [`Self::recount`] is due after the outcome has been reported.
    #[inline]
    pub fn on_sensed_end(&mut self, now: Time) {
        if self.view.end_sensing(now) {
            self.view.thaw(now);
        }
    }

    /// As [`Mac::on_error`].
    pub fn on_error(&mut self, outcome: RxOutcome, now: Time, radio: &Radio) {
        self.view.on_frame_error(outcome, now, radio);
    }

    /// As [`Mac::on_ignored`].
    pub fn on_ignored(&mut self, begins: Time, now: Time, radio: &Radio) {
        self.view.ignore(begins, now, radio);
    }

    /// As [`Mac::overhear`].
    #[inline]
    pub fn overhear(&mut self, overheard: Overheard) {
        self.view.overhear(overheard);
    }
}

impl Mac {
    /// The group of this member has changed, and the former group was busy for so much longer.
    pub fn add_busy_time(&mut self, beyond: Span) {
        self.view.busy_time = self.view.busy_time + beyond;
    }

    /// Whether the station only counts down from `now` on, as the medium allows.
    #[inline]
    pub fn may_join(&self, now: Time) -> bool {
        let base = self.view.base();
        self.state == State::Idle
            && self.done == 0
            && self.view.is_idle()
            && self.backoffs[..self.ac_count].iter().all(|backoff| backoff.is_in_step(base, now))
    }
}
