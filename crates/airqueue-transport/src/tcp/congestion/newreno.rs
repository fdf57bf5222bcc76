//! RFC 5681: the window grows by one segment per round trip, and is halved after a loss.

use super::registry::{Beginning, Kind};
use super::{Acked, Controller, Growth, Window};
use crate::tcp::spec::Halving;

/// Additive increase, multiplicative decrease.
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    window: Window,
    /// Bytes acknowledged that have not increased the window yet.
    counted: f64,
    halving: Halving,
}

impl NewReno {
    /// A controller with an initial window of `initial_bytes` and segments of `mss_bytes`.
    pub fn new(mss_bytes: u32, initial_bytes: u64, growth: Growth, halving: Halving) -> NewReno {
        NewReno { window: Window::new(mss_bytes, initial_bytes, growth), counted: 0.0, halving }
    }

    /// Sets the threshold to half of the estimated capacity of the path, and returns the new window.
    fn halve(&mut self, flight_bytes: u64) -> f64 {
        let Window { cwnd, mss, .. } = self.window;
        self.window.reduce_threshold(flight_bytes, 0.5);
        if self.halving == Halving::Outstanding {
            return self.window.ssthresh;
        }
        let half = cwnd.min(flight_bytes as f64) * 0.5;
        self.window.ssthresh = ((half / mss).floor() * mss).max(2.0 * mss);
        half
    }
}

impl Kind for NewReno {
    const ABOUT: &'static str = "RFC 5681 and RFC 6582.";

    fn begin(with: Beginning<'_>) -> Box<dyn Controller> {
        let Beginning { mss_bytes, initial_bytes, sender, .. } = with;
        Box::new(NewReno::new(mss_bytes, initial_bytes, sender.growth, sender.halving))
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, ack: &Acked) {
        let bytes = self.window.slow_start(ack.bytes);
        let Window { cwnd, mss, growth, .. } = self.window;
        if bytes == 0.0 {
            return;
        }
        match growth {
            Growth::PerAck => self.window.cwnd += mss * mss / cwnd, // equation 3
            // One segment for each whole window, as section 3.1 recommends.
            Growth::Bytes { .. } => {
                self.counted += bytes;
                if self.counted >= cwnd {
                    self.counted -= cwnd;
                    self.window.cwnd += mss;
                }
            }
        }
    }

    fn on_congestion(&mut self, flight_bytes: u64) {
        self.window.cwnd = self.halve(flight_bytes);
        self.counted = 0.0;
    }

    fn on_timeout(&mut self, flight_bytes: u64, again: bool) {
        // Section 3.1: the threshold stays if the same segment is lost again.
        if !again || self.halving == Halving::Window {
            self.halve(flight_bytes);
        }
        self.window.cwnd = self.window.mss;
        self.counted = 0.0;
    }

    fn cap(&mut self, bytes: u64) {
        self.window.cwnd = self.window.cwnd.min(bytes as f64);
    }

    fn cwnd_bytes(&self) -> u64 {
        self.window.cwnd_bytes()
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.window.ssthresh_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Time;

    const MSS: u64 = 1000;
    const RFC: Halving = Halving::Outstanding;

    fn acked(controller: &mut NewReno, bytes: u64) -> u64 {
        controller.on_ack(&super::super::acked(bytes, Time::ZERO));
        controller.cwnd_bytes()
    }

    fn bytes(segments_per_ack: u32) -> Growth {
        Growth::Bytes { segments_per_ack }
    }

    /// RFC 5681, equation 2: at most a segment for each acknowledgement; RFC 3465: two.
    #[test]
    fn slow_start_counts_segments_or_bytes() {
        for (growth, cwnd) in [(Growth::PerAck, 3000), (bytes(1), 3000), (bytes(2), 4000)] {
            let mut c = NewReno::new(MSS as u32, 2 * MSS, growth, RFC);
            assert_eq!(acked(&mut c, 2 * MSS), cwnd, "{growth:?}");
            assert_eq!(c.ssthresh_bytes(), u64::MAX);
        }
    }

    /// A whole window of acknowledgements adds one segment, whatever their number; counted per acknowledgement, half
    /// as many acknowledgements add half a segment (RFC 3465, section 1).
    #[test]
    fn avoidance_adds_a_segment_per_window() {
        for (growth, per_ack, gain) in [
            (bytes(1), 1, 1.0),
            (bytes(1), 2, 1.0),
            (Growth::PerAck, 1, 1.0),
            (Growth::PerAck, 2, 0.5),
        ] {
            let mut c = NewReno::new(MSS as u32, 200 * MSS, growth, RFC);
            c.on_congestion(200 * MSS);
            let before = c.cwnd_bytes();
            (0..100 / per_ack).for_each(|_| {
                acked(&mut c, per_ack * MSS);
            });
            let got = (c.cwnd_bytes() - before) as f64 / MSS as f64;
            // The window grows during the count: by less than 1 % of the gain.
            assert!(got <= gain && got > 0.99 * gain, "{growth:?} {per_ack}: {got}");
        }
    }

    /// Slow start ends at the threshold, and the rest of the acknowledgement counts for congestion avoidance.
    #[test]
    fn the_threshold_divides_an_acknowledgement() {
        let mut c = NewReno::new(MSS as u32, 20 * MSS, bytes(u32::MAX), RFC);
        c.on_timeout(20 * MSS, false);
        assert_eq!((c.cwnd_bytes(), c.ssthresh_bytes()), (MSS, 10 * MSS));
        assert_eq!(acked(&mut c, 18 * MSS), 10 * MSS);
        assert_eq!(acked(&mut c, MSS), 11 * MSS);
    }

    /// RFC 5681, equation 4 and section 3.1.
    #[test]
    fn losses_halve_what_is_outstanding() {
        let mut c = NewReno::new(MSS as u32, 10 * MSS, bytes(1), RFC);
        c.on_congestion(8 * MSS);
        assert_eq!((c.cwnd_bytes(), c.ssthresh_bytes()), (4 * MSS, 4 * MSS));
        c.on_congestion(3 * MSS);
        assert_eq!(c.ssthresh_bytes(), 2 * MSS);
        let mut c = NewReno::new(MSS as u32, 12 * MSS, bytes(1), RFC);
        c.on_timeout(30 * MSS, false);
        c.on_timeout(MSS, true);
        assert_eq!((c.cwnd_bytes(), c.ssthresh_bytes()), (MSS, 6 * MSS));
        c.cap(9 * MSS);
        assert_eq!(c.cwnd_bytes(), MSS);
    }
}
