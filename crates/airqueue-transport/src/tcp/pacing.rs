//! Segments spread over time.

use super::spec::SpecError;
use super::tcp_ap::{TcpAp, TcpApSpec};
use airqueue_core::{DataRate, Span, Time};

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
    /// As TCP-AP does, which does not back off its timeout either.
    TcpAp(TcpApSpec),
}

impl Pacing {
    pub(super) fn check(self) -> Result<(), SpecError> {
        match self {
            Pacing::Off => Ok(()),
            Pacing::TcpAp(spec) => spec.check(),
            Pacing::Window { slow_start, avoidance } => {
                let possible = |gain: f64| gain.is_finite() && gain > 0.0;
                let bad = [slow_start, avoidance].into_iter().find(|&gain| !possible(gain));
                bad.map_or(Ok(()), |gain| Err(SpecError::Pacing(gain)))
            }
        }
    }
}

/// Segments at the beginning that a controller's own pacing lets leave at once (`tcp_update_skb_after_send`).
const UNPACED: u32 = 10;

/// Says when the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    free: Time,
    /// A segment waits for that.
    waiting: bool,
    adaptive: Option<TcpAp>,
    /// [`Pacing::TcpAp`] after a retransmission: segments leave at once until the next acknowledgement.
    suspended: bool,
    /// Segments sent at the rate of a controller that paces by itself; `None`: the controller does not.
    own: Option<u32>,
}

impl Pacer {
    /// `own`: the controller paces by itself, and `pacing` does not count.
    pub(super) fn new(pacing: Pacing, mss_bytes: u32, own: bool) -> Pacer {
        let adaptive = match pacing {
            Pacing::TcpAp(spec) if !own => Some(TcpAp::new(spec, mss_bytes)),
            Pacing::Off | Pacing::Window { .. } | Pacing::TcpAp(_) => None,
        };
        let free = Time::from_nanos(i64::MIN);
        Pacer { free, waiting: false, adaptive, suspended: false, own: own.then_some(0) }
    }

    /// When the next segment may leave.
    pub(super) fn next_departure(&self, now: Time) -> Time {
        self.free.max(now)
    }

    /// Whether a timeout doubles when it has run out.
    pub(super) fn backs_off(&self) -> bool {
        self.adaptive.is_none()
    }

    /// An acknowledgement has come.
    pub(super) fn on_ack(&mut self) {
        self.suspended = false;
    }

    /// A round trip took `rtt`.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.on_sample(rtt);
        }
    }

    /// The path has changed, for adaptive pacing.
    pub(super) fn set_path(&mut self, path: TcpApSpec, mss_bytes: u32) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.set_path(path, mss_bytes);
        }
    }

    /// Whether a segment that is ready has to wait.
    pub(super) fn holds(&mut self, now: Time) -> bool {
        self.waiting = now < self.free;
        self.waiting
    }

    /// `bytes` leave now; `rate` is that of the moment, if pacing is by rate.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u32, rate: Option<DataRate>) {
        let adaptive = self.adaptive.filter(|_| !self.suspended).map(|ap| ap.interval());
        if let Some(interval) = adaptive.or(rate.map(|rate| rate.time_for(bytes))) {
            self.free = self.free.max(now).saturating_add(interval);
        }
    }

    /// `bytes` of data leave now at the controller's own `rate`. A segment that leaves later than it might have shortens
    /// the wait of the next one, by half at most.
    pub(super) fn on_sent_at(&mut self, now: Time, bytes: u32, rate: DataRate) {
        let late = now.as_nanos().saturating_sub(self.free.as_nanos()).max(0);
        self.free = self.free.max(now);
        let sent = self.own.unwrap_or(0).saturating_add(1);
        self.own = Some(sent);
        if sent >= UNPACED {
            let wait = rate.time_for(bytes).as_nanos();
            self.free = self.free.saturating_add(Span::from_nanos(wait - late.min(wait / 2)));
        }
    }

    /// Something was lost: nothing waits any longer, unless the controller has set the pace.
    pub(super) fn on_loss(&mut self, now: Time) {
        if self.own.is_some() {
            return;
        }
        self.free = self.free.min(now);
        self.waiting = false;
        self.suspended = self.adaptive.is_some();
    }

    pub(super) fn next_timer(&self) -> Time {
        if self.waiting { self.free } else { Time::MAX }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        self.waiting &= now < self.free;
    }
}
