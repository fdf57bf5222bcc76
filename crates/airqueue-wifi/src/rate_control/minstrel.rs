//! Rates by what they deliver: Minstrel-HT as in Linux (`net/mac80211/rc80211_minstrel_ht.c`, Felix
//! Fietkau), after Minstrel by Derek Smithies.

use super::cost::{Cost, Waits};
use super::got_through;
use super::registry::{Beginning, Kind};
use crate::phy::{GuardInterval, ModulationClass, Phy, RateIndex, Width};
use airqueue_core::{RandomStream, Span, Time};

/// Statistics are brought up to date so often (`update_interval` of the kernel).
const INTERVAL: Span = Span::from_millis(50);
/// Weight of what was known before against an interval of as many MPDUs (`EWMA_LEVEL`: 96 of 128).
const KEPT: f64 = 0.75;
/// Knowledge counts for no less than so many MPDUs, however old it is, unless it proves wrong. Then it counts
/// for so many.
const LEAST_WEIGHT: f64 = 128.0;
const DISPROVED_WEIGHT: f64 = 4.0;
/// It proves wrong if an interval departs from it by so many standard deviations, or if it gives so many samples
/// that got through in a row a lower probability than this.
const DEVIATIONS: f64 = 4.0;
const SURPRISE: f64 = 0.02;
/// One PPDU of so many may be a sample, and one of so many while rates are left that were never tried.
const SAMPLE_SHARE: u32 = 20;
const FIRST_SAMPLE_SHARE: u32 = 4;
/// The longest pause of a rate whose samples are lost, in updates.
const LONGEST_PAUSE: u32 = 32;
/// More MPDUs than this of an interval at the best rate, and no quarter arrived: its end is not waited for
/// (`minstrel_ht_tx_status`).
const SUDDEN: u32 = 30;
const POOR: f64 = 0.25;
/// From this probability on a rate is good enough for a frame that others have failed
/// (`minstrel_ht_set_best_prob_rate`).
const SURE: f64 = 0.75;
/// A rate that has less than this share of the highest throughput gets no second try, and no preference when
/// rates are sampled.
const WORTHWHILE: f64 = 0.75;

/// Minstrel-HT. For each rate it keeps the share of MPDUs that arrive, as a moving average, and from that and
/// the airtime the throughput that the rate would have. A frame is sent at the rate with the highest; when its
/// tries are used up, at the next best ones; then at one that is sure to arrive. Some first tries are samples
/// of other rates: of such alone as could be better than the best.
///
/// Where it departs from the kernel:
///
/// * An average weighs MPDUs and not intervals, so that one sample between thousands of frames does not count
///   as much as they do. It remembers at least 128 of them, unless they are contradicted.
/// * Rates are ranked with a standard deviation more than has arrived at them.
/// * Rates whose samples are lost are sampled less and less often, and those that are hardly behind the best
///   more often.
/// * A rate's cost has the longer backoffs after lost frames in it, and shares are not capped at 90 %.
/// * No rate far behind the best gets a frame's next tries, but as the last resort.
#[derive(Clone, Debug)]
pub struct Minstrel {
    /// By group, and from slow to fast in each.
    rates: Vec<Candidate>,
    waits: Waits,
    chain: Chain,
    /// MPDUs of a PPDU at the rates that were used last, for those that were not yet.
    mpdus: f64,
    next_update: Time,
    updates: u32,
    /// PPDUs since the last sample, and in how many there may be one.
    since_sample: u32,
    sample_share: u32,
    /// The sample that has been chosen and not been reported yet.
    sample: Option<usize>,
    /// Which kind comes next.
    samples_rival: bool,
    rng: RandomStream,
}

/// A rate and what is known of it.
#[derive(Clone, Debug)]
struct Candidate {
    rate: RateIndex,
    group: Group,
    cost: Cost,
    /// PPDUs and MPDUs of this interval.
    ppdus: u32,
    sent: u32,
    acknowledged: u32,
    /// Of those before, the older the less.
    past: Past,
    /// The share that arrives, or what is assumed of a rate that was never tried.
    p: f64,
    /// With the benefit of the doubt: a standard deviation more arrives. A rate that chance has put behind would
    /// else stay there, as it is used no more; one that is put ahead is soon known better.
    throughput: f64,
    /// Its throughput would be the highest if nothing were lost at it. Only such rates are sampled.
    may_be_best: bool,
    /// The update from which on it may be sampled, and how long it rests after the next lost sample.
    rests_until: u32,
    pause: u32,
    /// Samples that got through since one did not.
    row: u32,
}

/// What became of the transmissions at a rate.
#[derive(Clone, Copy, Debug)]
struct Past {
    ppdus: f64,
    mpdus: f64,
    arrived: f64,
}

/// Rates that differ in their modulation and coding alone (`minstrel_mcs_groups`): if one gets through, slower
/// ones of its group do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    class: ModulationClass,
    shape: Option<(u8, Width, GuardInterval)>,
}

/// The rates of one frame's tries (`minstrel_ht_update_rates`): the three with the highest throughput, then one
/// that is sure to arrive.
#[derive(Clone, Copy, Debug)]
struct Chain {
    best: [usize; 3],
    /// The try from which on each of them hands over.
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

    /// MPDUs of its PPDUs; `otherwise`: if there was none.
    fn mpdus(&self, otherwise: f64) -> f64 {
        if self.past.ppdus > 0.0 { self.past.mpdus / self.past.ppdus } else { otherwise }
    }

    /// An interval ends. `slower_than`: the share that arrives at the best faster rate of its group.
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

    /// A sample of it has been reported.
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
    /// It counts for at most so many MPDUs from now on.
    fn fade(&mut self, mpdus: f64) {
        if self.mpdus > mpdus {
            let left = mpdus / self.mpdus;
            self.ppdus *= left;
            self.arrived *= left;
            self.mpdus = mpdus;
        }
    }

    /// Standard deviation of the share that arrived: how far it may be from the truth.
    fn deviation(&self) -> f64 {
        if self.mpdus == 0.0 {
            return 0.0;
        }
        let p = self.arrived / self.mpdus;
        (p * (1.0 - p) / self.mpdus).sqrt()
    }

    /// Whether what arrived of so many MPDUs departs from it by more than chance. Of MPDUs no less than a tenth is
    /// taken to be lost, and to arrive.
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
    const ABOUT: &'static str = "Minstrel-HT, as in Linux: it counts what gets through at each rate, and takes the one with the \
                                 highest throughput.";

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
    /// Knows nothing yet and begins with the slowest of these rates. Frames are expected to have
    /// `mpdu_bytes` bytes with header and FCS; samples are drawn from `rng`.
    ///
    /// # Panics
    ///
    /// If there are no rates.
    pub fn new(phy: &Phy, rates: &[RateIndex], mpdu_bytes: u32, rng: RandomStream) -> Minstrel {
        assert!(!rates.is_empty(), "a station has a rate");
        let mut rates = rates.to_vec();
        // A layer's table has group after group.
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

    /// The rate that has the highest throughput as far as is known.
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

    /// See [`super::RateControl::report`]. Rates that are none of its own are ignored.
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

    /// Orders the rates by what is known of them.
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

    /// The rates of a frame's tries, as things are now. None that is far behind is among
    /// the first.
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

    /// Of the rates at which anything arrives and for which a condition holds, the one with the highest
    /// throughput.
    fn fastest(&self, condition: impl Fn(usize, &Candidate) -> bool) -> Option<usize> {
        let all = self.rates.iter().enumerate().filter(|(_, rate)| rate.throughput > 0.0);
        all.filter(|&(at, candidate)| condition(at, candidate))
            .max_by(|(_, a), (_, b)| a.throughput.total_cmp(&b.throughput))
            .map(|(at, _)| at)
    }

    /// The rate whose frames last longest.
    fn slowest(&self) -> usize {
        let all = self.rates.iter().enumerate();
        let time = |candidate: &Candidate| candidate.cost.of(1.0);
        all.max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b))).map_or(0, |(at, _)| at)
    }

    /// The rate at which most arrives; if nothing does at any, the slowest.
    fn likeliest(&self) -> usize {
        let all = self.rates.iter().enumerate();
        let arriving = all.filter(|(_, candidate)| candidate.p > 0.0);
        let likeliest = arriving.max_by(|(_, a), (_, b)| a.p.total_cmp(&b.p));
        likeliest.map_or_else(|| self.slowest(), |(at, _)| at)
    }

    /// A rate that is worth a sample. Every other time it is one that is hardly behind the best, if there is one:
    /// chance may have put it behind.
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

    /// One of the rates that may be better than the best and for which a condition holds, any with the same
    /// probability.
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
