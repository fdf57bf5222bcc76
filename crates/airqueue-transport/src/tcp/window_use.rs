//! Whether the congestion window is what limits a sender, as in Linux (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

/// What a sender has used of its window in the present round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// The window has limited the sender.
    limited: bool,
    /// Most octets outstanding.
    most: u64,
    /// The round trip ends when this octet is the first outstanding one.
    until: u64,
    /// Segments have been sent since [`WindowUse::on_pause`].
    sent: bool,
}

impl WindowUse {
    /// A segment is sent.
    pub(super) fn on_sent(&mut self) {
        self.sent = true;
    }

    /// Nothing more can be sent for now, because of the window if `limited`. The octets from `una` to `high` - 1 are
    /// outstanding.
    pub(super) fn on_pause(&mut self, limited: bool, una: u64, high: u64) {
        if !std::mem::take(&mut self.sent) && !limited {
            return;
        }
        let more = !self.limited && high - una > self.most;
        if una >= self.until || limited || more {
            *self = WindowUse { limited, most: high - una, until: high, sent: false };
        }
    }

    /// Whether a window of `cwnd` bytes may grow: in slow start up to twice of what was outstanding.
    pub(super) fn allows_growth(&self, cwnd: u64, in_slow_start: bool) -> bool {
        self.limited || (in_slow_start && cwnd < 2 * self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::WindowUse;

    #[test]
    fn a_full_window_counts_for_a_round_trip() {
        let mut window = WindowUse::default();
        window.on_sent();
        window.on_pause(true, 1, 1001);
        assert!(window.allows_growth(1000, false));
        // Half of the window's octets are acknowledged, and fewer follow than the window allows.
        window.on_sent();
        window.on_pause(false, 501, 1201);
        assert!(window.allows_growth(1000, false));
        // All of them are.
        window.on_sent();
        window.on_pause(false, 1001, 1701);
        assert!(!window.allows_growth(1000, false));
    }

    #[test]
    fn slow_start_opens_a_window_to_twice_of_what_was_outstanding() {
        let mut window = WindowUse::default();
        window.on_sent();
        window.on_pause(false, 1, 601);
        assert!(window.allows_growth(1199, true));
        assert!(!window.allows_growth(1200, true));
        assert!(!window.allows_growth(1199, false));
        // The most of the round trip counts, not the last.
        window.on_sent();
        window.on_pause(false, 301, 701);
        assert!(window.allows_growth(1199, true));
    }

    #[test]
    fn a_sender_that_sends_nothing_learns_nothing() {
        let mut window = WindowUse::default();
        window.on_sent();
        window.on_pause(true, 1, 1001);
        window.on_pause(false, 1001, 1001);
        assert!(window.allows_growth(1000, false));
    }
}
