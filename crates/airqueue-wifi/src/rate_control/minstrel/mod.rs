//! Rate control by measured throughput: Minstrel-HT as in Linux 6.1 (`net/mac80211/rc80211_minstrel_ht.c`, Felix
//! Fietkau), after Minstrel by Derek Smithies. Names in comments such as `minstrel_ht_update_stats` are the kernel's.

mod airtime;
mod average;
mod candidates;
mod chain;
mod samples;

use super::registry::{Beginning, Kind};
use crate::phy::{Phy, RateIndex};
use airqueue_core::{RandomStream, Span, Time};
use airtime::Overhead;
use candidates::{Candidate, Group, in_groups};
use chain::Chain;
use samples::{InUse, Samples};

/// Interval between updates of the statistics (`update_interval`).
const INTERVAL: Span = Span::from_millis(50);
/// Weight of the earlier mean of MPDUs in a frame (`EWMA_LEVEL`: 96 of 128).
const KEPT: f64 = 0.75;
/// If an interval has more MPDUs than this at one of the two best rates and less than a quarter arrived, a slower group
/// takes over before the interval ends (`minstrel_ht_tx_status`).
const SUDDEN: u32 = 30;
/// A rate at which a larger share arrives is reliable (`minstrel_ht_set_best_prob_rate`).
const SURE: f64 = 0.75;

/// Minstrel-HT. For each rate it keeps a moving average, over intervals of 50 ms, of the share of MPDUs that arrive, and
/// computes from this share and the airtime the throughput of the rate. A frame is sent at the rate with the highest
/// throughput; when the tries at this rate are used up, at the next best rates; last at a reliable rate. Every 20 ms a
/// frame of one MPDU may be a sample of another rate.
///
/// Differences from the kernel:
///
/// * A frame is what an [attempt](super::RateControl::choose) of 0 begins. In the engine all data frames in a row without
///   a response are one frame, as in the kernel a frame has all tries of its chain.
/// * The time is that of the last report: a sample that becomes due while nothing is sent is the frame after the next.
/// * Times of empty frames and ACKs are those of the physical layer, and times are not rounded to a clock's ticks.
/// * Tries at other rates than the first have no RTS. Their number is what the kernel computes with RTS.
/// * Formats that the kernel's rate control does not know (802.11ax and later) are treated as those it knows.
#[derive(Clone, Debug)]
pub struct Minstrel {
    /// By group, and from slow to fast within a group.
    rates: Vec<Candidate>,
    groups: Vec<Group>,
    overhead: Overhead,
    /// The rates with the highest throughput, and a reliable rate.
    best: [usize; 4],
    sure: usize,
    chain: Chain,
    /// The try of the frame that is being sent, and the rate of its first try if this is a sample.
    attempt: u32,
    sample: Option<usize>,
    /// Whether the frame was sent before.
    retried: bool,
    samples: Samples,
    /// Average of MPDUs in a frame; frames of the current interval, and their MPDUs.
    mpdus: f64,
    frames: u32,
    frames_mpdus: u32,
    last_update: Time,
    last_report: Time,
}

impl Kind for Box<Minstrel> {
    const ABOUT: &'static str = "Minstrel-HT, as in Linux 6.1: counts the MPDUs that arrive at each rate, and uses the \
        rate with the highest throughput.";

    fn begin(with: Beginning<'_>) -> Box<Minstrel> {
        Box::new(Minstrel::new(with.phy, with.rates, with.rng))
    }

    #[inline]
    fn choose(&mut self, attempt: u32) -> RateIndex {
        Minstrel::choose(self, attempt)
    }

    #[inline]
    fn sends_one(&self) -> bool {
        self.sample.is_some()
    }

    #[inline]
    fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
        Minstrel::report(self, rate, sent, acknowledged, now);
    }

    fn rate(&self) -> RateIndex {
        Minstrel::rate(self)
    }
}

impl Minstrel {
    /// Starts without statistics at the slowest of these rates; the order of samples is drawn from `rng`.
    ///
    /// # Panics
    ///
    /// If `rates` is empty.
    pub fn new(phy: &Phy, rates: &[RateIndex], mut rng: RandomStream) -> Minstrel {
        assert!(!rates.is_empty(), "a station has a rate");
        let (rates, groups) = in_groups(phy, rates);
        let mut minstrel = Minstrel {
            overhead: Overhead::new(phy, rates[0].rate),
            samples: Samples::new(&groups, &mut rng),
            rates,
            groups,
            best: [0; 4],
            sure: 0,
            chain: Chain::default(),
            attempt: 0,
            sample: None,
            retried: false,
            mpdus: 1.0,
            frames: 0,
            frames_mpdus: 0,
            last_update: Time::ZERO,
            last_report: Time::ZERO,
        };
        minstrel.update(Time::ZERO);
        minstrel.begin_frame();
        minstrel
    }

    /// The rate with the highest estimated throughput.
    pub fn rate(&self) -> RateIndex {
        self.rates[self.best[0]].rate
    }

    /// See [`super::RateControl::choose`].
    #[inline]
    fn choose(&mut self, attempt: u32) -> RateIndex {
        if attempt == 0 && self.retried {
            // The last frame was given up before its tries were used up.
            self.end_frame();
        }
        let sample = self.sample.filter(|_| !self.retried);
        self.rates[sample.unwrap_or_else(|| self.chain.at(self.attempt))].rate
    }

    /// See [`super::RateControl::report`]. Rates outside the set of this rate control are ignored.
    fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
        let Ok(at) = self.rates.binary_search_by_key(&rate, |candidate| candidate.rate) else {
            return;
        };
        self.last_report = now;
        self.rates[at].sent += sent;
        self.rates[at].acknowledged += acknowledged;
        if !self.retried {
            self.frames += 1;
            self.frames_mpdus += sent;
        }
        let after_sample = self.sample.is_some() && !self.retried;
        self.attempt = if after_sample { self.chain.second() } else { self.attempt + 1 };
        self.retried = true;
        if acknowledged > 0 || self.chain.is_over(self.attempt) {
            self.end_frame();
        }
    }

    /// The outcome of a frame is known (`minstrel_ht_tx_status`), and the next one begins.
    fn end_frame(&mut self) {
        let failed = [0, 1].map(|place| self.leaves_group(place));
        let due = self.last_report - self.last_update > INTERVAL;
        if due {
            self.update(self.last_report);
        } else if failed != [false; 2] {
            self.chain = self.chain();
        }
        self.begin_frame();
    }

    fn begin_frame(&mut self) {
        (self.attempt, self.retried) = (0, false);
        self.sample = self.samples.take(self.last_report);
    }

    /// If hardly anything arrives at one of the two best rates, replaces this rate by one of a group without more
    /// streams (`minstrel_downgrade_rate`). True if so.
    fn leaves_group(&mut self, place: usize) -> bool {
        let &Candidate { sent, acknowledged, group, .. } = &self.rates[self.best[place]];
        if sent <= SUDDEN || acknowledged >= sent / 4 {
            return false;
        }
        let streams = self.groups[group].streams;
        let below = self.groups[..group].iter().rev().find(|below| below.streams <= streams);
        if let Some(below) = below {
            self.best[place] = below.best[place];
        }
        true
    }

    /// An interval ends: brings all averages up to date, and orders the rates (`minstrel_ht_update_stats`).
    fn update(&mut self, now: Time) {
        self.last_update = now;
        if self.frames > 0 {
            let mean = f64::from(self.frames_mpdus) / f64::from(self.frames);
            self.mpdus = KEPT * self.mpdus + (1.0 - KEPT) * mean;
            (self.frames, self.frames_mpdus) = (0, 0);
        }
        let mpdus = self.whole_mpdus();
        for group in &self.groups {
            let mut expected = 0.0;
            for candidate in self.rates[group.rates.clone()].iter_mut().rev() {
                expected = candidate.update(expected, &self.overhead, mpdus);
            }
        }
        self.rank();
        self.sure = self.reliable();
        self.chain = self.chain();
        let times = [self.best[0], self.best[1], self.sure].map(|at| self.rates[at].packet_ns);
        let used = InUse {
            best: times[0],
            fastest: times.into_iter().fold(f64::INFINITY, f64::min),
            slowest: times.into_iter().fold(0.0, f64::max),
        };
        self.samples.refill(&self.rates, &self.groups, used, now);
    }

    /// Finds the rates with the highest throughput, of all and of each group.
    fn rank(&mut self) {
        self.best = [0; 4];
        for group in &mut self.groups {
            let mut of_group = [group.rates.start; 2];
            for at in group.rates.clone().rev() {
                if self.rates[at].throughput > 0.0 {
                    insert(&mut self.best, at, &self.rates);
                    insert(&mut of_group, at, &self.rates);
                }
            }
            group.best = of_group;
        }
    }

    /// The rate of the last tries: if possible with fewer streams than the best rate, else any
    /// (`minstrel_ht_prob_rate_reduce_streams`).
    fn reliable(&self) -> usize {
        let mut sure = 0;
        let mut with_less = None;
        let mut most = 0.0;
        for group in &self.groups {
            let mut of_group = group.rates.start;
            for at in group.rates.clone().filter(|&at| self.may_be_sure(at)) {
                if self.is_surer(at, sure) {
                    sure = at;
                }
                if self.is_surer(at, of_group) {
                    of_group = at;
                }
            }
            let throughput = self.rates[of_group].throughput;
            let best = &self.groups[self.rates[self.best[0]].group];
            if group.streams < best.streams && throughput > most {
                (with_less, most) = (Some(of_group), throughput);
            }
        }
        with_less.unwrap_or(sure)
    }

    /// Rates that are faster than the best rate and lose more are not reliable.
    fn may_be_sure(&self, at: usize) -> bool {
        let (rate, best) = (&self.rates[at], &self.rates[self.best[0]]);
        rate.packet_ns >= best.packet_ns || rate.share() >= best.share()
    }

    /// Whether a rate is more reliable than another one: among reliable rates throughput decides
    /// (`minstrel_ht_set_best_prob_rate`).
    fn is_surer(&self, at: usize, than: usize) -> bool {
        let (rate, than) = (&self.rates[at], &self.rates[than]);
        if rate.share() > SURE {
            rate.throughput > than.throughput
        } else {
            rate.share() > than.share()
        }
    }

    /// The rates of a frame's tries by the present statistics.
    fn chain(&self) -> Chain {
        let rates = [self.best[0], self.best[1], self.best[2], self.sure];
        let mpdus = self.whole_mpdus();
        let tries = [0, 1, 2, 3].map(|stage| {
            let rate = &self.rates[rates[stage]];
            self.overhead.tries(rate.packet_ns, rate.share(), mpdus, stage > 0)
        });
        Chain::new(rates, tries)
    }

    /// The average number of MPDUs of a frame, as the kernel's estimates take it.
    fn whole_mpdus(&self) -> f64 {
        self.mpdus.floor()
    }
}

/// Inserts a rate into a list of the best rates, unless all of them precede it or are equal
/// (`minstrel_ht_sort_best_tp_rates`).
fn insert(best: &mut [usize], at: usize, rates: &[Candidate]) {
    let worse = best.iter().rev().take_while(|&&other| rates[at].precedes(&rates[other])).count();
    let place = best.len() - worse;
    if worse > 0 {
        best[place..].rotate_right(1);
        best[place] = at;
    }
}
