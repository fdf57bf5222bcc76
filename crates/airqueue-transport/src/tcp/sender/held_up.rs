//! For how long the receiver's window has kept data back, as `tcpi_rwnd_limited` of Linux says (`TCP_CHRONO_RWND_LIMITED` in
//! `tcp_write_xmit`).

use super::Sender;
use crate::tcp::recovery::{Budget, SegmentKind};
use airqueue_core::{Span, Time};

/// The time in which a sender had new data that its congestion window and its pacing admitted, but not the window of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldUp {
    /// Since when this is so, or from when on if pacing admits nothing before.
    since: Option<Time>,
    /// How long this was so before.
    before: Span,
}

impl HeldUp {
    fn begin(&mut self, at: Time) {
        self.since = self.since.or(Some(at));
    }

    fn end(&mut self, now: Time) {
        self.before = self.until(now);
        self.since = None;
    }

    fn until(&self, now: Time) -> Span {
        self.before + self.since.map_or(Span::ZERO, |since| (now - since).max(Span::ZERO))
    }
}

impl Sender {
    /// How long, until `now`, new data that congestion window and pacing admitted have waited for the window of the receiver, or
    /// for that of [`SenderSpec::window_segments`](crate::tcp::SenderSpec::window_segments).
    pub fn held_up(&self, now: Time) -> Span {
        self.held_up.until(now)
    }

    /// Notes whether the window keeps data back from now on. `sends`: whether there is a segment to send, now or when its
    /// pacing or the device permits.
    #[inline]
    pub(super) fn note_window(&mut self, sends: bool, budget: &Budget, now: Time) {
        if !sends && self.lacks_window(budget) {
            self.held_up.begin(self.pacer.next_departure(now));
        } else {
            self.held_up.end(now);
        }
    }

    /// Whether with any window of the receiver there would be new data to send.
    #[inline]
    fn lacks_window(&mut self, budget: &Budget) -> bool {
        let outstanding = self.recovery.high() - self.recovery.una();
        if outstanding + u64::from(self.spec.mss_bytes) <= budget.window {
            return false;
        }
        let unlimited = Budget { window: u64::MAX, ..*budget };
        let next = self.recovery.next_range(&unlimited);
        next.is_some_and(|next| next.kind == SegmentKind::New)
    }
}
