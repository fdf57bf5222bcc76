//! How fast a loop may change a setting: not too often, and not by too much at once.
//!
//! A wrong estimate then does little harm before the next one, and a setting that follows a noisy estimate is not
//! written all the time.

use airqueue_core::{Span, Time};

/// The bounds of a setting's changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Shortest time between two changes.
    pub least_interval: Span,
    /// Greatest factor of one change, upwards or downwards; above 1. A change by 1 is always possible.
    pub greatest_factor: f64,
}

impl Pace {
    /// From when on another change is possible after one at `changed`; `None`: it is possible at once.
    pub fn wait(&self, changed: Option<Time>, now: Time) -> Option<Time> {
        let due = changed.map(|changed| changed.saturating_add(self.least_interval));
        due.filter(|due| now < *due)
    }

    /// How near one change of a value may come to the wanted one.
    pub fn toward(&self, value: u64, wanted: u64) -> u64 {
        let (from, factor) = (value as f64, self.greatest_factor);
        let highest = ((from * factor) as u64).max(value.saturating_add(1));
        let lowest = ((from / factor).ceil() as u64).min(value.saturating_sub(1));
        wanted.clamp(lowest, highest)
    }
}

/// What may be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The setting is as it is wanted.
    Stay,
    /// Set this value.
    Set(u64),
    /// Nothing before this time.
    Wait(Time),
}

/// A setting that changes within its pace.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    pace: Pace,
    value: u64,
    changed: Option<Time>,
}

impl Paced {
    /// A setting that has a value. The first change may come at once.
    ///
    /// # Panics
    /// If the factor is not above 1, or the interval is negative: these are not from users.
    pub fn new(pace: Pace, value: u64) -> Paced {
        assert!(pace.greatest_factor > 1.0 && pace.least_interval >= Span::ZERO, "{pace:?}");
        Paced { pace, value, changed: None }
    }

    /// The value now.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// What may be done at this time to come nearer to the wanted value. A value to be set counts as set.
    pub fn on_wanted(&mut self, wanted: u64, now: Time) -> Next {
        if wanted == self.value {
            return Next::Stay;
        }
        if let Some(due) = self.pace.wait(self.changed, now) {
            return Next::Wait(due);
        }
        self.value = self.pace.toward(self.value, wanted);
        self.changed = Some(now);
        Next::Set(self.value)
    }

    /// Sets the wanted value whole and without waiting; the next change has its interval from now on.
    pub fn at_once(&mut self, wanted: u64, now: Time) -> Next {
        if wanted == self.value {
            return Next::Stay;
        }
        (self.value, self.changed) = (wanted, Some(now));
        Next::Set(wanted)
    }
}

/// Changes that may come at once, a few of them, and else at their interval (the virtual scheduling algorithm of ITU-T I.371).
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    interval: Span,
    most: i64,
    /// When the changes so far would be over at one for each interval.
    until: Time,
}

impl Bursts {
    /// `most` changes at once, at least 1, after a rest; one for each interval in the long run.
    pub fn new(interval: Span, most: u32) -> Bursts {
        Bursts { interval, most: most.max(1).into(), until: Time::ZERO }
    }

    /// Whether one more change may come now; if so the change counts.
    pub fn take(&mut self, now: Time) -> bool {
        let earliest = self.until.max(now);
        let ahead = Span::from_nanos(self.interval.as_nanos().saturating_mul(self.most - 1));
        if earliest - now > ahead {
            return false;
        }
        self.until = earliest.saturating_add(self.interval);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paced(seconds: i64, factor: f64, value: u64) -> Paced {
        Paced::new(
            Pace { least_interval: Span::from_secs(seconds), greatest_factor: factor },
            value,
        )
    }

    #[test]
    fn a_limit_grows_and_shrinks_in_steps() {
        let mut limit = paced(10, 2.0, 5);
        let at = |second| Time::from_nanos(Span::from_secs(second).as_nanos());
        assert_eq!(limit.on_wanted(5, at(0)), Next::Stay);
        assert_eq!(limit.on_wanted(100, at(0)), Next::Set(10));
        assert_eq!(limit.on_wanted(100, at(9)), Next::Wait(at(10)));
        assert_eq!(limit.on_wanted(100, at(10)), Next::Set(20));
        assert_eq!(limit.on_wanted(1, at(20)), Next::Set(10));
        // From nothing and to nothing there is no factor: it goes by one.
        let mut none = paced(0, 1.01, 0);
        assert_eq!(none.on_wanted(9, at(0)), Next::Set(1));
        assert_eq!(none.on_wanted(0, at(0)), Next::Set(0));
    }

    proptest! {
        /// No time has more changes than the burst and one for each of its intervals, and whoever waits for an interval may
        /// change something.
        #[test]
        fn bursts_are_bounded_and_nobody_waits_longer_than_an_interval(
            gaps in prop::collection::vec(0i64..3000, 1..200), interval_ms in 0i64..5000, most in 1u32..6
        ) {
            let interval = Span::from_millis(interval_ms);
            let (mut bursts, mut now, mut taken) = (Bursts::new(interval, most), Time::ZERO, Vec::new());
            let mut waits: Option<Time> = None;
            for gap in gaps {
                now += Span::from_millis(gap);
                if bursts.take(now) {
                    taken.push(now);
                    waits = None;
                } else {
                    let since = *waits.get_or_insert(now);
                    prop_assert!(now - since < interval, "{:?} at {:?}", since, now);
                }
            }
            for (at, first) in taken.iter().enumerate() {
                for (number, last) in taken[at..].iter().enumerate() {
                    let intervals = (*last - *first).as_nanos() / interval.as_nanos().max(1);
                    prop_assert!(interval == Span::ZERO || (number as i64) < i64::from(most) + intervals);
                }
            }
        }

        #[test]
        fn changes_keep_their_bounds_and_arrive(
            start in 0u64..1_000_000, wanted in 0u64..1_000_000, factor in 1.01f64..10.0, seconds in 0i64..100
        ) {
            let mut setting = paced(seconds, factor, start);
            let mut now = Time::ZERO;
            let mut last: Option<Time> = None;
            for _ in 0..20_000 {
                let before = setting.value();
                match setting.on_wanted(wanted, now) {
                    Next::Stay => return Ok(()),
                    Next::Wait(until) => {
                        prop_assert!(until > now && setting.value() == before);
                        now = until;
                    }
                    Next::Set(value) => {
                        let (low, high) = (before.min(value) as f64, before.max(value) as f64);
                        prop_assert!(high <= low * factor + 1e-6 || high - low == 1.0);
                        // It never goes past what is wanted, nor away from it.
                        prop_assert!(value.abs_diff(wanted) < before.abs_diff(wanted));
                        prop_assert!(last.is_none_or(|last| now >= last + Span::from_secs(seconds)));
                        last = Some(now);
                    }
                }
            }
            prop_assert!(false, "it never arrives");
        }
    }
}
