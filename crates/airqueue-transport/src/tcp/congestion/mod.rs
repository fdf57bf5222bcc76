//! Congestion control: the size of the congestion window. A controller is one file or folder, and one line of
//! `registry`.

mod bbr;
mod cubic;
mod newreno;
mod rates;
mod registry;

use airqueue_core::{DataRate, Span, Time};
use std::fmt::Debug;

pub use bbr::Bbr;
pub use cubic::{Cubic, CubicBehaviour, LinuxCubic};
pub use newreno::NewReno;
pub use rates::{AckReport, Event, LossState, RateSample, SenderState};
pub(super) use registry::Beginning;
pub use registry::{CongestionName, Requirements, Unmet};

/// How acknowledgements open the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Each acknowledgement counts alike, however many bytes it acknowledges, as in ns-2: a segment in slow start, and
    /// a segment's share of the window in congestion avoidance (RFC 5681, equations 2 and 3).
    PerAck,
    /// By the bytes acknowledged (RFC 3465).
    Bytes {
        /// Segments that one acknowledgement counts for at most in slow start: 1 in RFC 5681, up to 2 in RFC 3465,
        /// unlimited in Linux.
        segments_per_ack: u32,
    },
}

/// An acknowledgement of new data, as reported to a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// Bytes acknowledged.
    pub bytes: u64,
    /// When the acknowledgement arrived.
    pub now: Time,
    /// The smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// The round-trip time of the latest segment acknowledged, if the segment was sent once and the sender records the
    /// times of segments.
    pub rtt: Option<Span>,
    /// The first unacknowledged octet.
    pub una: u64,
    /// The octet after the highest octet ever sent.
    pub high: u64,
}

/// Controls a congestion window. The sender reports acknowledgements outside of fast recovery, and only while the
/// window limits the sender.
pub trait Controller: Debug + Send + Sync {
    /// New data were acknowledged. [`Controller::on_round_trip`] comes before.
    fn on_ack(&mut self, ack: &Acked);
    /// New data were acknowledged, whether or not the window limits the sender.
    fn on_round_trip(&mut self, _ack: &Acked) {}
    /// New data were acknowledged of a window that does not limit the sender: instead of [`Controller::on_ack`].
    fn on_unused(&mut self, _now: Time) {}
    /// Data are sent for the first time in `pause`, and nothing is outstanding.
    fn on_restart(&mut self, _now: Time, _pause: Span) {}
    /// Congestion was detected, by a loss or by ECN, with this much outstanding.
    fn on_congestion(&mut self, flight_bytes: u64);
    /// The retransmission timer expired with this much outstanding; `again`: the timer had expired before for this
    /// segment.
    fn on_timeout(&mut self, flight_bytes: u64, again: bool);
    /// Limits the window to `bytes` now: after a pause, or at the end of fast recovery.
    fn cap(&mut self, bytes: u64);
    /// The congestion window.
    fn cwnd_bytes(&self) -> u64;
    /// The slow start threshold; `u64::MAX` before it is first set.
    fn ssthresh_bytes(&self) -> u64;

    /// Whether the controller uses delivery rates. The sender then takes samples of delivery rates, calls
    /// [`Controller::on_event`], and leaves the window in fast recovery and after a pause to the controller.
    fn steers_by_rate(&self) -> bool {
        false
    }

    /// Reports an event of the connection to a controller that uses delivery rates. [`Controller::on_congestion`] and
    /// [`Controller::on_ack`], where they apply, are called before [`Event::Acknowledged`], and
    /// [`Controller::on_timeout`] before [`Event::TimedOut`].
    fn on_event(&mut self, _event: &Event, _sender: &SenderState) {}

    /// Whether the controller itself now keeps the connection from filling its path, so that delivery rates
    /// underestimate the capacity of the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// The rate, of data without headers, at which the controller paces on its own.
    fn own_pacing_rate(&self) -> Option<DataRate> {
        None
    }

    /// The pacing rate: `slow_start` or `avoidance` windows per round trip.
    fn pacing_rate(&self, srtt: Span, slow_start: f64, avoidance: f64) -> DataRate {
        let gain = if self.cwnd_bytes() < self.ssthresh_bytes() { slow_start } else { avoidance };
        let seconds = srtt.as_secs_f64().max(1e-9);
        let bps = self.cwnd_bytes() as f64 * 8.0 * gain / seconds;
        DataRate::from_bps(bps as u64).unwrap_or(ONE)
    }
}

const ONE: DataRate = DataRate::from_bps(1).expect("one is not zero");

/// The state that window-based controllers share: a window in bytes with its fraction, and slow start.
#[derive(Clone, Copy, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    growth: Growth,
}

impl Window {
    fn new(mss_bytes: u32, initial_bytes: u64, growth: Growth) -> Window {
        let mss = f64::from(mss_bytes);
        Window { cwnd: initial_bytes as f64, ssthresh: f64::INFINITY, mss, growth }
    }

    /// Slow start (RFC 5681, equation 2), if the window is below the threshold; returns the bytes left for congestion
    /// avoidance.
    fn slow_start(&mut self, bytes: u64) -> f64 {
        let bytes = bytes as f64;
        if self.cwnd >= self.ssthresh {
            return bytes;
        }
        match self.growth {
            Growth::PerAck => {
                self.cwnd += bytes.min(self.mss);
                0.0
            }
            Growth::Bytes { segments_per_ack } => {
                let step = bytes.min(f64::from(segments_per_ack) * self.mss);
                let taken = step.min(self.ssthresh - self.cwnd);
                self.cwnd += taken;
                step - taken
            }
        }
    }

    /// RFC 5681, equation 4, with `factor` of the outstanding bytes instead of a half. Equation 4 is an upper bound:
    /// in a long recovery many outstanding bytes wait at the receiver for a hole to be filled, and only the window
    /// shows the estimated capacity of the path.
    fn reduce_threshold(&mut self, flight_bytes: u64, factor: f64) {
        let path = self.cwnd.min(flight_bytes as f64);
        self.ssthresh = (path * factor).max(2.0 * self.mss);
    }

    fn cwnd_bytes(&self) -> u64 {
        self.cwnd as u64
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh as u64
    }
}

/// A controller with only this state, for tests.
#[cfg(test)]
fn acked(bytes: u64, now: Time) -> Acked {
    Acked { bytes, now, srtt: None, rtt: None, una: 1, high: 1 }
}
