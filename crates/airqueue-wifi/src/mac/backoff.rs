//! An access category's counter, relative to the beginning of an idle period.

use super::behaviour::Arrival;
use crate::contention::CountdownRule;
use airqueue_core::{Span, Time};

/// What decides when one access category of a station transmits next.
///
/// While the medium is idle its slot boundaries lie at `begin`, `begin` + slot, ..., where `begin` is
/// the end of its AIFS, and `slots` is the counter as it was at the beginning of the idle period. It is
/// brought up to date when the period ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) aifs: Span,
    pub(super) rule: CountdownRule,
    pub(super) slots: u32,
    /// A frame waits.
    pub(super) ready: bool,
    /// Nothing was drawn for the frame that waits: the medium was idle when it came. It may go
    /// without a backoff as long as the medium stays so.
    pub(super) fresh: bool,
    /// AIFS begins no earlier than this, however long the medium has been idle.
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
    /// By how much a counter falls from its first boundary to `now`, when another station begins.
    #[inline]
    pub(super) fn passed(self, begin: Time, now: Time, slot: Span) -> u32 {
        if now < begin {
            return 0;
        }
        // EDCA counts the boundary at which another station begins, DCF only slots that passed
        // idle (IEEE 802.11-2016, 10.22.2.4 and 10.3.4.3).
        let at_boundary = u32::from(self == CountdownRule::Edca);
        slots_in(now - begin, slot).saturating_add(at_boundary)
    }
}

impl Backoff {
    pub(super) fn new(aifs: Span, rule: CountdownRule) -> Backoff {
        Backoff { aifs, rule, slots: 0, ready: false, fresh: false, since: Time::ZERO }
    }

    /// Counts from `slots` anew, from `since` on or whenever the medium is idle after that.
    pub(super) fn draw(&mut self, slots: u32, since: Time) {
        self.slots = slots;
        self.fresh = false;
        self.since = since;
    }

    /// The first slot boundary of an idle period; `base` is when SIFS and AIFSN slots begin in it.
    #[inline]
    fn begin(&self, base: Time) -> Time {
        base.max(self.since) + self.aifs
    }

    /// When it transmits if the medium stays idle.
    #[inline]
    pub(super) fn grant(&self, base: Time, slot: Span) -> Time {
        after(self.begin(base), self.slots, slot)
    }

    /// The idle period that began with `base` ends at `now`. True if a backoff must be drawn: the frame
    /// that was to go without one cannot.
    #[inline]
    pub(super) fn freeze(&mut self, base: Time, now: Time, slot: Span) -> bool {
        if self.slots > 0 {
            let passed = self.rule.passed(self.begin(base), now, slot);
            self.slots = self.slots.saturating_sub(passed);
        }
        self.ready && self.fresh
    }

    /// Whether the counter is still running at `now`, in an idle period that began with `base`.
    pub(super) fn is_running(&self, base: Time, now: Time, slot: Span) -> bool {
        self.slots > 0 && now < self.grant(base, slot)
    }

    /// Whether from `now` on nothing but the medium moves it, in an idle period that began with `base`, which
    /// can lie ahead and come earlier if an EIFS is called off.
    #[inline]
    pub(super) fn is_in_step(&self, base: Time, now: Time) -> bool {
        self.since <= base.min(now) && !(self.ready && self.fresh)
    }

    /// A frame comes at `now`, in an idle period that began with `base`, and no counter is running.
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

/// The first boundary at or after `now`; the first of all is `begin`.
fn next_boundary(begin: Time, now: Time, slot: Span) -> Time {
    let part = (now - begin).as_nanos().max(0) % slot.as_nanos();
    if part == 0 { now } else { now + Span::from_nanos(slot.as_nanos() - part) }
}
