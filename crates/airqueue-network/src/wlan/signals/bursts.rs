//! When bursts begin, and how long they are.

use super::spec::{BurstLaw, Within};
use airqueue_core::{RandomStream, Span, Time};

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
    /// The period of that law's share, and the integral of the share over it in nanoseconds, if it has a period.
    over_period: Option<(Span, f64)>,
}

impl Bursts {
    pub(super) fn new(law: BurstLaw, rng: RandomStream) -> Bursts {
        let over_period = match &law {
            BurstLaw::Arriving { share, .. } => share.over_period(),
            _ => None,
        };
        Bursts { law, rng, next: (Time::MAX, Span::ZERO), over_period }
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
        let mut work = self.rng.exponential(busy.mean).as_nanos() as f64;
        self.next = (Time::MAX, busy.draw(&mut self.rng));
        let mut at = since;
        if let Some((period, whole)) = self.over_period {
            // Whole periods at once; a silent one is never over.
            let periods = (work / whole).floor();
            work -= periods * whole;
            at = at.saturating_add(nanos(periods * period.as_nanos() as f64));
        }
        while at < Time::MAX {
            let (share, until) = (share.at(at), share.next(at));
            let arrives = at.saturating_add(nanos(work / share));
            if arrives < until {
                self.next.0 = arrives;
                return;
            }
            work = (work - share * (until - at).as_nanos() as f64).max(0.0);
            at = until;
        }
    }

    /// Whether bursts wait for the medium.
    pub(super) fn are_polite(&self) -> bool {
        matches!(self.law, BurstLaw::Arriving { .. })
    }
}

/// A length of time; what is endless or nothing (0 / 0) is longer than any.
fn nanos(nanos: f64) -> Span {
    match nanos < i64::MAX as f64 {
        true => Span::from_nanos(nanos as i64),
        false => Span::from_nanos(i64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;
    use airqueue_transport::traffic::Law;
    use airqueue_wifi::medium::Steps;

    /// Bursts that arrive with the shares of a record.
    fn arriving(steps: Vec<(Time, f64)>, period: Span) -> Bursts {
        let share = Steps::new(steps, Some(period)).expect("a record");
        let busy = Within { law: Law::Constant, mean: Span::from_millis(1) };
        Bursts::new(BurstLaw::Arriving { busy, share }, Seed(1).stream("x"))
    }

    /// 0.001 of 1 ms and more: a burst each second or so, whether the record has a period of two nanoseconds or of days.
    #[test]
    fn arrivals_pass_over_whole_periods() {
        for period in [Span::from_nanos(2), Span::from_millis(1), Span::from_secs(100_000)] {
            let mut bursts = arriving(vec![(Time::ZERO, 0.001)], period);
            let mut at = Time::ZERO;
            for _ in 0..10_000 {
                bursts.arrive(at);
                at = bursts.next.0;
            }
            let mean_s = (at - Time::ZERO).as_secs_f64() / 10_000.0;
            assert!((mean_s - 1.0).abs() < 4.0 * 0.01, "{period:?}: {mean_s}");
        }
    }

    #[test]
    fn arrivals_keep_to_the_part_of_the_period_that_has_a_share() {
        let half = Time::ZERO + Span::from_millis(500);
        let mut bursts = arriving(vec![(Time::ZERO, 0.0), (half, 0.01)], Span::from_secs(1));
        let mut at = Time::ZERO;
        for _ in 0..1000 {
            bursts.arrive(at);
            at = bursts.next.0;
            assert!((at - Time::ZERO).as_nanos() % 1_000_000_000 >= 500_000_000, "{at:?}");
        }
        let mean_s = (at - Time::ZERO).as_secs_f64() / 1000.0;
        assert!((mean_s - 0.2).abs() < 4.0 * 0.2 / f64::sqrt(1000.0), "{mean_s}");
    }

    #[test]
    fn a_silent_record_has_no_arrivals() {
        let mut bursts = arriving(vec![(Time::ZERO, 0.0)], Span::from_nanos(1));
        bursts.arrive(Time::ZERO);
        assert_eq!(bursts.next.0, Time::MAX);
    }
}
