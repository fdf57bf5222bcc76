//! Pacing: segments spread over time.

use super::spec::SpecError;
use super::tcp_ap::{TcpAp, TcpApSpec};
use airqueue_core::{DataRate, Span, Time};

/// Whether and how segments are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// Segments are sent as soon as the windows allow.
    Off,
    /// At a multiple of the congestion window per smoothed round-trip time, as in Linux with multiples of 2 and 1.2.
    Window {
        /// The multiple in slow start.
        slow_start: f64,
        /// The multiple otherwise.
        avoidance: f64,
    },
    /// TCP-AP, which also does not back off its timeout.
    TcpAp(TcpApSpec),
}

impl Pacing {
    /// The multiples of Linux, in slow start and otherwise.
    pub(super) const LINUX_GAINS: (f64, f64) = (2.0, 1.2);
    /// With the multiples of Linux.
    pub const LINUX: Pacing =
        Pacing::Window { slow_start: Self::LINUX_GAINS.0, avoidance: Self::LINUX_GAINS.1 };

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

/// Initial segments that a controller with its own pacing sends at once (`tcp_update_skb_after_send`).
const UNPACED: u32 = 10;

/// Decides when the next segment may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    free: Time,
    /// A segment waits for `free`.
    waiting: bool,
    adaptive: Option<TcpAp>,
    /// [`Pacing::TcpAp`] after a retransmission: segments are sent at once until the next acknowledgement.
    suspended: bool,
    /// Segments sent at the own rate of the controller; `None`: the controller has no own pacing.
    own: Option<u32>,
    /// How much later than allowed the present burst began, as far as no wait has been shortened for it, in nanoseconds.
    late: i64,
}

impl Pacer {
    /// `own`: the controller does its own pacing, and `pacing` is ignored.
    pub(super) fn new(pacing: Pacing, mss_bytes: u32, own: bool) -> Pacer {
        let adaptive = match pacing {
            Pacing::TcpAp(spec) if !own => Some(TcpAp::new(spec, mss_bytes)),
            Pacing::Off | Pacing::Window { .. } | Pacing::TcpAp(_) => None,
        };
        let free = Time::from_nanos(i64::MIN);
        Pacer { free, waiting: false, adaptive, suspended: false, own: own.then_some(0), late: 0 }
    }

    /// When the next segment may be sent.
    pub(super) fn next_departure(&self, now: Time) -> Time {
        self.free.max(now)
    }

    /// Whether the timeout doubles when the timer expires.
    pub(super) fn backs_off(&self) -> bool {
        self.adaptive.is_none()
    }

    /// An acknowledgement has arrived.
    pub(super) fn on_ack(&mut self) {
        self.suspended = false;
    }

    /// Takes a round-trip sample `rtt`.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.on_sample(rtt);
        }
    }

    /// The path has changed; only adaptive pacing uses this.
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

    /// `bytes` are sent now; `rate` is the current pacing rate, if pacing is by rate.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u32, rate: Option<DataRate>) {
        let adaptive = self.adaptive.filter(|_| !self.suspended).map(|ap| ap.interval());
        if let Some(interval) = adaptive.or(rate.map(|rate| rate.time_for(bytes))) {
            self.free = self.free.max(now).saturating_add(interval);
        }
    }

    /// `bytes` of data are sent now at the controller's own `rate`, in the same burst as those before if it `continues`. A
    /// burst that is sent later than pacing allowed shortens the wait of the next burst, by half at most.
    pub(super) fn on_sent_at(&mut self, now: Time, bytes: u32, rate: DataRate, continues: bool) {
        if !continues {
            self.late = now.as_nanos().saturating_sub(self.free.as_nanos()).max(0);
        }
        self.free = self.free.max(now);
        let sent = self.own.unwrap_or(0).saturating_add(1);
        self.own = Some(sent);
        if sent >= UNPACED {
            let wait = rate.time_for(bytes).as_nanos();
            let less = self.late.min(wait / 2);
            self.late -= less;
            self.free = self.free.saturating_add(Span::from_nanos(wait - less));
        }
    }

    /// A loss was detected: segments are no longer held back, unless the controller does its own pacing.
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
