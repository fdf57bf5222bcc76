//! By how much acknowledged data exceeds the bandwidth in bursts: `bbr_update_ack_aggregation` of Linux. Wi-Fi
//! aggregates frames and acknowledgements, and a window of twice the bandwidth-delay product would be used up between
//! two bursts.

use super::super::rates::bytes_in;
use airqueue_core::Time;

/// Rounds after which the older of the two maxima is dropped.
const WINDOW_ROUNDS: u32 = 5;
/// Segments after which a new epoch begins.
const MOST_SEGMENTS: u64 = 1 << 20;

/// The largest excess in the last five to ten rounds, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    mss: u64,
    /// Beginning of the epoch: since then acknowledgements have been ahead of the bandwidth.
    began: Time,
    /// Bytes delivered in the epoch.
    delivered: u64,
    /// The largest excess in the current rounds, and in the rounds before.
    largest: [u64; 2],
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new(mss: u64) -> Aggregation {
        Aggregation { mss, began: Time::ZERO, delivered: 0, largest: [0; 2], rounds: 0 }
    }

    pub(super) fn segments(&self) -> u64 {
        self.largest[0].max(self.largest[1])
    }

    /// Begins a new epoch.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
        self.delivered = 0;
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.largest = [0, self.largest[0]];
        }
    }

    /// `bytes` were delivered at `now`, over a path of `bandwidth` bytes per second; the excess is limited to the
    /// window of `cwnd` segments.
    pub(super) fn on_delivered(&mut self, bytes: u64, now: Time, bandwidth: u64, cwnd: u64) {
        let mut expected = bytes_in(bandwidth, now - self.began) / self.mss;
        let many = (self.delivered + bytes) / self.mss >= MOST_SEGMENTS;
        if self.delivered <= expected * self.mss || many {
            self.begin(now);
            expected = 0;
        }
        self.delivered += bytes;
        let excess = self.delivered.div_ceil(self.mss) - expected;
        self.largest[0] = self.largest[0].max(excess.min(cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Span;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// 100 segments per second in bursts of ten each 100 ms: the excess is ten. In regular single deliveries the
    /// excess is one.
    #[test]
    fn the_excess_is_a_batch() {
        for (batch, every) in [(1, 10), (10, 100)] {
            let mut of = Aggregation::new(1000);
            for step in 1..50 {
                of.on_delivered(batch * 1000, at(step * every), 100_000, 100);
            }
            assert_eq!(of.segments(), batch);
        }
    }

    /// Five segments at 0 and five at 10 ms, where one is expected: an excess of nine. The excess is forgotten between
    /// five and ten rounds later.
    #[test]
    fn it_is_kept_for_some_rounds() {
        let mut of = Aggregation::new(1000);
        of.on_delivered(5000, at(0), 100_000, 100);
        of.on_delivered(5000, at(10), 100_000, 100);
        assert_eq!(of.segments(), 9);
        for round in 1..=10 {
            of.on_round();
            of.on_delivered(1000, at(10_000 + 10 * round), 100_000, 100);
            assert_eq!(of.segments(), if round < 10 { 9 } else { 1 }, "round {round}");
        }
    }

    /// The excess is limited to the window of three segments.
    #[test]
    fn it_is_no_larger_than_the_window() {
        let mut of = Aggregation::new(1000);
        of.on_delivered(8000, at(0), 100_000, 3);
        assert_eq!(of.segments(), 3);
    }
}
