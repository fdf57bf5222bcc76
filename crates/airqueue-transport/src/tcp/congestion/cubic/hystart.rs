//! HyStart: slow start ends when the path seems full, before a loss. S. Ha and I. Rhee, "Hybrid slow start for
//! high-bandwidth and long-distance networks", PFLDnet 2008, as in Linux's `tcp_cubic.c`.

use crate::tcp::congestion::Acked;
use airqueue_core::{Span, Time};

/// The smallest window, in segments, at which HyStart acts (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// The largest gap between acknowledgements of a train (`hystart_ack_delta_us`).
const TRAIN_GAP: Span = Span::from_millis(2);
/// Added to the shortest round-trip time for the processing of acknowledgements in the host (`hystart_ack_delay`, for
/// links up to 2 Gb/s).
const HOST_DELAY: Span = Span::from_millis(1);
/// Round-trip samples used in a round (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// An increase by an eighth of the shortest round-trip time, within these bounds (`HYSTART_DELAY_THRESH`), indicates a
/// queue.
const LEAST_QUEUE: Span = Span::from_millis(4);
const MOST_QUEUE: Span = Span::from_millis(16);

/// The state of HyStart during slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// The end of slow start has been found.
    found: bool,
    /// Whether segments are paced, which makes trains twice as long.
    paced: bool,
    shortest: Option<Span>,
    round: Option<Round>,
}

/// A round: one window of acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Time,
    /// The round ends with an acknowledgement beyond this octet.
    end: u64,
    /// When the last acknowledgement of the train arrived.
    last: Time,
    shortest: Span,
    samples: u32,
}

impl HyStart {
    pub(super) fn new(paced: bool) -> HyStart {
        HyStart { found: false, paced, shortest: None, round: None }
    }

    /// Starts again after a timeout.
    pub(super) fn restart(&mut self) {
        *self = HyStart::new(self.paced);
    }

    /// Takes a round-trip sample that is not lengthened by a recent loss.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        self.shortest = Some(self.shortest.map_or(rtt, |least| least.min(rtt)));
    }

    /// Whether slow start is to end, with a window of `cwnd` segments.
    pub(super) fn ends(&mut self, ack: &Acked, rtt: Span, cwnd: f64) -> bool {
        let Some(shortest) = self.shortest.filter(|_| !self.found && cwnd >= LOW_WINDOW) else {
            return false;
        };
        let mut round = self.round.filter(|round| ack.una <= round.end).unwrap_or(Round {
            began: ack.now,
            end: ack.high,
            last: ack.now,
            shortest: rtt,
            samples: 0,
        });
        self.found =
            round.train_is_long(ack.now, shortest, self.paced) || round.has_queue(rtt, shortest);
        self.round = Some(round);
        self.found
    }
}

impl Round {
    /// A train of acknowledgements that lasts half a round trip: the segments in transit fill the path.
    fn train_is_long(&mut self, now: Time, shortest: Span, paced: bool) -> bool {
        if now - self.last > TRAIN_GAP {
            return false;
        }
        self.last = now;
        let whole = shortest + HOST_DELAY;
        let enough = if paced { whole } else { Span::from_nanos(whole.as_nanos() / 2) };
        now - self.began > enough
    }

    /// The shortest round-trip time of the round indicates a queue.
    fn has_queue(&mut self, rtt: Span, shortest: Span) -> bool {
        self.shortest = self.shortest.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let eighth = Span::from_nanos(shortest.as_nanos() / 8);
        self.shortest > shortest + eighth.clamp(LEAST_QUEUE, MOST_QUEUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::acked;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A HyStart that has seen a path of 100 ms.
    fn known(paced: bool) -> HyStart {
        let mut hystart = HyStart::new(paced);
        hystart.on_sample(Span::from_millis(100));
        hystart
    }

    /// With acknowledgements `gap_ms` apart in one round: the number after which slow start ends.
    fn ends_after(mut hystart: HyStart, gap_ms: i64, rtt_ms: i64, cwnd: f64) -> Option<i64> {
        (0..200).find(|n| {
            let ack = Acked { high: 1_000_000, ..acked(1000, at(n * gap_ms)) };
            hystart.ends(&ack, Span::from_millis(rtt_ms), cwnd)
        })
    }

    /// An increase by an eighth of 100 ms, in nine acknowledgements.
    #[test]
    fn a_queue_ends_slow_start() {
        assert_eq!(ends_after(known(false), 3, 113, 16.0), Some(8));
        assert_eq!(ends_after(known(false), 3, 112, 16.0), None);
        assert_eq!(ends_after(known(false), 3, 113, 15.0), None);
        let mut short = HyStart::new(false);
        short.on_sample(Span::from_millis(10));
        assert_eq!(ends_after(short, 3, 14, 16.0), None); // 4 ms at least
        assert_eq!(ends_after(short, 3, 15, 16.0), Some(8));
    }

    /// Half of 100 ms plus 1 ms, or twice as long where the sender paces segments; with larger gaps there is no train.
    #[test]
    fn a_long_train_ends_slow_start() {
        assert_eq!(ends_after(known(false), 1, 100, 16.0), Some(51));
        assert_eq!(ends_after(known(true), 1, 100, 16.0), Some(102));
        assert_eq!(ends_after(known(false), 3, 100, 16.0), None);
    }

    /// A round ends with the window that was outstanding at its beginning: short rounds contain no train.
    #[test]
    fn rounds_are_windows() {
        let mut hystart = known(false);
        for n in 0..300 {
            let ack = Acked { una: n, high: n + 40, ..acked(1000, at(n as i64)) };
            assert!(!hystart.ends(&ack, Span::from_millis(100), 40.0));
        }
    }
}
