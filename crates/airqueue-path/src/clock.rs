//! A host's clock: its time relative to the path's time.

use airqueue_core::{Span, Time};

const BILLION: i128 = 1_000_000_000;

/// A reading further ahead than this (seventy years in nanoseconds) is never reached.
const NEVER: i128 = i64::MAX as i128 / 4;

/// A clock that runs a constant number of parts per billion fast. A change of this number keeps the reading continuous:
/// an adjustment never makes the clock jump.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    anchor: Time,
    reading: Time,
    fast_ppb: i64,
}

impl HostClock {
    /// A clock that is `offset` ahead of the path's time at `now`, and from then on runs `fast_ppb` fast.
    pub fn new(now: Time, offset: Span, fast_ppb: i64) -> HostClock {
        HostClock { anchor: now, reading: now + offset, fast_ppb }
    }

    /// The reading of the clock at the path's time `now`.
    pub fn read(&self, now: Time) -> Time {
        let passed = now - self.anchor;
        let extra = i128::from(passed.as_nanos()) * i128::from(self.fast_ppb) / BILLION;
        self.reading + passed + Span::from_nanos(extra as i64)
    }

    /// The first moment of the path's time at which the clock shows `reading` or later.
    pub fn when(&self, reading: Time) -> Time {
        let wanted = i128::from(reading.as_nanos()) - i128::from(self.reading.as_nanos());
        let passed = wanted * BILLION / (BILLION + i128::from(self.fast_ppb));
        if passed > NEVER {
            return Time::MAX;
        }
        let mut at = self.anchor + Span::from_nanos(passed as i64);
        // The divisions here and in `read` round; a correction by a nanosecond or two suffices.
        let tick = Span::from_nanos(1);
        while self.read(at) >= reading {
            at = at - tick;
        }
        while self.read(at) < reading {
            at += tick;
        }
        at
    }

    /// Lets the clock run `fast_ppb` fast from `now` on.
    pub fn run_at(&mut self, fast_ppb: i64, now: Time) {
        *self = HostClock { anchor: now, reading: self.read(now), fast_ppb };
    }
}

/// Steps of the clock that stamps a host's arrivals: size and time.
#[derive(Clone, Debug, Default)]
pub struct ClockSteps {
    steps: Vec<(Time, Span)>,
    taken: usize,
    sum: Span,
}

impl ClockSteps {
    /// Steps in any order.
    pub fn new(mut steps: Vec<(Time, Span)>) -> ClockSteps {
        steps.sort_by_key(|(at, _)| *at);
        ClockSteps { steps, taken: 0, sum: Span::ZERO }
    }

    /// The sum of all steps up to `now`. Calls must come in order of time.
    pub fn by(&mut self, now: Time) -> Span {
        while let Some((_, step)) = self.steps.get(self.taken).filter(|(at, _)| *at <= now) {
            self.sum = self.sum + *step;
            self.taken += 1;
        }
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hundred_parts_per_million_are_a_hundred_microseconds_a_second() {
        let mut clock = HostClock::new(Time::ZERO, Span::from_secs(-5), 100_000);
        let t = Time::ZERO + Span::from_secs(10);
        assert_eq!(clock.read(t), Time::ZERO + Span::from_secs(5) + Span::from_millis(1));
        clock.run_at(0, t);
        let later = t + Span::from_secs(1);
        assert_eq!(clock.read(later) - clock.read(t), Span::from_secs(1));
    }

    #[test]
    fn steps_add_up() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut steps =
            ClockSteps::new(vec![(at(9), Span::from_millis(-3)), (at(4), Span::from_millis(10))]);
        assert_eq!(steps.by(at(3)), Span::ZERO);
        assert_eq!(steps.by(at(4)), Span::from_millis(10));
        assert_eq!(steps.by(at(20)), Span::from_millis(7));
    }

    proptest! {
        #[test]
        fn when_is_the_first_moment(anchor in 0i64..1 << 50, offset in -(1i64 << 55)..1 << 55, ppb in -100_000_000i64..100_000_000, ns in 0i64..1 << 50) {
            let clock = HostClock::new(Time::from_nanos(anchor), Span::from_nanos(offset), ppb);
            let reading = clock.read(Time::from_nanos(anchor)) + Span::from_nanos(ns);
            let at = clock.when(reading);
            prop_assert!(clock.read(at) >= reading);
            prop_assert!(clock.read(at - Span::from_nanos(1)) < reading);
        }
    }
}
