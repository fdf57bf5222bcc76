//! How busy the medium is, as a router states it: seldom, so that all routers have the same figure.

use super::sizing::ALIKE;
use super::statement::BusyClaim;
use airqueue_core::{Span, Time};

/// Takes means of measured fractions over a while, and states one that differs.
#[derive(Clone, Debug)]
pub(super) struct BusyMeter {
    saturated: f64,
    every: Span,
    sum: f64,
    count: u32,
    due: Option<Time>,
    stated: BusyClaim,
}

impl BusyMeter {
    pub(super) fn new(saturated: f64, every: Span) -> BusyMeter {
        let stated = BusyClaim::default();
        BusyMeter { saturated, every, sum: 0.0, count: 0, due: None, stated }
    }

    /// Takes in the fraction of the time since the last call.
    pub(super) fn add(&mut self, fraction: f64, now: Time) {
        self.sum += fraction;
        self.count += 1;
        self.due = self.due.or(Some(now + self.every));
    }

    /// What the router states.
    pub(super) fn stated(&self) -> BusyClaim {
        self.stated
    }

    /// When the mean is taken.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.due
    }

    /// Takes the mean if it is time. It is stated if it differs from what was by as much as measurements do that count
    /// as different, or if it makes the medium full, or full no more.
    pub(super) fn on_time(&mut self, now: Time) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        let mean = self.sum / f64::from(self.count.max(1));
        let slack = if self.stated.full { ALIKE } else { 0.0 };
        let full = mean >= self.saturated - slack;
        let percent = (mean * 100.0).round() as u8;
        let apart = f64::from(percent.abs_diff(self.stated.percent)) >= ALIKE * 100.0;
        if apart || full != self.stated.full {
            self.stated = BusyClaim { percent, full };
        }
        (self.sum, self.count, self.due) = (0.0, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(meter: &mut BusyMeter, fractions: &[f64], from_s: i64) -> BusyClaim {
        for (i, &fraction) in fractions.iter().enumerate() {
            meter.add(fraction, Time::ZERO + Span::from_secs(from_s + i as i64));
        }
        meter.on_time(Time::ZERO + Span::from_secs(from_s + 10));
        meter.stated()
    }

    #[test]
    fn full_from_the_threshold_until_well_below_it() {
        let mut meter = BusyMeter::new(0.9, Span::from_secs(10));
        assert_eq!(stated(&mut meter, &[0.8, 0.96], 0), BusyClaim { percent: 88, full: false });
        assert_eq!(stated(&mut meter, &[0.9, 0.9], 20), BusyClaim { percent: 90, full: true });
        assert_eq!(stated(&mut meter, &[0.86], 40), BusyClaim { percent: 90, full: true });
        assert_eq!(stated(&mut meter, &[0.84], 60), BusyClaim { percent: 84, full: false });
        assert_eq!(stated(&mut meter, &[0.86], 80), BusyClaim { percent: 84, full: false });
    }
}
