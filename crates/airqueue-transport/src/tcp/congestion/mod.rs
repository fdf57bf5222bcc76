//! Congestion control: how large the congestion window is. A controller is one file or folder, and one line of `registry`.

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
    /// Each counts alike, however much it acknowledges, as in ns-2: a segment in slow start, and a
    /// segment's share of the window in congestion avoidance (RFC 5681, equations 2 and 3).
    PerAck,
    /// By the bytes acknowledged (RFC 3465).
    Bytes {
        /// How many segments one of them is worth at most in slow start: 1 in RFC 5681, up to 2 in
        /// RFC 3465, any number in Linux.
        segments_per_ack: u32,
    },
}

/// What an acknowledgement of new data says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// How much of it.
    pub bytes: u64,
    /// When it came.
    pub now: Time,
    /// The smoothed round trip time, once there is one.
    pub srtt: Option<Span>,
    /// The round trip of the latest segment acknowledged, if it was sent once and the sender keeps times
    /// of segments.
    pub rtt: Option<Span>,
    /// The first octet not acknowledged.
    pub una: u64,
    /// The octet after the highest ever sent.
    pub high: u64,
}

/// Governs a congestion window. The sender tells it of acknowledgements outside of fast recovery, and
/// only while the window is what holds the sender back.
pub trait Controller: Debug + Send + Sync {
    /// New data were acknowledged.
    fn on_ack(&mut self, ack: &Acked);
    /// Congestion was seen, by a loss or by ECN, with this much outstanding.
    fn on_congestion(&mut self, flight_bytes: u64);
    /// The retransmission timer ran out with this much outstanding; `again`: for a segment that it ran
    /// out for before.
    fn on_timeout(&mut self, flight_bytes: u64, again: bool);
    /// The window is to be no larger than this now: after a pause, or at the end of fast recovery.
    fn cap(&mut self, bytes: u64);
    /// The congestion window.
    fn cwnd_bytes(&self) -> u64;
    /// The slow start threshold; `u64::MAX` when there is none yet.
    fn ssthresh_bytes(&self) -> u64;

    /// Whether the controller steers by delivery rates. The sender then takes samples of them, calls
    /// [`Controller::on_event`], and leaves to the controller the window in fast recovery and after a pause.
    fn steers_by_rate(&self) -> bool {
        false
    }

    /// Something has happened to the connection of a controller that steers by delivery rates. Before
    /// [`Event::Acknowledged`] come [`Controller::on_congestion`] and [`Controller::on_ack`], where those apply, and
    /// before [`Event::TimedOut`] comes [`Controller::on_timeout`].
    fn on_event(&mut self, _event: &Event, _sender: &SenderState) {}

    /// Whether the controller now keeps the connection from filling its path, so that delivery rates say less than the
    /// path could carry.
    fn limits_itself(&self) -> bool {
        false
    }

    /// The rate, of data without headers, at which a controller paces by itself.
    fn own_pacing_rate(&self) -> Option<DataRate> {
        None
    }

    /// At what rate to send with pacing: `slow_start` or `avoidance` windows per round trip.
    fn pacing_rate(&self, srtt: Span, slow_start: f64, avoidance: f64) -> DataRate {
        let gain = if self.cwnd_bytes() < self.ssthresh_bytes() { slow_start } else { avoidance };
        let seconds = srtt.as_secs_f64().max(1e-9);
        let bps = self.cwnd_bytes() as f64 * 8.0 * gain / seconds;
        DataRate::from_bps(bps as u64).unwrap_or(ONE)
    }
}

const ONE: DataRate = DataRate::from_bps(1).expect("one is not zero");

/// What the algorithms have in common: a window in bytes with its fraction, and slow start.
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

    /// Slow start (RFC 5681, equation 2), if it is on; gives the bytes that congestion avoidance is to
    /// count.
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

    /// RFC 5681, equation 4, with `factor` of the bytes outstanding instead of a half. That is the most it
    /// allows: in a long recovery much of what is outstanding waits at the receiver for a hole to be
    /// filled, and only the window says how much the path was thought to hold.
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

/// That and nothing else, for tests.
#[cfg(test)]
fn acked(bytes: u64, now: Time) -> Acked {
    Acked { bytes, now, srtt: None, rtt: None, una: 1, high: 1 }
}
