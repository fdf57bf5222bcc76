//! The times of retransmissions of a message.

use airqueue_core::{Span, Time};

/// First wait for a reply.
const FIRST: Span = Span::from_millis(200);
/// Longest wait: a full queue in front of the reply may drain for seconds.
const LONGEST: Span = Span::from_secs(2);

/// A retransmission timer whose waits double.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    next: Time,
    wait: Span,
}

impl Retry {
    /// Due at once.
    pub fn new(now: Time) -> Self {
        Retry { next: now, wait: FIRST }
    }

    /// Due at `next`, then at the longest interval.
    pub fn at(next: Time) -> Self {
        Retry { next, wait: LONGEST }
    }

    /// Whether to send (again) now; then the next time is later.
    pub fn due(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.wait;
        self.wait = (self.wait + self.wait).min(LONGEST);
        true
    }

    /// Progress was made: the next wait is short again, counted from `now`.
    pub fn progressed(&mut self, now: Time) {
        self.wait = FIRST;
        self.next = now + FIRST;
    }

    /// When it is next due.
    pub fn next(&self) -> Time {
        self.next
    }
}
