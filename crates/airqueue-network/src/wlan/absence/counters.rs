//! The counters of absences.

use airqueue_core::{Span, Time};

/// The absences of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbsenceCounters {
    /// How often the station left.
    pub times: u64,
    /// How long it was absent.
    pub absent: Span,
    /// How often the station left although its access point had not acknowledged its null frame.
    pub unheard: u64,
    /// Scans that did not begin because the one before had not ended.
    pub skipped: u64,
    /// Packets that the access point kept for the station while it was absent or asleep.
    pub kept: u64,
    /// Of these, those that the buffers had no room for, or that became too old.
    pub dropped: u64,
}

/// How long a station has been absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absent {
    /// Since when the station has been absent, if it is.
    since: Option<Time>,
    /// Since when its absence counts.
    counted: Time,
    /// How long it has been absent from time zero to `counted`.
    ever: Span,
}

impl Absent {
    pub(super) const PRESENT: Absent =
        Absent { since: None, counted: Time::ZERO, ever: Span::ZERO };

    pub(super) fn begin(&mut self, counters: &mut AbsenceCounters, now: Time) {
        (self.since, self.counted) = (Some(now), now);
        counters.times += 1;
    }

    /// Counts the time up to `now`.
    pub(super) fn count(&mut self, counters: &mut AbsenceCounters, now: Time) {
        if self.since.is_some() {
            counters.absent = counters.absent + (now - self.counted);
            self.ever = self.ever + (now - self.counted);
        }
        self.counted = now;
    }

    /// How long the station has been absent from time zero to `now`.
    pub(super) fn ever(&self, now: Time) -> Span {
        let ongoing = if self.since.is_some() { now - self.counted } else { Span::ZERO };
        self.ever + ongoing
    }

    /// Returns how long the absence has lasted.
    pub(super) fn end(&mut self, counters: &mut AbsenceCounters, now: Time) -> Option<Span> {
        self.count(counters, now);
        self.since.take().map(|since| now - since)
    }
}
