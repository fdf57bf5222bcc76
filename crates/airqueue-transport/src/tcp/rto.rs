//! The retransmission timeout.

use airqueue_core::{Span, Time};

/// How a retransmission timeout is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoSpec {
    /// From samples of the round trip time.
    pub estimator: Estimator,
    /// The timeout before the first sample.
    pub initial: Span,
    /// Lower limit.
    pub shortest: Span,
    /// Upper limit, whatever the back-off.
    pub longest: Span,
    /// What timers of late segments and of probes run beyond their time (RFC 8985 has no such time).
    pub margin: Span,
}

/// The estimator that computes the timeout from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// RFC 6298, section 2, with a clock of this granularity G.
    Rfc6298 {
        /// G.
        granularity: Span,
    },
    /// ns-2's: round-trip times in whole ticks, the smoothed time in eighths and its deviation in quarters of a tick,
    /// in integers.
    Ticks {
        /// A tick; ns-2's default is 10 ms.
        tick: Span,
    },
}

impl RtoSpec {
    /// RFC 6298: 1 s at first and at least (2.1, 2.4), 60 s at most (2.5), a clock of 1 ms.
    pub const RFC_6298: RtoSpec = RtoSpec {
        estimator: Estimator::Rfc6298 { granularity: Span::from_millis(1) },
        initial: Span::from_secs(1),
        shortest: Span::from_secs(1),
        longest: Span::from_secs(60),
        margin: Span::ZERO,
    };

    /// Linux: 1 s at first, 120 s at most; four times the variation counts as 200 ms at least, which is the effect of
    /// the granularity in RFC 6298 (`tcp_rto_min` in `tcp_rtt_estimator`). Timers of late segments and of probes have two ticks
    /// more (`TCP_TIMEOUT_MIN`), of a kernel with 250 a second.
    pub const LINUX: RtoSpec = RtoSpec {
        estimator: Estimator::Rfc6298 { granularity: Span::from_millis(200) },
        initial: Span::from_secs(1),
        shortest: Span::from_millis(200),
        longest: Span::from_secs(120),
        margin: Span::from_millis(8),
    };

    /// ns-2: ticks of 10 ms, 3 s at first, 0.2 s at least, 60 s at most.
    pub const NS2: RtoSpec = RtoSpec {
        estimator: Estimator::Ticks { tick: Span::from_millis(10) },
        initial: Span::from_secs(3),
        shortest: Span::from_millis(200),
        longest: Span::from_secs(60),
        margin: Span::ZERO,
    };
}

/// The smoothed round-trip time after one more sample: RFC 6298, (2.2) and (2.3).
pub(super) fn smooth(srtt: Option<Span>, rtt: Span) -> Span {
    let Some(srtt) = srtt else { return rtt };
    Span::from_nanos(srtt.as_nanos() + (rtt.as_nanos() - srtt.as_nanos()) / 8)
}

/// The state of a retransmission timeout.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    spec: RtoSpec,
    /// The timeout from the samples, without limits and back-off.
    current: Span,
    /// RTTVAR in nanoseconds, or the corresponding value of [`Estimator::Ticks`].
    variation: i64,
    /// The smoothed round-trip time of [`Estimator::Ticks`]; 0: restarted by the next sample.
    smoothed: i64,
    /// Number of doublings by back-off.
    doublings: u32,
    srtt: Option<Span>,
}

/// ns-2's variation before the first sample, in quarters of a tick.
const TICKS_VARIATION: i64 = 12;
/// Beyond a factor of 8 ns-2 discards its smoothed round-trip time.
const TICKS_CLOBBER: u32 = 3;
/// More doublings would exceed any longest timeout: 2⁴⁰ ns are 18 minutes.
const MOST_DOUBLINGS: u32 = 40;

impl Rto {
    pub(super) fn new(spec: RtoSpec) -> Rto {
        let variation = match spec.estimator {
            Estimator::Rfc6298 { .. } => 0,
            Estimator::Ticks { .. } => TICKS_VARIATION,
        };
        Rto { spec, current: spec.initial, smoothed: 0, variation, doublings: 0, srtt: None }
    }

    /// The smoothed round-trip time by RFC 6298, (2.2) and (2.3), whatever the estimator; `None` before the first
    /// sample.
    pub(super) fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// The timeout from now on.
    pub(super) fn timeout(&self) -> Span {
        let RtoSpec { shortest, longest, estimator, .. } = self.spec;
        // (2.4), then (5.5)
        let scaled = self.current.max(shortest).as_nanos().saturating_mul(1 << self.doublings);
        let bounded = Span::from_nanos(scaled).min(longest);
        match estimator {
            Estimator::Rfc6298 { .. } => bounded,
            Estimator::Ticks { tick } => bounded.max(tick + tick),
        }
    }

    /// Takes a sample: a segment that was sent only once, at `sent`, has been acknowledged at `now` (Karn's condition,
    /// RFC 6298, section 3). Ends the back-off.
    pub(super) fn on_sample(&mut self, sent: Time, now: Time) {
        self.doublings = 0;
        let rtt = (now - sent).max(Span::ZERO);
        let before = self.srtt;
        let srtt = smooth(before, rtt);
        self.srtt = Some(srtt);
        match self.spec.estimator {
            Estimator::Rfc6298 { granularity } => {
                // (2.2) and (2.3)
                self.variation = before.map_or(rtt.as_nanos() / 2, |srtt| {
                    let error = (srtt.as_nanos() - rtt.as_nanos()).abs();
                    self.variation + (error - self.variation) / 4
                });
                let margin = (4 * self.variation).max(granularity.as_nanos());
                self.current = srtt + Span::from_nanos(margin);
            }
            Estimator::Ticks { tick } => {
                let ticks = |t: Time| t.as_nanos().div_euclid(tick.as_nanos());
                self.estimate_in_ticks((ticks(now) - ticks(sent)).max(1), tick);
            }
        }
    }

    /// ns-2's `rtt_update`, after Jacobson's code of 1988.
    fn estimate_in_ticks(&mut self, rtt: i64, tick: Span) {
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (rtt << 3, rtt << 1);
        } else {
            let error = rtt - (self.smoothed >> 3);
            self.smoothed = (self.smoothed + error).max(1);
            self.variation = (self.variation + error.abs() - (self.variation >> 2)).max(1);
        }
        // Four times the variation, which has two fraction bits while the sum has three.
        let ticks = ((self.variation << 3) + self.smoothed) >> 3;
        self.current = Span::from_nanos(ticks * tick.as_nanos());
    }

    /// The timer has expired: RFC 6298, (5.5).
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        if matches!(self.spec.estimator, Estimator::Ticks { .. }) && self.doublings > TICKS_CLOBBER
        {
            self.variation += self.smoothed >> 3;
            self.smoothed = 0;
        }
    }

    /// A SYN was lost: RFC 6298, (5.7): the timeout is 3 s at least when data transfer begins.
    pub(super) fn after_lost_syn(&mut self) {
        self.current = self.current.max(Span::from_secs(3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn rfc(shortest_ms: i64) -> Rto {
        Rto::new(RtoSpec { shortest: Span::from_millis(shortest_ms), ..RtoSpec::RFC_6298 })
    }

    /// RFC 6298, section 2, by hand: samples of 100 and 180 ms.
    #[test]
    fn two_samples_by_hand() {
        let mut rto = rfc(1);
        assert_eq!(rto.timeout(), Span::from_secs(1));
        rto.on_sample(at(0), at(100));
        // SRTT 100, RTTVAR 50
        assert_eq!(rto.timeout(), Span::from_millis(300));
        rto.on_sample(at(0), at(180));
        // RTTVAR = 3/4 50 + 1/4 80 = 57.5; SRTT = 110
        assert_eq!(rto.timeout(), Span::from_millis(110 + 230));
        assert_eq!(rto.srtt(), Some(Span::from_millis(110)));
    }

    /// A steady round trip: RTTVAR falls to nothing, and G remains (2.3).
    #[test]
    fn the_granularity_bounds_the_variation() {
        let mut rto = rfc(1);
        (0..200).for_each(|_| rto.on_sample(at(0), at(50)));
        assert_eq!(rto.timeout(), Span::from_millis(51));
        let mut bounded = rfc(1000);
        bounded.on_sample(at(0), at(50));
        assert_eq!(bounded.timeout(), Span::from_secs(1)); // (2.4)
    }

    /// A steady round trip of 50 ms: the variation vanishes, and 200 ms replace it.
    #[test]
    fn linux_waits_for_the_round_trip_and_200_ms() {
        let mut rto = Rto::new(RtoSpec::LINUX);
        (0..200).for_each(|_| rto.on_sample(at(0), at(50)));
        assert_eq!(rto.timeout(), Span::from_millis(250));
    }

    #[test]
    fn it_doubles_up_to_the_longest_and_a_sample_ends_that() {
        let mut rto = rfc(1000);
        let mut seen = vec![];
        for _ in 0..8 {
            seen.push(rto.timeout());
            rto.back_off();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60].map(Span::from_secs));
        (0..200).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout(), Span::from_secs(60));
        rto.on_sample(at(0), at(10));
        assert_eq!(rto.timeout(), Span::from_secs(1));
    }

    #[test]
    fn a_lost_syn_makes_the_first_timeout_three_seconds() {
        let mut rto = rfc(1000);
        rto.after_lost_syn();
        assert_eq!(rto.timeout(), Span::from_secs(3));
    }

    /// Ticks of 10 ms by hand: 103 to 226 ms are ticks 10 to 22, so 12 ticks; the timeout is
    /// (12·8 + (24 << 3)) >> 3 = 36 ticks. A second sample of 4 ticks: error -8, smoothed 88, variation
    /// 24 + 8 - 6 = 26, so (208 + 88) >> 3 = 37 ticks.
    #[test]
    fn ticks_count_boundaries_and_stay_integers() {
        let mut rto = Rto::new(RtoSpec::NS2);
        assert_eq!(rto.timeout(), Span::from_secs(3));
        rto.on_sample(at(103), at(226));
        assert_eq!(rto.timeout(), Span::from_millis(360));
        rto.on_sample(at(300), at(340));
        assert_eq!(rto.timeout(), Span::from_millis(370));
    }

    /// A round trip within one tick counts as one, and the timeout is 3 ticks: less than the shortest. From
    /// ns-2 itself: a link that goes down is tried again after 0.2, 0.4, 0.8 s and so on, up to 60 s.
    #[test]
    fn ticks_back_off_from_the_shortest() {
        let mut rto = Rto::new(RtoSpec::NS2);
        rto.on_sample(at(1), at(2));
        let mut seen = vec![];
        for _ in 0..10 {
            seen.push(rto.timeout());
            rto.back_off();
        }
        let ms = [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000];
        assert_eq!(seen, ms.map(Span::from_millis));
        // Far backed off, the next sample starts anew: one tick, variation half of it.
        rto.on_sample(at(0), at(100));
        assert_eq!(rto.timeout(), Span::from_millis(300));
    }
}
