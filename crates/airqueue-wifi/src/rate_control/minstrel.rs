//! Rate control by measured throughput: Minstrel-HT as in Linux (`net/mac80211/rc80211_minstrel_ht.c`, Felix Fietkau),
//! after Minstrel by Derek Smithies.

use super::cost::{Cost, Waits};
use super::got_through;
use super::registry::{Beginning, Kind};
use crate::phy::{GuardInterval, ModulationClass, Phy, RateIndex, Width};
use airqueue_core::{RandomStream, Span, Time};

/// Interval between updates of the statistics (`update_interval` of the kernel).
const INTERVAL: Span = Span::from_millis(50);
/// Weight of earlier results relative to an interval with as many MPDUs (`EWMA_LEVEL`: 96 of 128).
const KEPT: f64 = 0.75;
/// Earlier results weigh at least `LEAST_WEIGHT` MPDUs, however old they are, and `DISPROVED_WEIGHT` MPDUs once new
/// results contradict them.
const LEAST_WEIGHT: f64 = 128.0;
const DISPROVED_WEIGHT: f64 = 4.0;
/// An interval contradicts earlier results if it deviates by `DEVIATIONS` standard deviations, or if a row of
/// successful samples has a probability below `SURPRISE`.
const DEVIATIONS: f64 = 4.0;
const SURPRISE: f64 = 0.02;
/// At most one PPDU in `SAMPLE_SHARE` is a sample, or in `FIRST_SAMPLE_SHARE` while some rates were never tried.
const SAMPLE_SHARE: u32 = 20;
const FIRST_SAMPLE_SHARE: u32 = 4;
/// The longest pause, in updates, of a rate whose samples are lost.
const LONGEST_PAUSE: u32 = 32;
/// If an interval has more MPDUs than this at the best rate and less than a quarter arrived, the update happens before
/// the interval ends (`minstrel_ht_tx_status`).
const SUDDEN: u32 = 30;
const POOR: f64 = 0.25;
/// From this probability on a rate is reliable enough for a frame that failed at other rates
/// (`minstrel_ht_set_best_prob_rate`).
const SURE: f64 = 0.75;
/// A rate with less than this share of the highest throughput gets no second try, and no preference for samples.
const WORTHWHILE: f64 = 0.75;

/// Minstrel-HT. For each rate it keeps a moving average of the share of MPDUs that arrive, and computes from this
/// share and the airtime the throughput of the rate. A frame is sent at the rate with the highest throughput; when the
/// tries at this rate are used up, at the next best rates; last at a reliable rate. Some first tries are samples of
/// other rates, but only of rates that could be better than the best.
///
/// Differences from the kernel:
///
/// * An average weighs MPDUs, not intervals, so that one sample between thousands of frames does not count as much as
///   these frames. The average covers at least 128 MPDUs, unless new results contradict it.
/// * Rates are ranked by the measured share plus one standard deviation.
/// * Rates whose samples are lost are sampled less and less often, and rates just behind the best more often.
/// * The cost of a rate includes the longer backoffs after lost frames, and shares are not capped at 90 %.
/// * A rate far behind the best is used for a frame's next tries only as the last resort.
#[derive(Clone, Debug)]
pub struct Minstrel {
    /// By group, and from slow to fast within a group.
    rates: Vec<Candidate>,
    waits: Waits,
    chain: Chain,
    /// MPDUs of a PPDU at the rates used last; the estimate for rates that were not used yet.
    mpdus: f64,
    next_update: Time,
    updates: u32,
    /// PPDUs since the last sample, and the number of PPDUs for one sample.
    since_sample: u32,
    sample_share: u32,
    /// The sample that has been chosen and not reported yet.
    sample: Option<usize>,
    /// Whether the next sample is preferably a rate just behind the best.
    samples_rival: bool,
    rng: RandomStream,
}

/// A rate and its statistics.
#[derive(Clone, Debug)]
struct Candidate {
    rate: RateIndex,
    group: Group,
    cost: Cost,
    /// PPDUs and MPDUs of the current interval.
    ppdus: u32,
    sent: u32,
    acknowledged: u32,
    /// Statistics of earlier intervals, with less weight the older they are.
    past: Past,
    /// The share of MPDUs that arrives, or an assumed share for a rate that was never tried.
    p: f64,
    /// Throughput if one standard deviation more arrives. Otherwise a rate that random losses have put behind would
    /// stay there, because it is no longer used; a rate that is overestimated is soon corrected.
    throughput: f64,
    /// Its throughput without losses would be the highest. Only such rates are sampled.
    may_be_best: bool,
    /// The update from which on the rate may be sampled, and the length of the pause after the next lost sample.
    rests_until: u32,
    pause: u32,
    /// Successful samples since the last lost sample.
    row: u32,
}

/// The results of transmissions at a rate.
#[derive(Clone, Copy, Debug)]
struct Past {
    ppdus: f64,
    mpdus: f64,
    arrived: f64,
}

/// Rates that differ only in modulation and coding (`minstrel_mcs_groups`): if one rate is successful, so are slower
/// rates of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    class: ModulationClass,
    shape: Option<(u8, Width, GuardInterval)>,
}

/// The rates of one frame's tries (`minstrel_ht_update_rates`): the three with the highest throughput, then a reliable
/// rate.
#[derive(Clone, Copy, Debug)]
struct Chain {
    best: [usize; 3],
    /// For each of these the number of the try at which the next rate takes over.
    until: [u32; 3],
    sure: usize,
}

impl Chain {
    #[inline]
    fn at(&self, attempt: u32) -> usize {
        let stage = self.until.iter().position(|&until| attempt < until);
        stage.map_or(self.sure, |stage| self.best[stage])
    }
}

impl Candidate {
    fn new(phy: &Phy, rate: RateIndex, mpdu_bytes: u32) -> Candidate {
        let shape = phy.mcs(rate).map(|mcs| (mcs.streams, mcs.width, mcs.guard));
        Candidate {
            rate,
            group: Group { class: phy.class(rate), shape },
            cost: Cost::new(phy, rate, mpdu_bytes),
            ppdus: 0,
            sent: 0,
            acknowledged: 0,
            past: Past { ppdus: 0.0, mpdus: 0.0, arrived: 0.0 },
            p: 0.0,
            throughput: 0.0,
            may_be_best: true,
            rests_until: 0,
            pause: 1,
            row: 0,
        }
    }

    fn is_known(&self) -> bool {
        self.past.mpdus > 0.0 || self.sent > 0
    }

    /// Mean MPDUs of its PPDUs; `otherwise` if there was no PPDU.
    fn mpdus(&self, otherwise: f64) -> f64 {
        if self.past.ppdus > 0.0 { self.past.mpdus / self.past.ppdus } else { otherwise }
    }

    /// An interval ends. `slower_than`: the share that arrives at the best faster rate of the group.
    fn update(&mut self, slower_than: f64) {
        if self.is_known() {
            let disproved = self.past.contradicts(self.sent, self.acknowledged);
            let old = (KEPT * self.past.mpdus).max(LEAST_WEIGHT);
            self.past.fade(if disproved { DISPROVED_WEIGHT } else { old });
            self.past.ppdus += f64::from(self.ppdus);
            self.past.mpdus += f64::from(self.sent);
            self.past.arrived += f64::from(self.acknowledged);
            (self.ppdus, self.sent, self.acknowledged) = (0, 0, 0);
            self.p = self.past.arrived / self.past.mpdus;
        } else {
            self.p = slower_than;
        }
    }

    /// A sample of this rate has been reported.
    fn on_sample(&mut self, success: bool, updates: u32) {
        if success {
            (self.rests_until, self.pause) = (updates, 1);
            self.row += 1;
            if libm::pow(self.p, self.row.into()) < SURPRISE {
                self.past.fade(DISPROVED_WEIGHT);
            }
        } else {
            self.row = 0;
            self.rests_until = updates.saturating_add(self.pause);
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        }
    }
}

impl Past {
    /// Limits the weight of earlier results to so many MPDUs.
    fn fade(&mut self, mpdus: f64) {
        if self.mpdus > mpdus {
            let left = mpdus / self.mpdus;
            self.ppdus *= left;
            self.arrived *= left;
            self.mpdus = mpdus;
        }
    }

    /// Standard deviation of the share that arrived: the uncertainty of the estimate.
    fn deviation(&self) -> f64 {
        if self.mpdus == 0.0 {
            return 0.0;
        }
        let p = self.arrived / self.mpdus;
        (p * (1.0 - p) / self.mpdus).sqrt()
    }

    /// Whether the share of `sent` MPDUs that arrived deviates from the estimate by more than random variation. For
    /// this test both the loss and the success probability are at least a tenth.
    fn contradicts(&self, sent: u32, acknowledged: u32) -> bool {
        if self.mpdus == 0.0 {
            return false;
        }
        let (sent, p) = (f64::from(sent), self.arrived / self.mpdus);
        let difference = f64::from(acknowledged) - sent * p;
        let likely = p.clamp(0.1, 0.9);
        difference * difference > DEVIATIONS * DEVIATIONS * sent * likely * (1.0 - likely)
    }
}

impl Kind for Box<Minstrel> {
    const ABOUT: &'static str = "Minstrel-HT, as in Linux: counts the MPDUs that arrive at each rate, and uses the rate \
        with the highest throughput.";

    fn begin(with: Beginning<'_>) -> Box<Minstrel> {
        Box::new(Minstrel::new(with.phy, with.rates, with.mpdu_bytes, with.rng))
    }

    #[inline]
    fn choose(&mut self, attempt: u32) -> RateIndex {
        Minstrel::choose(self, attempt)
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
    /// Starts without statistics at the slowest of these rates. Frames are expected to have `mpdu_bytes` bytes with
    /// header and FCS; samples are drawn from `rng`.
    ///
    /// # Panics
    ///
    /// If `rates` is empty.
    pub fn new(phy: &Phy, rates: &[RateIndex], mpdu_bytes: u32, rng: RandomStream) -> Minstrel {
        assert!(!rates.is_empty(), "a station has a rate");
        let mut rates = rates.to_vec();
        // A layer's table is ordered by group.
        rates.sort_unstable();
        rates.dedup();
        let rates: Vec<_> =
            rates.into_iter().map(|rate| Candidate::new(phy, rate, mpdu_bytes)).collect();
        let mut minstrel = Minstrel {
            rates,
            waits: Waits::new(phy),
            chain: Chain { best: [0; 3], until: [0; 3], sure: 0 },
            mpdus: 1.0,
            next_update: Time::ZERO,
            updates: 0,
            since_sample: 0,
            sample_share: FIRST_SAMPLE_SHARE,
            sample: None,
            samples_rival: false,
            rng,
        };
        minstrel.rank();
        minstrel
    }

    /// The rate with the highest estimated throughput.
    pub fn rate(&self) -> RateIndex {
        self.rates[self.chain.best[0]].rate
    }

    /// See [`super::RateControl::choose`].
    #[inline]
    fn choose(&mut self, attempt: u32) -> RateIndex {
        if attempt > 0 {
            return self.rates[self.chain.at(attempt)].rate;
        }
        if self.sample.is_none() && self.since_sample + 1 >= self.sample_share {
            self.sample = self.pick_sample();
        }
        let at = self.sample.unwrap_or(self.chain.best[0]);
        self.rates[at].rate
    }

    /// See [`super::RateControl::report`]. Rates outside the set of this rate control are ignored.
    fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
        let Ok(at) = self.rates.binary_search_by_key(&rate, |candidate| candidate.rate) else {
            return;
        };
        let candidate = &mut self.rates[at];
        candidate.ppdus += 1;
        candidate.sent += sent;
        candidate.acknowledged += acknowledged;
        self.since_sample = self.since_sample.saturating_add(1);
        if self.sample.take() == Some(at) {
            self.since_sample = 0;
            self.samples_rival = !self.samples_rival;
            candidate.on_sample(got_through(sent, acknowledged), self.updates);
        }
        let arrived = f64::from(candidate.acknowledged);
        let ended = candidate.sent > SUDDEN && arrived < POOR * f64::from(candidate.sent);
        if ended && at == self.chain.best[0] {
            candidate.past.fade(DISPROVED_WEIGHT);
            self.update(now);
        } else if now >= self.next_update {
            self.update(now);
        }
    }

    /// An interval ends: brings all averages up to date (`minstrel_ht_update_stats`).
    fn update(&mut self, now: Time) {
        self.next_update = now + INTERVAL;
        self.updates += 1;
        let (mut ppdus, mut mpdus) = (0, 0);
        let (mut group, mut faster) = (self.rates[0].group, 0.0f64);
        for candidate in self.rates.iter_mut().rev() {
            if candidate.group != group {
                (group, faster) = (candidate.group, 0.0);
            }
            ppdus += candidate.ppdus;
            mpdus += candidate.sent;
            candidate.update(faster);
            faster = faster.max(candidate.p);
        }
        if ppdus > 0 {
            self.mpdus = f64::from(mpdus) / f64::from(ppdus);
        }
        self.rank();
    }

    /// Orders the rates by their statistics.
    fn rank(&mut self) {
        let (waits, usual) = (self.waits, self.mpdus);
        for candidate in &mut self.rates {
            let mpdus = candidate.mpdus(usual);
            let p = (candidate.p + candidate.past.deviation()).min(1.0);
            candidate.throughput = waits.throughput(&candidate.cost, p, mpdus);
        }
        self.chain = self.chain(usual);
        let most = self.rates[self.chain.best[0]].throughput;
        let mut untried = false;
        for candidate in &mut self.rates {
            let mpdus = candidate.mpdus(usual);
            candidate.may_be_best = waits.throughput(&candidate.cost, 1.0, mpdus) > most;
            untried |= candidate.may_be_best && !candidate.is_known();
        }
        self.sample_share = if untried { FIRST_SAMPLE_SHARE } else { SAMPLE_SHARE };
    }

    /// The rates of a frame's tries by the present statistics. Rates far behind the best are not among the first.
    fn chain(&self, usual: f64) -> Chain {
        let first = self.fastest(|_, _| true).unwrap_or_else(|| self.slowest());
        let least = WORTHWHILE * self.rates[first].throughput;
        let next = |but: &[usize]| {
            let good = |at, rate: &Candidate| !but.contains(&at) && rate.throughput > least;
            self.fastest(good).unwrap_or(first)
        };
        let second = next(&[first]);
        let best = [first, second, next(&[first, second])];
        let mut until = [0; 3];
        let mut all = 0;
        for (until, at) in until.iter_mut().zip(best) {
            let rate = &self.rates[at];
            all += self.waits.tries(&rate.cost, rate.p, rate.mpdus(usual));
            *until = all;
        }
        let sure = self.fastest(|_, rate| rate.p >= SURE);
        Chain { best, until, sure: sure.unwrap_or_else(|| self.likeliest()) }
    }

    /// The rate with the highest throughput among those that satisfy a condition and at which any MPDU arrives.
    fn fastest(&self, condition: impl Fn(usize, &Candidate) -> bool) -> Option<usize> {
        let all = self.rates.iter().enumerate().filter(|(_, rate)| rate.throughput > 0.0);
        all.filter(|&(at, candidate)| condition(at, candidate))
            .max_by(|(_, a), (_, b)| a.throughput.total_cmp(&b.throughput))
            .map(|(at, _)| at)
    }

    /// The rate with the longest frames.
    fn slowest(&self) -> usize {
        let all = self.rates.iter().enumerate();
        let time = |candidate: &Candidate| candidate.cost.of(1.0);
        all.max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b))).map_or(0, |(at, _)| at)
    }

    /// The rate with the largest share of arrivals; the slowest rate if nothing arrives at any rate.
    fn likeliest(&self) -> usize {
        let all = self.rates.iter().enumerate();
        let arriving = all.filter(|(_, candidate)| candidate.p > 0.0);
        let likeliest = arriving.max_by(|(_, a), (_, b)| a.p.total_cmp(&b.p));
        likeliest.map_or_else(|| self.slowest(), |(at, _)| at)
    }

    /// A rate that is worth a sample. Every other sample is a rate just behind the best, if there is one: random
    /// losses may have put it behind.
    fn pick_sample(&mut self) -> Option<usize> {
        let least = WORTHWHILE * self.rates[self.chain.best[0]].throughput;
        let rival = |rate: &Candidate, _| rate.throughput > least;
        let rested = |rate: &Candidate, updates| rate.rests_until <= updates;
        if self.samples_rival {
            self.pick(rival).or_else(|| self.pick(rested))
        } else {
            self.pick(rested).or_else(|| self.pick(rival))
        }
    }

    /// A random rate, with equal probabilities, among those that may be better than the best and satisfy a condition.
    fn pick(&mut self, condition: impl Fn(&Candidate, u32) -> bool) -> Option<usize> {
        let mut picked = None;
        let mut count = 0;
        for (at, rate) in self.rates.iter().enumerate() {
            let other = at != self.chain.best[0] && rate.may_be_best;
            if other && condition(rate, self.updates) {
                count += 1;
                if self.rng.below(count) == 0 {
                    picked = Some(at);
                }
            }
        }
        picked
    }
}
