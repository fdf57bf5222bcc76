//! When probes leave: evenly spaced, and never several at once to make up for missed ones.

use airqueue_core::{Span, Time};

/// Times of the probes of one target: `first`, and each `every` after that.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    next: Time,
    every: Span,
    skipped: u64,
}

impl Pace {
    /// Probes from `first` on.
    pub fn new(first: Time, every: Span) -> Pace {
        Pace { next: first, every: every.max(Span::from_nanos(1)), skipped: 0 }
    }

    /// The pace of target `k` of `n`: its times are in between those of the others.
    pub fn interleaved(start: Time, every: Span, k: usize, n: usize) -> Pace {
        let ns = i128::from(every.as_nanos()) * k as i128 / n.max(1) as i128;
        Pace::new(start + Span::from_nanos(ns as i64), every)
    }

    /// When the next probe is due.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Times that passed without a probe.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether a probe is due. If so, the next one is due at the first of the times that is half an interval away at
    /// least: after a stall there are neither many probes at once nor two close together.
    pub fn take(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        let every = self.every.as_nanos();
        let past = (now - self.next).as_nanos();
        let slots = (past.saturating_add(every / 2) / every).saturating_add(1);
        self.skipped += (slots - 1) as u64;
        self.next = self.next.saturating_add(Span::from_nanos(slots.saturating_mul(every)));
        true
    }

    /// The probe that was just due was not sent.
    pub fn skip(&mut self) {
        self.skipped += 1;
    }
}
