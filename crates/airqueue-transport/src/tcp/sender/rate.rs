//! The rate at which a sender paces its segments, or would pace them.

use super::Sender;
use crate::tcp::pacing::Pacing;
use airqueue_core::DataRate;

impl Sender {
    /// The rate at which segments are paced, if they are paced by rate.
    pub(super) fn pacing_rate(&self) -> Option<DataRate> {
        let Pacing::Window { slow_start, avoidance } = self.spec.sender.pacing else { return None };
        Some(self.controller.pacing_rate(self.rto.srtt()?, slow_start, avoidance))
    }

    /// The rate that Linux reckons with whether or not it paces (`sk_pacing_rate`); `None` before the first round trip.
    pub fn reckoned_rate(&self) -> Option<DataRate> {
        let Pacing::Window { slow_start, avoidance } = Pacing::LINUX else { unreachable!() };
        let srtt = self.rto.srtt()?;
        let own = self.controller.own_pacing_rate();
        Some(own.unwrap_or_else(|| self.controller.pacing_rate(srtt, slow_start, avoidance)))
    }

    /// Whether the window is used, so that it may grow, with `flight` bytes outstanding. A window of which less than half is
    /// used carries no information about the path (RFC 7661, section 4.2). Beyond slow start Linux lets the window grow only
    /// if the window, and nothing else, limits the sender (`tcp_is_cwnd_limited`).
    pub(super) fn is_used(&self, flight: u64) -> bool {
        let cwnd = self.controller.cwnd_bytes();
        if self.spec.sender.small_queue && cwnd >= self.controller.ssthresh_bytes() {
            return flight + u64::from(self.spec.mss_bytes) > cwnd;
        }
        flight.saturating_mul(2) >= cwnd
    }
}
