//! The backoff counter of an access category, relative to the beginning of an idle period.

use super::behaviour::Arrival;
use crate::contention::CountdownRule;
use airqueue_core::{Span, Time};

/// What decides when one access category of a station transmits next.
///
/// While the medium is idle the slot boundaries lie at `begin`, `begin` + slot, ..., where `begin` is the end of AIFS,
/// and `slots` is the counter at the beginning of the idle period. The counter is brought up to date when the idle
/// period ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) aifs: Span,
    pub(super) rule: CountdownRule,
    pub(super) slots: u32,
    /// A frame waits.
    pub(super) ready: bool,
    /// The frame that waits has no backoff, because the medium was idle when the frame arrived. The frame needs no
    /// backoff as long as the medium stays idle.
    pub(super) fresh: bool,
    /// AIFS begins no earlier than this, however long the medium has been idle before.
    since: Time,
}

/// Whole slots in `span`, which is not negative.
#[inline]
pub(super) fn slots_in(span: Span, slot: Span) -> u32 {
    let (span, slot) = (span.as_nanos() as u64, slot.as_nanos() as u64);
    // Most idle periods are short, and 32-bit division is several times faster.
    match (u32::try_from(span), u32::try_from(slot)) {
        (Ok(span), Ok(slot)) => span / slot,
        _ => u32::try_from(span / slot).unwrap_or(u32::MAX),
    }
}

pub(super) fn after(begin: Time, slots: u32, slot: Span) -> Time {
    begin + Span::from_nanos(i64::from(slots) * slot.as_nanos())
}

impl CountdownRule {
    /// By how much a counter falls from its first boundary to `now`, when another station begins to transmit.
    #[inline]
    pub(super) fn passed(self, begin: Time, now: Time, slot: Span) -> u32 {
        if now < begin {
            return 0;
        }
        // EDCA counts the boundary at which another station begins, DCF only slots that were idle (IEEE 802.11-2016,
        // 10.22.2.4 and 10.3.4.3).
        let at_boundary = u32::from(self == CountdownRule::Edca);
        slots_in(now - begin, slot).saturating_add(at_boundary)
    }
}

impl Backoff {
    pub(super) fn new(aifs: Span, rule: CountdownRule) -> Backoff {
        Backoff { aifs, rule, slots: 0, ready: false, fresh: false, since: Time::ZERO }
    }

    /// Starts the counter at `slots`; it runs from `since` on, whenever the medium is idle.
    pub(super) fn draw(&mut self, slots: u32, since: Time) {
        self.slots = slots;
        self.fresh = false;
        self.since = since;
    }

    /// The first slot boundary of an idle period; SIFS and AIFSN slots begin at `base`.
    #[inline]
    fn begin(&self, base: Time) -> Time {
        base.max(self.since) + self.aifs
    }

    /// When the access category transmits if the medium stays idle.
    #[inline]
    pub(super) fn grant(&self, base: Time, slot: Span) -> Time {
        after(self.begin(base), self.slots, slot)
    }

    /// Ends at `now` the idle period that began with `base`. True if a backoff must be drawn because the waiting frame
    /// can no longer be sent without one.
    #[inline]
    pub(super) fn freeze(&mut self, base: Time, now: Time, slot: Span) -> bool {
        if self.slots > 0 {
            let passed = self.rule.passed(self.begin(base), now, slot);
            self.slots = self.slots.saturating_sub(passed);
        }
        self.ready && self.fresh
    }

    /// Whether the counter is running at `now`, in an idle period that began with `base`.
    pub(super) fn is_running(&self, base: Time, now: Time, slot: Span) -> bool {
        self.slots > 0 && now < self.grant(base, slot)
    }

    /// Whether only the medium affects the counter from `now` on, in an idle period that began with `base`. `base` may
    /// lie in the future, and moves earlier if an EIFS is cancelled.
    #[inline]
    pub(super) fn is_in_step(&self, base: Time, now: Time) -> bool {
        self.since <= base.min(now) && !(self.ready && self.fresh)
    }

    /// A frame arrives at `now`, in an idle period that began with `base`, while the counter is not running.
    pub(super) fn arrive(&mut self, arrival: Arrival, base: Time, now: Time, slot: Span) {
        let edca = self.rule == CountdownRule::Edca;
        let (begin, nanosecond) = (self.begin(base), Span::from_nanos(1));
        let since = match arrival {
            Arrival::Standard if edca => next_boundary(begin, now, slot) - self.aifs,
            Arrival::Standard => now - self.aifs,
            Arrival::Ns3 if edca && now > begin => {
                next_boundary(begin, now + nanosecond, slot) - self.aifs
            }
            Arrival::Ns3 if edca => base,
            Arrival::Ns3 | Arrival::Ns2 => now,
        };
        self.draw(0, since);
        self.fresh = arrival == Arrival::Standard;
    }
}

/// The first slot boundary at or after `now`; the boundaries start at `begin`.
fn next_boundary(begin: Time, now: Time, slot: Span) -> Time {
    let part = (now - begin).as_nanos().max(0) % slot.as_nanos();
    if part == 0 { now } else { now + Span::from_nanos(slot.as_nanos() - part) }
}
