//! How many segments a sender hands to the network device of its own host at once, how much it leaves there, and how its
//! window grows meanwhile.

use super::Sender;
use crate::tcp::pacing::Pacing;
use crate::tcp::recovery::{Budget, SegmentKind, SegmentRange};
use crate::tcp::small_queue::{FEWEST_SEGMENTS, Outlook, RECENT, SmallQueue, Verdict};
use crate::tcp::window_use::WindowUse;
use airqueue_core::{DataRate, Span, Time};

/// Of how much time at the pacing rate a burst is, if the device does not say when packets have left it: 1/1024 s
/// (`sk_pacing_shift` 10).
const OWN_SHARE: Span = Span::from_nanos(1_000_000_000 >> 10);
/// BBR sends single segments below this rate (`bbr_min_tso_segs`).
const SLOW_BPS: u64 = 1_200_000;

/// What is handed to a device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Device {
    queue: SmallQueue,
    used: WindowUse,
}

impl Device {
    /// For another connection. Packets of this one may still be in the device.
    pub(super) fn restarted(mut self) -> Device {
        self.queue.end_burst();
        Device { queue: self.queue, used: WindowUse::default() }
    }
}

impl Sender {
    /// A packet of this sender goes to the device of its host, which will say when the packet has left
    /// ([`Sender::on_released`]). Without these calls a sender takes the device for empty.
    pub fn on_queued(&mut self, packet_bytes: u32) {
        if self.spec.sender.small_queue.is_some() {
            self.device.get_or_insert_default().queue.on_queued(packet_bytes);
        }
    }

    /// A packet that went to the device of the host is no longer there. There may then be segments to send.
    pub fn on_released(&mut self, packet_bytes: u32) {
        if let Some(device) = &mut self.device {
            device.queue.on_released(packet_bytes);
        }
    }

    /// Whether a segment has to wait because of what is in the device.
    pub(super) fn device_holds(
        &mut self,
        piece: &SegmentRange,
        budget: &Budget,
        now: Time,
    ) -> bool {
        let Some(mut device) = self.device else { return false };
        let tells = device.queue.tells();
        let outlook = || self.outlook(budget, tells, now);
        let verdict = match piece.kind {
            SegmentKind::New => device.queue.verdict(outlook),
            SegmentKind::AtOnce | SegmentKind::Probe => Verdict::Send,
            SegmentKind::Again | SegmentKind::Hole | SegmentKind::Rescue => {
                if device.queue.admits_again(outlook) { Verdict::Send } else { Verdict::Full }
            }
        };
        match verdict {
            Verdict::Send => device.used.on_sent(),
            Verdict::Full => self.pause(&mut device, self.is_window_full()),
            Verdict::Short => self.pause(&mut device, true),
        }
        if verdict == Verdict::Send && piece.kind == SegmentKind::New {
            device.queue.on_new();
        }
        self.device = Some(device);
        verdict != Verdict::Send
    }

    /// Whether a new segment is sent with the one before, so that pacing does not hold it.
    pub(super) fn is_in_burst(&self) -> bool {
        self.device.is_some_and(|device| device.queue.in_burst())
    }

    /// Whether the new segment for which [`Self::device_holds`] was false has PSH for its burst.
    pub(super) fn ends_burst(&self) -> bool {
        self.device.is_some_and(|device| device.queue.pushes())
    }

    /// The windows, the application or pacing allow no other segment.
    pub(super) fn on_nothing_to_send(&mut self) {
        if let Some(mut device) = self.device {
            self.pause(&mut device, self.is_window_full());
            self.device = Some(device);
        }
    }

    fn pause(&self, device: &mut Device, limited: bool) {
        device.queue.end_burst();
        device.used.on_pause(limited, self.recovery.una(), self.recovery.high());
    }

    /// Whether the congestion window has no room for another segment.
    fn is_window_full(&self) -> bool {
        self.recovery.in_flight() + u64::from(self.spec.mss_bytes) > self.controller.cwnd_bytes()
    }

    fn outlook(&self, budget: &Budget, tells: bool, now: Time) -> Outlook {
        let srtt = self.rto.srtt();
        let half = srtt.map_or(Span::ZERO, |srtt| Span::from_nanos(srtt.as_nanos() / 2));
        let end = &self.spec.sender;
        let rate = self.reckoned_rate();
        let slow = self.rates.is_some() && rate.is_some_and(|rate| rate.as_bps() < SLOW_BPS);
        Outlook {
            // TCP-AP spreads single segments.
            offload: end.segmentation_offload && !matches!(end.pacing, Pacing::TcpAp(_)),
            share: rate.zip(if tells { end.small_queue } else { Some(OWN_SHARE) }),
            paced: end.pacing != Pacing::Off || self.rates.is_some(),
            fewest: if slow { 1 } else { FEWEST_SEGMENTS },
            shortest: self.shortest,
            mss_bytes: self.spec.mss_bytes.into(),
            cwnd: budget.cwnd,
            room: budget.cwnd.saturating_sub(self.recovery.in_flight()),
            ready: budget.ready(
                self.recovery.una(),
                self.recovery.high(),
                self.spec.mss_bytes.into(),
            ),
            sent: self.recovery.high() - 1,
            recent: self.last_sent.is_some_and(|last| now - last <= RECENT),
            ack_is_near: self.round_trips.oldest().is_some_and(|sent| now - sent >= half),
            urgent: self.recovery.is_recovering() || self.recovery.is_probing(),
        }
    }

    /// The rate that Linux reckons with whether or not it paces (`tcp_update_pacing_rate`); `None` before the first
    /// round trip.
    fn reckoned_rate(&self) -> Option<DataRate> {
        let srtt = self.rto.srtt()?;
        let own = self.controller.own_pacing_rate();
        own.or_else(|| {
            let cwnd = self.controller.cwnd_bytes();
            let opening = cwnd < self.controller.ssthresh_bytes() / 2;
            let gain = if opening { Pacing::LINUX_GAINS.0 } else { Pacing::LINUX_GAINS.1 };
            let used = cwnd.max(self.recovery.high() - self.recovery.una());
            DataRate::from_bps((gain * used as f64 * 8.0 / srtt.as_secs_f64().max(1e-9)) as u64)
        })
    }

    /// Whether the window is used, so that it may grow, with `flight` bytes outstanding. A window of which less than half
    /// is used carries no information about the path (RFC 7661, section 4.2). Where the device may limit the sender the
    /// rule is Linux's.
    pub(super) fn is_used(&self, flight: u64) -> bool {
        let cwnd = self.controller.cwnd_bytes();
        match &self.device {
            Some(device) => {
                device.used.allows_growth(cwnd, cwnd < self.controller.ssthresh_bytes())
            }
            None => flight.saturating_mul(2) >= cwnd,
        }
    }
}
