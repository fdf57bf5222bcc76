//! Stations to which the same happens, as one.

use super::backoff::{Backoff, after, slots_in};
use super::exchange::State;
use super::station::Mac;
use super::view::{Overheard, Radio, View};
use crate::contention::CountdownRule;
use crate::medium::{RxOutcome, StationId};
use airqueue_core::{Span, Time};
use std::ops::BitOr;

/// Stations that hear alike and at present only count.
///
/// Most stations spend most of their time waiting for others. Where all they hear is the same, their
/// counters run and stand still together, and one view of the medium serves them all: a frame costs one
/// visit, however many listen. A station joins when its own view has come to agree with the others', and
/// leaves before anything happens to it that does not happen to all: its backoff ends, a packet comes,
/// a frame is for it or is understood by it alone. Whether a station is in a crowd or not makes no
/// difference to what it does, only to what that costs.
///
/// While a station is a member its [`Mac`] is not to be told anything.
#[derive(Clone, Debug)]
pub struct LockstepGroup {
    view: View,
    members: Vec<StationId>,
    /// One for each access category of a station.
    counters: Vec<BackoffCounters>,
}

/// The counters of one access category of all members, which fall together.
#[derive(Clone, Debug)]
struct BackoffCounters {
    aifs: Span,
    rule: CountdownRule,
    /// By how much all counters have fallen since time zero.
    passed: u64,
    /// For each member the value of `passed` at which its counter ends, with [`NOT_READY`] if
    /// nothing waits for that.
    ends: Vec<u64>,
    /// The least of these, if it is known.
    least: Option<u64>,
    /// The least of the others, if it is known: when the first goes it is the least.
    second: Option<u64>,
}

/// Above all values of a counter.
const NOT_READY: u64 = 1 << 63;

impl BackoffCounters {
    fn new(like: &Backoff, members: usize) -> BackoffCounters {
        let ends = Vec::with_capacity(members);
        let (least, second) = (Some(u64::MAX), Some(u64::MAX));
        BackoffCounters { aifs: like.aifs, rule: like.rule, passed: 0, ends, least, second }
    }

    /// What is left of a counter.
    fn left(&self, end: u64) -> u32 {
        // It was a u32 when it was put in.
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

    #[inline]
    fn hand_over(&mut self, seat: usize, to: &mut BackoffCounters) {
        let end = self.pick(seat);
        let left = u64::from(self.left(end));
        to.put(end & NOT_READY | (to.passed + left));
    }

    /// The least, which is looked for if it is not known.
    #[inline]
    fn least(&mut self) -> u64 {
        self.least.unwrap_or_else(|| self.look_for_least())
    }

    #[inline(never)]
    fn look_for_least(&mut self) -> u64 {
        let (mut least, mut second) = (u64::MAX, u64::MAX);
        for &end in &self.ends {
            // Without a branch: nobody could predict it.
            second = second.min(least.max(end));
            least = least.min(end);
        }
        (self.least, self.second) = (Some(least), Some(second));
        least
    }

    /// When the first counter ends; `base` is when SIFS and AIFSN slots begin.
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

impl LockstepGroup {
    /// Nobody, with room for `room` stations whose access categories have the AIFS and the rule of those of `like`.
    pub fn new(like: &Mac, room: usize) -> LockstepGroup {
        let counters =
            like.backoffs[..like.ac_count].iter().map(|b| BackoffCounters::new(b, room)).collect();
        LockstepGroup { view: View::IDLE, members: Vec::with_capacity(room), counters }
    }

    /// Whether two stations count alike: whether their access categories have the same AIFS and rule.
    pub fn count_alike(one: &Mac, other: &Mac) -> bool {
        let counting = |mac: &Mac| mac.backoffs.map(|backoff| (backoff.aifs, backoff.rule));
        one.ac_count == other.ac_count && counting(one) == counting(other)
    }

    /// Its stations; the place in this list is a member's seat.
    #[inline]
    pub fn members(&self) -> &[StationId] {
        &self.members
    }

    /// When the first of them will transmit if it senses nothing before.
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.view.grant
    }

    /// Whether a station, which hears what the members hear, may become one at `now`. Nobody on
    /// either side hears a frame at present.
    #[inline]
    pub fn admits(&self, mac: &Mac, now: Time) -> bool {
        self.view.agrees(&mac.view, now)
    }

    /// Whether another crowd of the same stations knows the same at `now`; as for [`Self::admits`].
    #[inline]
    pub fn agrees(&self, other: &LockstepGroup, now: Time) -> bool {
        self.view.agrees(&other.view, now)
    }

    /// An empty crowd takes a station's view of the medium for its own.
    pub fn adopt(&mut self, mac: &Mac) {
        debug_assert!(self.members.is_empty(), "members have a view already");
        self.view = mac.view;
        self.view.grant = Time::MAX;
    }

    /// An empty crowd comes to know what another does, which [`Self::hand_over`]s members to it.
    pub fn branch_off(&mut self, other: &LockstepGroup) {
        debug_assert!(self.members.is_empty(), "members have a view already");
        self.view = other.view;
        self.view.grant = Time::MAX;
    }

    /// A member moves to the last seat of another crowd that knows the same; the last one here
    /// takes the seat that it leaves. [`Self::recount`] is due for both crowds.
    #[inline]
    pub fn hand_over(&mut self, seat: usize, mac: &mut Mac, to: &mut LockstepGroup) {
        to.members.push(self.members.swap_remove(seat));
        for (from, to) in self.counters.iter_mut().zip(&mut to.counters) {
            from.hand_over(seat, to);
        }
        mac.view.busy_time = mac.view.busy_time + self.view.busy_time - to.view.busy_time;
    }

    /// Brings [`Self::next_grant`] up to date with those who came and went, and with the end of a frame.
    #[inline]
    pub fn recount(&mut self, radio: &Radio) {
        if !self.view.frozen {
            self.reckon(radio);
        }
    }

    /// A station that [`Mac::may_join`] and is admitted takes the last seat. [`Self::recount`] is due.
    pub fn join(&mut self, mac: &mut Mac) {
        self.members.push(mac.id);
        for (ladder, backoff) in self.counters.iter_mut().zip(&mac.backoffs) {
            ladder.push(backoff);
        }
        // What it was busy beyond the others.
        mac.view.busy_time = mac.view.busy_time - self.view.busy_time;
        mac.view.grant = Time::MAX;
    }

    /// A member gets up from its seat, which the last one takes. [`Self::recount`] is due.
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

    /// For how long, up to `now`, a member has sensed frames or transmitted.
    pub fn busy_time(&self, member: &Mac, now: Time) -> Span {
        member.view.busy_time + self.view.busy_time(now)
    }

    fn reckon(&mut self, radio: &Radio) {
        let base = self.view.base();
        let grants = self.counters.iter_mut().map(|ladder| ladder.grant(base, radio.slot));
        self.view.grant = grants.fold(Time::MAX, Time::min);
    }

    /// Adds those whose counters end at `by` or before.
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
                // As a mask: it is one or two of many, and no branch could be predicted.
                let mut due = ends.iter().enumerate().map(is_due).fold(0, u64::bitor);
                while due != 0 {
                    stations.push(members[due.trailing_zeros() as usize].0);
                    due &= due - 1;
                }
            }
        }
    }

    /// Whether a frame that begins at `now` would be noticed too late by some: they are to leave first.
    #[inline]
    pub fn is_surprised(&self, now: Time, radio: &Radio) -> bool {
        !self.view.frozen && self.view.grant <= now + radio.rules.sense_delay
    }

    /// A frame that makes the medium busy begins; those whom it surprises ([`Self::is_surprised`],
    /// [`Self::due`]) have left.
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

    /// Such a frame ends; what became of it is told afterwards. If nothing is on the air any more counters
    /// run again, and [`Self::recount`] is due once that has been told.
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
    /// Whether it does nothing but count from `now` on, in step with the medium.
    #[inline]
    pub fn may_join(&self, now: Time) -> bool {
        let base = self.view.base();
        self.state == State::Idle
            && self.done == 0
            && self.view.is_idle()
            && self.backoffs[..self.ac_count].iter().all(|backoff| backoff.is_in_step(base, now))
    }
}
