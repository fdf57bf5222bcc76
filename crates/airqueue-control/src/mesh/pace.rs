//! When a router sends: every second, or soon after a change, within a budget of bytes.

use airqueue_core::{Span, Time};

/// Between messages without a change.
pub const INTERVAL: Span = Span::from_secs(1);
/// Between messages at least. A change travels one hop in this time.
pub const GAP: Span = Span::from_millis(100);
/// Bytes a second that messages on account of changes take at most, on average,
pub const BYTES_PER_S: i64 = 400;
/// after a burst of as many bytes as that gives in so long.
pub const BURST: Span = Span::from_secs(20);

#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    last: Option<Time>,
    /// From 0 to 255: how much earlier the next messages are, so that routers do not send at the same times for ever.
    jitter: u8,
    /// Until when the bytes that were sent use up the budget (the virtual scheduling of ITU-T I.371).
    paid: Option<Time>,
}

impl Pace {
    /// When the next message may be sent. urgent: whether there is something to tell.
    pub(super) fn next(&self, urgent: bool) -> Time {
        let Some(last) = self.last else { return Time::ZERO };
        let regular = last + self.jittered(INTERVAL);
        if !urgent {
            return regular;
        }
        let budget = self.paid.map_or(Time::ZERO, |paid| paid - BURST);
        regular.min(budget.max(last + self.jittered(GAP)))
    }

    /// Whether the budget is used up; a message then only shows that the router is there.
    pub(super) fn is_overspent(&self, now: Time) -> bool {
        self.paid.is_some_and(|paid| paid - BURST > now)
    }

    /// Up to a quarter less.
    fn jittered(&self, span: Span) -> Span {
        Span::from_nanos(span.as_nanos() - span.as_nanos() / 1024 * i64::from(self.jitter))
    }

    /// Notes a message; `random` is a byte of its tag, which is as good as random.
    pub(super) fn sent(&mut self, now: Time, bytes: usize, random: u8) {
        let cost = Span::from_nanos(bytes as i64 * (1_000_000_000 / BYTES_PER_S));
        self.paid = Some(self.paid.unwrap_or(now).max(now) + cost);
        self.last = Some(now);
        self.jitter = random;
    }
}
