//! Traffic sources: when packets are generated, and their sizes.
//!
//! A source with a schedule reports the time of its next packet ([`Source::next_emission`]); the caller then calls
//! [`Source::on_emission`] at this time. A saturated source has no schedule: a packet is always available when its
//! queue asks for one. [`Files`], [`Browser`] and [`Player`] are the requests of TCP users.
//!
//! A kind of source, as named in scenarios, is one file and one line of `registry`.

mod cbr;
mod external;
mod frames;
mod jitter;
mod law;
mod page;
mod periodic;
mod ping;
mod poisson;
mod registry;
mod saturated;
mod tcp;
mod video;
mod voice;
mod web;

pub use frames::{FrameDistributionName, Frames, FramesTable, Part};
pub use jitter::{Jitter, JitterName};
pub use law::Law;
pub use page::{Browser, PageError, PageProgress, PageRequest, PageSpec, PageTable};
pub use periodic::OnOff;
pub use ping::{PingDistributionName, PingTable};
pub use registry::{Asked, Carried, Load, NOT_TCP, PACKET_BYTES, SourceName, SourceTables};
pub use video::{
    Ladder, Player, VideoChoiceName, VideoCounters, VideoError, VideoSpec, VideoTable,
};
pub use voice::{Call, CodecName, VoiceTable};
pub use web::{
    Files, FilesError, FilesSpec, SizeDistribution, SizeDistributionName, ThinkDistributionName,
    WebTable,
};

use airqueue_core::{DataRate, RandomStream, Span, Time};
use cbr::{Constant, Jittered};
use frames::Bursts;
use periodic::Periodic;
use poisson::Poisson;
use thiserror::Error;

/// The arrival process of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// A packet is always available.
    Saturated,
    /// At a constant IP bit rate, without drift.
    Constant(DataRate),
    /// At a constant IP bit rate, each packet late by a random time.
    Jittered {
        /// The rate.
        rate: DataRate,
        /// The delay of each packet.
        jitter: Jitter,
    },
    /// Poisson, at this mean IP bit rate.
    Poisson(DataRate),
    /// Poisson, at this mean interval.
    Random(Span),
    /// Bursts of packets, a picture each.
    Frames(Frames),
    /// Periodic, without drift, throughout or in talk spurts.
    Periodic {
        /// The period.
        every: Span,
        /// Talk spurts and silence; `None`: packets arrive throughout.
        on_off: Option<OnOff>,
    },
}

/// A source of packets of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SourceSpec {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// Length of each IP packet in bytes.
    pub size_bytes: u32,
    /// The first packet arrives no earlier.
    pub start: Time,
    /// No packet arrives at or after this time.
    pub stop: Time,
}

/// Why a source was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs)] // the messages say it
pub enum SourceError {
    #[error("packets of {0} bytes; an IP packet has 20 to 65535")]
    Size(u32),
    #[error("the source stops at {stop}, which is not after its start, {start}")]
    Times { start: Time, stop: Time },
    #[error("{0} with packets of {1} bytes is more than one packet a nanosecond")]
    TooFast(DataRate, u32),
    #[error("a packet every {0} is more than one a nanosecond")]
    TooOften(Span),
    #[error("a jitter of {0} in the mean")]
    Jitter(Span),
    #[error(
        "spurts of {talk} and pauses of {silence} in the mean; both must be longer than nothing"
    )]
    OnOff { talk: Span, silence: Span },
}

/// The state of a source: when the next packet is due.
#[derive(Clone, Debug)]
pub struct Source {
    spec: SourceSpec,
    pace: Pace,
    next: Option<Time>,
}

#[derive(Clone, Debug)]
enum Pace {
    None,
    Constant(Constant),
    Jittered(Box<Jittered>),
    Poisson(Poisson),
    Periodic(Periodic),
    Frames(Box<Bursts>),
}

/// The mean time between packets at a rate.
fn mean_gap(rate: DataRate, spec: &SourceSpec) -> Result<Span, SourceError> {
    match rate.time_for(spec.size_bytes) {
        mean if mean > Span::from_nanos(1) => Ok(mean),
        _ => Err(SourceError::TooFast(rate, spec.size_bytes)),
    }
}

impl SourceSpec {
    /// Whether a packet is always available.
    pub fn is_saturated(&self) -> bool {
        self.arrivals == Arrivals::Saturated
    }

    /// The interval between packets, if it is constant except for pauses.
    pub fn period(&self) -> Option<Span> {
        match self.arrivals {
            Arrivals::Constant(rate) | Arrivals::Jittered { rate, .. } => {
                Some(rate.time_for(self.size_bytes))
            }
            Arrivals::Periodic { every, .. } | Arrivals::Frames(Frames { every, .. }) => {
                Some(every)
            }
            Arrivals::Saturated | Arrivals::Poisson(_) | Arrivals::Random(_) => None,
        }
    }
}

impl Source {
    /// A source whose random numbers come from `rng`.
    pub fn new(spec: SourceSpec, rng: RandomStream) -> Result<Source, SourceError> {
        if !(20..=65_535).contains(&spec.size_bytes) {
            return Err(SourceError::Size(spec.size_bytes));
        }
        if spec.stop <= spec.start {
            return Err(SourceError::Times { start: spec.start, stop: spec.stop });
        }
        let start = spec.start;
        let (pace, next) = match spec.arrivals {
            Arrivals::Saturated => (Pace::None, None),
            Arrivals::Constant(rate) => (Pace::Constant(Constant::new(rate, &spec)?), Some(start)),
            Arrivals::Jittered { rate, jitter } => {
                let mut jittered = Jittered::new(rate, jitter, &spec, rng)?;
                let first = jittered.first();
                (Pace::Jittered(Box::new(jittered)), Some(first))
            }
            Arrivals::Poisson(rate) => {
                let mut poisson = Poisson::new(rate, &spec, rng)?;
                let first = poisson.after(start);
                (Pace::Poisson(poisson), Some(first))
            }
            Arrivals::Random(mean) => {
                let mut poisson = Poisson::at_mean(mean, rng)?;
                let first = poisson.after(start);
                (Pace::Poisson(poisson), Some(first))
            }
            Arrivals::Frames(frames) => {
                (Pace::Frames(Box::new(Bursts::new(frames, &spec, rng)?)), Some(start))
            }
            Arrivals::Periodic { every, on_off } => {
                (Pace::Periodic(Periodic::new(every, on_off, rng, start)?), Some(start))
            }
        };
        Ok(Source { spec, pace, next: next.filter(|&at| at < spec.stop) })
    }

    /// Length of its next IP packet in bytes.
    #[inline]
    pub fn size_bytes(&self) -> u32 {
        match &self.pace {
            Pace::Frames(bursts) => bursts.size_bytes(),
            _ => self.spec.size_bytes,
        }
    }

    /// The picture of its next packet, if its packets belong to pictures.
    #[inline]
    pub fn part(&self) -> Option<Part> {
        match &self.pace {
            Pace::Frames(bursts) => Some(bursts.part()),
            _ => None,
        }
    }

    /// Whether a packet is available whenever asked for at `now`.
    pub fn is_saturated(&self, now: Time) -> bool {
        self.spec.is_saturated() && (self.spec.start..self.spec.stop).contains(&now)
    }

    /// When a saturated source starts.
    pub fn start(&self) -> Time {
        self.spec.start
    }

    /// When the next packet arrives; `None`: no packet is scheduled.
    pub fn next_emission(&self) -> Option<Time> {
        self.next
    }

    /// Generates the packet that is due.
    pub fn on_emission(&mut self) {
        let Some(at) = self.next else { return };
        let next = match &mut self.pace {
            Pace::None => return,
            Pace::Constant(constant) => constant.after(at, self.spec.size_bytes),
            Pace::Jittered(jittered) => jittered.after(at, self.spec.size_bytes),
            Pace::Poisson(poisson) => poisson.after(at),
            Pace::Periodic(periodic) => periodic.after(at),
            Pace::Frames(bursts) => bursts.after(at),
        };
        self.next = Some(next).filter(|&next| next < self.spec.stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;
    use proptest::prelude::*;

    fn source(arrivals: Arrivals, start_ms: i64, stop_ms: i64) -> Result<Source, SourceError> {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let spec =
            SourceSpec { arrivals, size_bytes: 1000, start: at(start_ms), stop: at(stop_ms) };
        Source::new(spec, Seed(1).stream("source"))
    }

    fn times(mut source: Source) -> Vec<Time> {
        std::iter::from_fn(|| {
            let at = source.next_emission();
            source.on_emission();
            at
        })
        .collect()
    }

    fn rate(bps: u64) -> DataRate {
        DataRate::from_bps(bps).unwrap()
    }

    #[test]
    fn a_constant_rate_starts_at_the_start_and_stops_before_the_stop() {
        let at = times(source(Arrivals::Constant(rate(8_000_000)), 5, 9).unwrap());
        let ms: Vec<i64> = at.iter().map(|t| t.as_nanos() / 1_000_000).collect();
        assert_eq!(ms, [5, 6, 7, 8]);
    }

    /// A packet every millisecond, late by up to half of it: none overtakes, each is within its own bounds, and the delays
    /// have the law's mean and variance, to five standard errors of the mean and a tenth of the variance.
    #[test]
    fn jitter_has_its_law_and_no_drift() {
        let jitter = |us| Jitter { law: Law::Uniform, mean: Span::from_micros(us) };
        let arrivals = Arrivals::Jittered { rate: rate(8_000_000), jitter: jitter(250) };
        let at = times(source(arrivals, 5, 50_005).unwrap());
        let late = |(n, at): (usize, &Time)| at.as_nanos() - 5_000_000 - 1_000_000 * n as i64;
        let late: Vec<f64> = at.iter().enumerate().map(late).map(|ns| ns as f64 * 1e-3).collect();
        assert!(late.iter().all(|us| (0.0..500.0).contains(us)));
        let n = late.len() as f64;
        let mean = late.iter().sum::<f64>() / n;
        let variance = late.iter().map(|us| (us - mean) * (us - mean)).sum::<f64>() / n;
        let exact = 500.0 * 500.0 / 12.0;
        assert!((mean - 250.0).abs() < 5.0 * f64::sqrt(exact / n), "{mean}");
        assert!((variance / exact - 1.0).abs() < 0.1, "{variance}");
        // Late by more than the interval: the order stays.
        let arrivals = Arrivals::Jittered { rate: rate(8_000_000), jitter: jitter(5000) };
        let at = times(source(arrivals, 0, 50_000).unwrap());
        assert!(at.is_sorted() && at.len() > 49_950, "{}", at.len());
    }

    /// The number of arrivals in 100 s is Poisson with mean 100 000: five standard deviations.
    #[test]
    fn a_poisson_source_keeps_its_rate() {
        let n = times(source(Arrivals::Poisson(rate(8_000_000)), 0, 100_000).unwrap()).len() as f64;
        assert!((n - 1e5).abs() < 5.0 * 1e5f64.sqrt(), "{n}");
    }

    fn periodic(every_ms: i64, on_off: Option<(i64, i64)>) -> Arrivals {
        let ms = Span::from_millis;
        let on_off = on_off.map(|(talk, silence)| OnOff { talk: ms(talk), silence: ms(silence) });
        Arrivals::Periodic { every: ms(every_ms), on_off }
    }

    #[test]
    fn a_period_is_kept_to_the_nanosecond() {
        let at = times(source(periodic(30, None), 5, 1000).unwrap());
        let exact: Vec<Time> =
            (0..34).map(|n| Time::ZERO + Span::from_millis(5 + 30 * n)).collect();
        assert_eq!(at, exact);
    }

    /// A spurt of length L has a packet at its start and one after each period that fits: 1/(1 - exp(-T/talk)) in the mean.
    /// Per mean cycle, talk + silence, the number varies by about 0.85 of itself: five standard errors.
    #[test]
    fn spurts_and_pauses_have_their_means() {
        const SECONDS: f64 = 40_000.0;
        let arrivals = periodic(20, Some((1000, 1500)));
        let at = times(source(arrivals, 0, (SECONDS * 1e3) as i64).unwrap());
        let cycles = SECONDS / 2.5;
        let expected = cycles / (1.0 - f64::exp(-0.02));
        let error = (at.len() as f64 / expected - 1.0).abs();
        assert!(error < 5.0 * 0.85 / cycles.sqrt(), "{} for {expected}", at.len());
        // All gaps inside a spurt equal the period; every other gap is a pause.
        let pauses =
            at.windows(2).filter(|pair| pair[1] - pair[0] != Span::from_millis(20)).count();
        let error = (pauses as f64 / cycles - 1.0).abs();
        assert!(error < 5.0 / cycles.sqrt(), "{pauses} for {cycles}");
    }

    /// Pictures of 4000 bytes in packets of 1000: four at an instant, three pictures at their instants, 20 ms apart.
    #[test]
    fn a_picture_is_a_burst_of_packets() {
        let frames = |bytes, law| {
            let (every, deadline) = (Span::from_millis(20), Span::from_millis(100));
            Arrivals::Frames(Frames { every, bytes, law, deadline })
        };
        let mut four = source(frames(3700, Law::Constant), 5, 60).unwrap();
        let mut sent = Vec::new();
        while let Some(at) = four.next_emission() {
            let part = four.part().unwrap();
            sent.push((at.as_nanos() / 1_000_000, four.size_bytes(), part.frame, part.packets));
            four.on_emission();
        }
        let picture =
            |ms, frame| [1000, 1000, 1000, 700].map(|bytes| (ms, bytes, frame, 4)).to_vec();
        assert_eq!(sent, [picture(5, 0), picture(25, 1), picture(45, 2)].concat());
        // Sizes have the mean: of 50 000 pictures, to five standard errors of this law.
        let mut many = source(frames(20_000, Law::Lognormal(0.5)), 0, 1_000_000).unwrap();
        let mut bytes = 0.0;
        while many.next_emission().is_some() {
            bytes += f64::from(many.size_bytes());
            many.on_emission();
        }
        let error = f64::sqrt(Law::Lognormal(0.5).unit_variance() / 50_000.0);
        assert!((bytes / 50_000.0 / 20_000.0 - 1.0).abs() < 5.0 * error, "{bytes}");
    }

    #[test]
    fn a_saturated_source_has_no_schedule() {
        let s = source(Arrivals::Saturated, 1, 2).unwrap();
        assert_eq!(s.next_emission(), None);
        let at = |us| Time::ZERO + Span::from_micros(us);
        let asked = [999, 1000, 1999, 2000].map(|us| s.is_saturated(at(us)));
        assert_eq!(asked, [false, true, true, false]);
    }

    #[test]
    fn impossible_sources_are_refused() {
        assert!(matches!(source(Arrivals::Saturated, 2, 2), Err(SourceError::Times { .. })));
        let fast = Arrivals::Constant(rate(u64::MAX));
        assert!(matches!(source(fast, 0, 1), Err(SourceError::TooFast(..))));
        assert!(matches!(source(periodic(0, None), 0, 1), Err(SourceError::TooOften(_))));
        let silent = periodic(20, Some((0, 1000)));
        assert!(matches!(source(silent, 0, 1), Err(SourceError::OnOff { .. })));
    }

    proptest! {
        #[test]
        fn a_constant_rate_never_drifts(bps in 1_000u64..1_000_000_000) {
            let at = times(source(Arrivals::Constant(rate(bps)), 0, 50).unwrap());
            for (n, at) in at.iter().enumerate() {
                let exact = (n as u128 * 8_000 * 1_000_000_000 / u128::from(bps)) as i64;
                prop_assert_eq!(at.as_nanos(), exact);
            }
        }
    }
}
