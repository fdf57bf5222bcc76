//! When bursts begin, and how long they are.

use super::spec::{BurstLaw, Within};
use airqueue_core::{RandomStream, Span, Time};
use airqueue_wifi::medium::Steps;

/// The shortest burst or pause.
const LEAST: Span = Span::from_nanos(1);

impl Within {
    fn draw(&self, rng: &mut RandomStream) -> Span {
        self.law.span(self.mean, rng).max(LEAST)
    }
}

/// What an interferer does until its timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A pause; then a burst of this length.
    Pause(Span),
    /// A burst.
    Burst,
    /// Bursts of this length in all wait for the medium.
    Waiting(Span),
}

/// The bursts of an interferer.
#[derive(Debug)]
pub(super) struct Bursts {
    law: BurstLaw,
    rng: RandomStream,
    /// When the next burst arrives, for [`BurstLaw::Arriving`], and how long it is.
    next: (Time, Span),
}

impl Bursts {
    pub(super) fn new(law: BurstLaw, rng: RandomStream) -> Bursts {
        Bursts { law, rng, next: (Time::MAX, Span::ZERO) }
    }

    /// What comes first, and until when it lasts.
    pub(super) fn first(&mut self, now: Time) -> (Phase, Time) {
        let Bursts { law, rng, .. } = self;
        match law {
            BurstLaw::Alternating { on, off } => {
                let (burst, pause) = (on.draw(rng), off.draw(rng));
                let passed = rng.span_below(burst + pause);
                if passed < pause {
                    (Phase::Pause(burst), now + (pause - passed))
                } else {
                    // The burst that is under way begins now.
                    let left = (burst + pause - passed).max(LEAST);
                    (Phase::Pause(left), now)
                }
            }
            BurstLaw::Slots { slot, .. } => {
                let first = rng.span_below(*slot);
                self.slots_from(now + first)
            }
            BurstLaw::Arriving { .. } => {
                self.arrive(now);
                self.idle(now)
            }
        }
    }

    /// What follows a burst that ends now.
    pub(super) fn after_burst(&mut self, now: Time) -> (Phase, Time) {
        let Bursts { law, rng, .. } = self;
        match *law {
            BurstLaw::Alternating { on, off } => {
                let (pause, burst) = (off.draw(rng), on.draw(rng));
                (Phase::Pause(burst), now + pause)
            }
            BurstLaw::Slots { slot, burst, .. } => self.slots_from(now - burst + slot),
            BurstLaw::Arriving { .. } => self.idle(now),
        }
    }

    /// The first slot from `slot_begins` on with a burst: the number of slots before is geometric.
    fn slots_from(&mut self, slot_begins: Time) -> (Phase, Time) {
        let BurstLaw::Slots { slot, burst, probability } = self.law else { unreachable!() };
        let without = match probability < 1.0 {
            true => libm::log(1.0 - self.rng.unit()) / libm::log1p(-probability),
            false => 0.0,
        };
        let slots = (without as i64).min(i64::MAX / (2 * slot.as_nanos()));
        let pause = Span::from_nanos(slots.saturating_mul(slot.as_nanos()));
        (Phase::Pause(burst), slot_begins.saturating_add(pause))
    }

    /// For bursts that arrive: those that have arrived by now wait, or the next arrival is awaited.
    pub(super) fn idle(&mut self, now: Time) -> (Phase, Time) {
        let mut waiting = Span::ZERO;
        while self.next.0 <= now {
            waiting = waiting + self.next.1;
            self.arrive(self.next.0);
        }
        match waiting {
            Span::ZERO => (Phase::Pause(Span::ZERO), self.next.0),
            waiting => (Phase::Waiting(waiting), Time::MAX),
        }
    }

    /// Draws the next arrival after `since`: an exponential amount of the integrated rate share / mean length.
    fn arrive(&mut self, since: Time) {
        let BurstLaw::Arriving { busy, share } = &self.law else { unreachable!() };
        let mut work = self.rng.exponential(busy.mean);
        let length = busy.draw(&mut self.rng);
        self.next = (Time::MAX, length);
        let mut at = since;
        while at < Time::MAX {
            let (share, until) = (share.at(at), share.next(at));
            let needed = needed(work, share);
            if at.saturating_add(needed) < until {
                self.next.0 = at + needed;
                return;
            }
            if until == Time::MAX || is_silent(self.share()) {
                return;
            }
            work = Span::from_nanos(
                (work.as_nanos() as f64 - share * (until - at).as_nanos() as f64).max(0.0) as i64,
            );
            at = until;
        }
    }

    fn share(&self) -> &Steps {
        let BurstLaw::Arriving { share, .. } = &self.law else { unreachable!() };
        share
    }

    /// Whether bursts wait for the medium.
    pub(super) fn are_polite(&self) -> bool {
        matches!(self.law, BurstLaw::Arriving { .. })
    }
}

/// A record without any share would be searched for ever.
fn is_silent(share: &Steps) -> bool {
    share.values().all(|share| share <= 0.0)
}

/// How long it takes until the integral of the share is `work`.
fn needed(work: Span, share: f64) -> Span {
    if share <= 0.0 {
        return Span::from_nanos(i64::MAX);
    }
    Span::from_nanos((work.as_nanos() as f64 / share).min(i64::MAX as f64) as i64)
}
