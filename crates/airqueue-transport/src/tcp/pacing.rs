//! Segments spread over time.

use super::spec::SpecError;
use airqueue_core::{DataRate, Time};

/// Whether segments are spread over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// They leave as soon as the windows allow.
    Off,
    /// At a multiple of the congestion window per smoothed round trip, as Linux does with 2 and 1.2.
    Window {
        /// The multiple in slow start.
        slow_start: f64,
        /// The multiple otherwise.
        avoidance: f64,
    },
}

impl Pacing {
    pub(super) fn check(self) -> Result<(), SpecError> {
        let Pacing::Window { slow_start, avoidance } = self else { return Ok(()) };
        match [slow_start, avoidance].into_iter().find(|gain| !(gain.is_finite() && *gain > 0.0)) {
            Some(gain) => Err(SpecError::Pacing(gain)),
            None => Ok(()),
        }
    }
}

/// Says when the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    free: Time,
    /// A segment waits for that.
    waiting: bool,
}

impl Pacer {
    pub(super) fn new() -> Pacer {
        Pacer { free: Time::from_nanos(i64::MIN), waiting: false }
    }

    /// Whether a segment that is ready has to wait.
    pub(super) fn holds(&mut self, now: Time) -> bool {
        self.waiting = now < self.free;
        self.waiting
    }

    /// `bytes` leave now; `rate` is that of the moment, if there is one.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u32, rate: Option<DataRate>) {
        if let Some(rate) = rate {
            self.free = self.free.max(now).saturating_add(rate.time_for(bytes));
        }
    }

    /// Nothing waits any longer.
    pub(super) fn release(&mut self, now: Time) {
        self.free = self.free.min(now);
        self.waiting = false;
    }

    pub(super) fn next_timer(&self) -> Time {
        if self.waiting { self.free } else { Time::MAX }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.waiting &= now < self.free;
    }
}
