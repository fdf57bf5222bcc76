//! A saturated station on a channel where each rate loses its own share of the MPDUs: throughput of a rate control, and
//! of each fixed rate.

use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::medium::FrameErrors;
use airqueue_wifi::phy::{GuardInterval, Phy, RateIndex};
use airqueue_wifi::rate_control::RateControl;
use std::collections::HashMap;

pub const MPDU_BYTES: u32 = 1536;
const MOST_TRIES: u32 = 7;

/// The share of MPDUs that arrive at each rate.
pub type Shares = HashMap<RateIndex, f64>;

pub struct Channel {
    pub phy: Phy,
    pub shares: Shares,
    /// Largest number of MPDUs of a PPDU.
    pub window: u32,
    pub now: Time,
    /// Number of frames of a single MPDU that try a rate, and of MPDUs that arrived.
    pub samples: u64,
    pub arrived: u64,
    /// MPDUs that arrived, and time, without these frames.
    plain: (u64, Span),
    rng: RandomStream,
}

impl Channel {
    pub fn new(phy: Phy, shares: Shares, window: u32, seed: u64) -> Channel {
        Channel {
            phy,
            shares,
            window,
            now: Time::ZERO,
            samples: 0,
            arrived: 0,
            plain: (0, Span::ZERO),
            rng: Seed(seed).stream("channel"),
        }
    }

    /// Sends frames under a rate control for a time, and returns the MPDUs per second.
    pub fn run(&mut self, control: &mut RateControl, time: Span) -> f64 {
        let (begun, before) = (self.now, self.arrived);
        let mut attempt = 0;
        while self.now - begun < time {
            let rate = control.choose(attempt);
            assert_eq!(control.choose(attempt), rate, "the answer stays until the next report");
            let samples = control.sends_one();
            self.samples += u64::from(samples && attempt == 0);
            let tried = self.now;
            let window = if samples { 1 } else { self.window };
            let mpdus = mpdus(&self.phy, rate, window);
            let window = (u64::from(self.phy.w_min()) << attempt).min(self.phy.w_max().into());
            let backoff = self.rng.below(window) as i64 * self.phy.slot().as_nanos();
            self.now = self.now + Span::from_nanos(backoff) + exchange(&self.phy, rate, mpdus);
            let share = self.shares[&rate];
            let acknowledged = (0..mpdus).filter(|_| self.rng.bernoulli(share)).count() as u32;
            control.report(rate, mpdus, acknowledged, self.now);
            self.arrived += u64::from(acknowledged);
            if !samples {
                self.plain.0 += u64::from(acknowledged);
                self.plain.1 = self.plain.1 + (self.now - tried);
            }
            attempt = if acknowledged > 0 { 0 } else { (attempt + 1) % MOST_TRIES };
        }
        (self.arrived - before) as f64 / (self.now - begun).as_secs_f64()
    }

    /// Sends frames under a rate control for a time, and returns the MPDUs per second without the frames that sample, and
    /// without their time.
    pub fn run_plain(&mut self, control: &mut RateControl, time: Span) -> f64 {
        self.plain = (0, Span::ZERO);
        self.run(control, time);
        self.plain.0 as f64 / self.plain.1.as_secs_f64()
    }

    /// MPDUs per second at one rate.
    pub fn fixed(&self, rate: RateIndex) -> f64 {
        fixed(&self.phy, rate, self.shares[&rate], self.window)
    }

    /// The best rate, and its MPDUs per second.
    pub fn best(&self) -> (f64, RateIndex) {
        let all = self.shares.keys().map(|&rate| (self.fixed(rate), rate));
        all.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).expect("a rate")
    }
}

/// Number of MPDUs of an A-MPDU at a rate.
fn mpdus(phy: &Phy, rate: RateIndex, window: u32) -> u32 {
    match phy.ampdu_limits(rate) {
        Some(limits) if window > 1 => {
            let all = std::iter::repeat(MPDU_BYTES);
            phy.fill(rate, &limits.window(window), all).mpdus()
        }
        _ => 1,
    }
}

/// DIFS, the PPDU, SIFS and its response.
fn exchange(phy: &Phy, rate: RateIndex, mpdus: u32) -> Span {
    let bytes = match mpdus {
        1 => phy.single_psdu_bytes(rate, MPDU_BYTES),
        // With the delimiters; 1536 is a multiple of 4.
        many => many * (MPDU_BYTES + 4),
    };
    phy.difs() + phy.airtime(rate, bytes) + phy.sifs() + phy.ack(phy.response_rate(rate))
}

/// MPDUs per second at one rate: a renewal begins with each new window.
fn fixed(phy: &Phy, rate: RateIndex, share: f64, window: u32) -> f64 {
    let mpdus = mpdus(phy, rate, window);
    let all_lost = (1.0 - share).powi(mpdus as i32);
    let (mut time, mut sent, mut reached) = (0.0, 0.0, 1.0);
    for attempt in 0..MOST_TRIES {
        let window = (u64::from(phy.w_min()) << attempt).min(phy.w_max().into());
        let backoff = (window - 1) as f64 / 2.0 * phy.slot().as_secs_f64();
        time += reached * (backoff + exchange(phy, rate, mpdus).as_secs_f64());
        sent += reached;
        reached *= all_lost;
    }
    f64::from(mpdus) * share * sent / time
}

/// The rates of a layer, of 802.11n and later those of the newest format with the common guard interval.
pub fn rates(phy: &Phy) -> Vec<RateIndex> {
    let common = |rate| match (phy.mcs(rate), phy.newest_format()) {
        (Some(mcs), format) => Some(mcs.format) == format && mcs.guard == GuardInterval::Ns800,
        (None, format) => format.is_none(),
    };
    phy.rates().map(|(rate, _)| rate).filter(|&rate| common(rate)).collect()
}

/// The shares of MPDUs that arrive at this SNR.
pub fn by_snr(phy: &Phy, snr_db: f64) -> Shares {
    let arrives = |rate: RateIndex| {
        let of_one = phy.mcs(rate).map_or(1.0, |mcs| mcs.stream_snr(1.0, 1.0, 0.0));
        let snr = of_one * 10f64.powf(snr_db / 10.0);
        1.0 - FrameErrors::BySnr.loss(phy.modulation(rate), snr, MPDU_BYTES)
    };
    rates(phy).into_iter().map(|rate| (rate, arrives(rate))).collect()
}

/// The SNR at which the slowest rate begins to work, and the SNR at which the fastest does.
pub fn span_db(phy: &Phy) -> (f64, f64) {
    let db = |rate| 10.0 * phy.needed_snr(rate, 0.1, MPDU_BYTES).log10();
    rates(phy).into_iter().map(db).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)))
}
