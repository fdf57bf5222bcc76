//! TCP with adaptive pacing: S. ElRakabawy, A. Klemm, C. Lindemann, "TCP with adaptive pacing for multihop wireless
//! networks", MobiHoc 2005. A station sends segments no faster than earlier segments leave its interference range; the
//! sender estimates this time from round-trip times.

use super::spec::SpecError;
use airqueue_core::{DataRate, Span};

/// The sender's knowledge of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpApSpec {
    /// Hops to the receiver, h, at least 1.
    pub hops: u32,
    /// Rate of the links, b.
    pub rate: DataRate,
    /// Bytes added on a link to the data of a segment, and of an acknowledgement: the authors count 112.
    pub overhead_bytes: u32,
    /// The measure of the spread of delays.
    pub spread: Spread,
}

/// The measure of the spread of delays, relative to their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The coefficient of variation, as in the paper.
    Deviation,
    /// The mean absolute deviation, as in the authors' code for ns-2, to save a square root.
    MeanAbsolute,
}

/// Weight of the past in the smoothed queueing delay of a hop, γ, and in the smoothed delay, α.
const GAMMA: f64 = 0.5;
const ALPHA: f64 = 0.7;
/// Samples for the spread, N.
const SAMPLES: usize = 50;
/// Longer delays, in seconds, are not used as samples.
const LONGEST: f64 = 0.5;
/// Interval between segments before the first sample.
const FIRST: Span = Span::from_millis(50);
/// Number of hops within which stations interfere.
const INTERFERING_HOPS: u32 = 4;

impl TcpApSpec {
    pub(super) fn check(&self) -> Result<(), SpecError> {
        if self.hops == 0 { Err(SpecError::NoHops) } else { Ok(()) }
    }

    /// Time in seconds of a segment on a link, and of a segment and its acknowledgement.
    fn times(&self, mss_bytes: u32) -> (f64, f64) {
        let on_link = |bytes: u32| f64::from(bytes) * 8.0 / self.rate.as_bps() as f64;
        let data = on_link(mss_bytes + self.overhead_bytes);
        (data, data + on_link(self.overhead_bytes))
    }
}

/// The state of adaptive pacing; times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpAp {
    spec: TcpApSpec,
    /// Time of a segment on a link, and of a segment and its acknowledgement.
    data: f64,
    both: f64,
    queueing: f64,
    delay: Option<f64>,
    samples: [f64; SAMPLES],
    count: usize,
}

impl TcpAp {
    pub(super) fn new(spec: TcpApSpec, mss_bytes: u32) -> TcpAp {
        let (data, both) = spec.times(mss_bytes);
        let samples = [0.0; SAMPLES];
        TcpAp { spec, data, both, queueing: 0.0, delay: None, samples, count: 0 }
    }

    /// The path has changed. Measurements on the old path fade as new samples arrive.
    pub(super) fn set_path(&mut self, spec: TcpApSpec, mss_bytes: u32) {
        self.spec = spec;
        (self.data, self.both) = spec.times(mss_bytes);
    }

    /// Takes a round-trip sample `rtt`.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        let per_hop = rtt.as_secs_f64() / f64::from(self.spec.hops);
        let mut queueing = (per_hop - self.both) / 2.0;
        if queueing > LONGEST {
            queueing = self.queueing;
        }
        self.queueing = GAMMA * self.queueing + (1.0 - GAMMA) * queueing;
        // All stations of a shorter path interfere, and only one segment at a time is in transit.
        let hops = if self.spec.hops >= INTERFERING_HOPS { INTERFERING_HOPS } else { 1 };
        let delay = f64::from(hops) * (queueing + self.data);
        if delay > 0.0 && delay < LONGEST {
            let mixed = |old| ALPHA * old + (1.0 - ALPHA) * delay;
            self.delay = Some(self.delay.map_or(delay, mixed));
            self.samples[self.count % SAMPLES] = delay;
            self.count += 1;
        }
    }

    /// The interval between two segments: (1 + 2 cov) times the smoothed delay.
    pub(super) fn interval(&self) -> Span {
        let Some(delay) = self.delay else { return FIRST };
        Span::from_secs_f64((1.0 + 2.0 * self.spread()) * delay)
    }

    fn spread(&self) -> f64 {
        let samples = &self.samples[..self.count.min(SAMPLES)];
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let average = |f: fn(f64) -> f64| samples.iter().map(|x| f(x - mean)).sum::<f64>() / n;
        let deviation = match self.spec.spread {
            Spread::Deviation => average(|x| x * x).sqrt(),
            Spread::MeanAbsolute => average(f64::abs),
        };
        deviation / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacing(hops: u32, spread: Spread) -> TcpAp {
        let rate = DataRate::from_bps(11_000_000).unwrap();
        TcpAp::new(TcpApSpec { hops, rate, overhead_bytes: 112, spread }, 1460)
    }

    fn ms(span: Span) -> f64 {
        span.as_secs_f64() * 1e3
    }

    /// By hand: 1572 and 112 bytes at 11 Mb/s are 1.1433 and 0.0815 ms; 30 ms over four hops leave
    /// (7.5 - 1.2247) / 2 = 3.1376 ms of queueing, four hops of 4.2809 ms are 17.124 ms, 58.4 packets a
    /// second. 10.8 ms over four hops: 7.52 ms.
    #[test]
    fn four_hops_by_hand() {
        for (rtt_us, delay_ms) in [(30_000, 17.124), (10_800, 7.524)] {
            let mut ap = pacing(4, Spread::Deviation);
            assert_eq!(ap.interval(), Span::from_millis(50));
            (0..3).for_each(|_| ap.on_sample(Span::from_micros(rtt_us)));
            assert!((ms(ap.interval()) - delay_ms).abs() < 1e-3, "{}", ap.interval());
        }
    }

    /// Paths below four hops count one hop: 30 ms over two are (15 - 1.2247) / 2 + 1.1433 = 8.031 ms.
    #[test]
    fn a_short_path_counts_one_hop() {
        let mut ap = pacing(2, Spread::Deviation);
        ap.on_sample(Span::from_millis(30));
        assert!((ms(ap.interval()) - 8.031).abs() < 1e-3, "{}", ap.interval());
    }

    /// Two delays, x once and y three times: mean m, deviation √3/4 |x - y|, mean absolute deviation
    /// 3/8 |x - y|; the smoothed delay is the last one's with weight 1 - 0.7³.
    #[test]
    fn spread_slows_down() {
        let (x, y) = (17.124, 27.124); // 20 ms more: 5 per hop, half of it queueing, times four
        let mean = (x + 3.0 * y) / 4.0;
        let smoothed = 0.343 * x + 0.657 * y;
        for (spread, deviation) in
            [(Spread::Deviation, 3f64.sqrt() / 4.0), (Spread::MeanAbsolute, 3.0 / 8.0)]
        {
            let mut ap = pacing(4, spread);
            for rtt in [30, 50, 50, 50] {
                ap.on_sample(Span::from_millis(rtt));
            }
            let expected = (1.0 + 2.0 * deviation * (y - x) / mean) * smoothed;
            assert!((ms(ap.interval()) - expected).abs() < 2e-3, "{} {expected}", ap.interval());
        }
    }

    /// Round trips of seconds indicate a timeout, not the path.
    #[test]
    fn outliers_are_no_samples() {
        let mut ap = pacing(4, Spread::Deviation);
        ap.on_sample(Span::from_millis(30));
        let before = ap.interval();
        ap.on_sample(Span::from_millis(1500)); // 187 ms of queueing: a delay of 0.75 s
        assert_eq!(ap.interval(), before);
    }
}
