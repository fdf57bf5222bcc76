//! Recorded values over time, each of which holds until the next.

use airqueue_core::{Span, Time};
use std::sync::Arc;

/// A quantity that was recorded: each value holds from its time on. Before the first time the first value holds, after
/// the end the last one, unless the record begins anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Rising times, and their values.
    steps: Arc<[(Time, f64)]>,
    /// After which time the record begins anew.
    period: Option<Span>,
}

impl Steps {
    /// A record that never changes.
    pub fn constant(value: f64) -> Steps {
        Steps { steps: [(Time::ZERO, value)].into(), period: None }
    }

    /// A record. `None`: there is no step, the times do not rise, or the period ends before the last step.
    pub fn new(steps: Vec<(Time, f64)>, period: Option<Span>) -> Option<Steps> {
        let (_, last) = (steps.first()?, steps.last()?.0);
        let rises = steps.is_sorted_by(|one, next| one.0 < next.0) && steps[0].0 >= Time::ZERO;
        let ends = period.is_none_or(|period| last < Time::ZERO + period);
        (rises && ends).then(|| Steps { steps: steps.into(), period })
    }

    /// When the present round of the record began.
    fn round(&self, now: Time) -> Time {
        match self.period {
            None => Time::ZERO,
            Some(period) => {
                let rounds = now.as_nanos() / period.as_nanos();
                Time::from_nanos(rounds * period.as_nanos())
            }
        }
    }

    /// The value at a time.
    pub fn at(&self, now: Time) -> f64 {
        let within = Time::ZERO + (now - self.round(now));
        let next = self.steps.partition_point(|step| step.0 <= within);
        self.steps[next.saturating_sub(1)].1
    }

    /// When the next value begins to hold, which may be equal to the present one; [`Time::MAX`]: never.
    pub fn next(&self, now: Time) -> Time {
        let round = self.round(now);
        let within = Time::ZERO + (now - round);
        let next = self.steps.partition_point(|step| step.0 <= within);
        match (self.steps.get(next), self.period) {
            (Some(step), _) => round + (step.0 - Time::ZERO),
            (None, Some(period)) => round + period,
            (None, None) => Time::MAX,
        }
    }

    /// The period after which the record begins anew, and the integral of the value over it, in units of the value times
    /// nanoseconds; `None`: the record does not begin anew.
    pub fn over_period(&self) -> Option<(Span, f64)> {
        let period = self.period?;
        let end = [(Time::ZERO + period, 0.0)];
        let ends = self.steps[1..].iter().chain(&end).map(|step| step.0);
        let mut begins = Time::ZERO;
        let integral = self.steps.iter().zip(ends).map(|(&(_, value), ends)| {
            let lasts = ends - begins;
            begins = ends;
            value * lasts.as_nanos() as f64
        });
        Some((period, integral.sum()))
    }

    /// The times at which values begin to hold, up to `end`, with these values; the first holds from time zero on.
    pub fn until(&self, end: Time) -> impl Iterator<Item = (Time, f64)> {
        let mut now = Some(Time::ZERO);
        std::iter::from_fn(move || {
            let at = now?;
            now = Some(self.next(at)).filter(|&next| next < end);
            Some((at, self.at(at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: i64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn each_value_holds_until_the_next() {
        let steps = Steps::new(vec![(s(1), 10.0), (s(3), 20.0)], None).expect("valid");
        let seen: Vec<f64> = (0..6).map(|at| steps.at(s(at))).collect();
        assert_eq!(seen, [10.0, 10.0, 10.0, 20.0, 20.0, 20.0]);
        assert_eq!((steps.next(s(0)), steps.next(s(1)), steps.next(s(3))), (s(1), s(3), Time::MAX));
    }

    #[test]
    fn a_record_with_a_period_begins_anew() {
        let steps = Steps::new(vec![(s(0), 1.0), (s(2), 2.0)], Some(Span::from_secs(5)));
        let steps = steps.expect("valid");
        let seen: Vec<f64> = (0..11).map(|at| steps.at(s(at))).collect();
        assert_eq!(seen, [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0]);
        let (period, integral) = steps.over_period().expect("a period");
        assert_eq!((period, integral), (Span::from_secs(5), (2.0 * 1.0 + 3.0 * 2.0) * 1e9));
        let changes: Vec<_> = steps.until(s(8)).collect();
        assert_eq!(changes, [(s(0), 1.0), (s(2), 2.0), (s(5), 1.0), (s(7), 2.0)]);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        assert_eq!(Steps::new(vec![], None), None);
        assert_eq!(Steps::new(vec![(s(1), 0.0), (s(1), 1.0)], None), None);
        assert_eq!(Steps::new(vec![(s(5), 0.0)], Some(Span::from_secs(5))), None);
    }
}
