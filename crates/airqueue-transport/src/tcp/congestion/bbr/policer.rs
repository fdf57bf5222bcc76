//! The long-term bandwidth of a path with a token-bucket policer: `bbr_lt_bw_sampling` of Linux. Losses of a fifth or
//! more in two consecutive intervals with equal throughput indicate a policer.

use super::super::rates::SenderState;
use super::{UNIT, pacing_bytes_per_sec};
use airqueue_core::{Span, Time};

/// Rounds of an interval: at least this many, and at most four times as many.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost bytes relative to delivered bytes, in units of 1/256: about a fifth.
const LOSSY: u64 = 50;
/// Two intervals agree if their bandwidths differ by no more than an eighth, or 4 kb/s.
const RATIO: u64 = UNIT / 8;
const DIFFERENCE_BYTES_PER_SEC: u64 = 500;
/// Rounds for which the estimate is used.
const ROUNDS_OF_USE: u32 = 48;
/// The shortest interval.
const SHORTEST: Span = Span::from_millis(1);

/// The state of policer detection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// Bandwidth in the last interval, or the estimate in use, in bytes per second.
    bandwidth: Option<u64>,
    in_use: bool,
    sampling: bool,
    /// Rounds of the interval, or rounds of use of the estimate.
    rounds: u32,
    began: Began,
}

/// The counters at the beginning of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Began {
    at: Option<Time>,
    delivered: u64,
    lost: u64,
}

/// The report of an acknowledgement or a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicerSample {
    /// A round begins with this acknowledgement.
    pub(super) round_begins: bool,
    /// BBR is in ProbeBW.
    pub(super) probes_bandwidth: bool,
    /// Bytes were lost.
    pub(super) loses: bool,
    pub(super) app_limited: bool,
}

/// The result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Nothing,
    /// A policer was detected.
    Policed,
    /// The estimate has been used for long enough.
    Expired,
}

impl Policer {
    /// The bandwidth of the policer, if one was detected.
    pub(super) fn bandwidth(&self) -> Option<u64> {
        self.bandwidth.filter(|_| self.in_use)
    }

    pub(super) fn forget(&mut self, state: &SenderState) {
        *self = Policer::default();
        self.begin(state);
    }

    fn begin(&mut self, state: &SenderState) {
        let SenderState { delivered_at, delivered, lost, .. } = *state;
        self.began = Began { at: Some(delivered_at), delivered, lost };
        self.rounds = 0;
    }

    pub(super) fn on_sample(&mut self, sighting: PolicerSample, state: &SenderState) -> Finding {
        if self.in_use {
            return self.use_up(sighting, state);
        }
        // The bucket has tokens until the first loss.
        if !self.sampling {
            if !sighting.loses {
                return Finding::Nothing;
            }
            self.begin(state);
            self.sampling = true;
        }
        if sighting.app_limited {
            self.forget(state);
            return Finding::Nothing;
        }
        self.rounds += u32::from(sighting.round_begins);
        if self.rounds > MOST_ROUNDS {
            self.forget(state);
        } else if self.rounds >= LEAST_ROUNDS && sighting.loses {
            // The interval also ends with a loss, so that the tokens of the interval are used up.
            return self.end(state);
        }
        Finding::Nothing
    }

    fn use_up(&mut self, sighting: PolicerSample, state: &SenderState) -> Finding {
        if sighting.probes_bandwidth && sighting.round_begins {
            self.rounds += 1;
            if self.rounds >= ROUNDS_OF_USE {
                self.forget(state);
                return Finding::Expired;
            }
        }
        Finding::Nothing
    }

    /// Ends the interval if losses were frequent in it.
    fn end(&mut self, state: &SenderState) -> Finding {
        let lost = state.lost - self.began.lost;
        let delivered = state.delivered - self.began.delivered;
        let took = self.began.at.map_or(Span::ZERO, |at| state.delivered_at - at);
        if delivered == 0 || lost * UNIT < LOSSY * delivered || took < SHORTEST {
            return Finding::Nothing;
        }
        let nanos = took.as_nanos() as u128;
        let bandwidth = (u128::from(delivered) * 1_000_000_000 / nanos) as u64;
        if let Some(before) = self.bandwidth {
            let apart = bandwidth.abs_diff(before);
            let agree = apart * UNIT <= RATIO * before
                || pacing_bytes_per_sec(apart, UNIT) <= DIFFERENCE_BYTES_PER_SEC;
            if agree {
                self.bandwidth = Some(bandwidth.midpoint(before));
                self.in_use = true;
                self.rounds = 0;
                return Finding::Policed;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.begin(state);
        Finding::Nothing
    }
}
