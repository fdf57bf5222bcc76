//! The window of BBR: the capacity of the path, the additional needs of the ends, and the effect of losses.

use super::super::rates::{AckReport, LossState, SenderState, bytes_in};
use super::{Bbr, LEAST_CWND, Mode, UNIT};
use airqueue_core::Span;

/// The window while the round-trip time is unknown, and the segments after which Startup obeys its target.
const FIRST_CWND: u64 = 10;
/// Upper limit, in time, of the allowance for aggregation.
const MOST_AGGREGATION: Span = Span::from_millis(100);

impl Bbr {
    /// `bbr_tso_segs_goal`: segments that Linux passes down at once, about a millisecond's worth. Here each segment is
    /// sent separately, but the window has room for these segments.
    pub(super) fn quantum(&self) -> u64 {
        const SLOW: u64 = 1_200_000 / 8;
        const MOST_BYTES: u64 = 65_536 - 1 - 320;
        const MOST_SEGMENTS: u64 = 127;
        let least = if self.pacing_rate < SLOW { 1 } else { 2 };
        let bytes = (self.pacing_rate >> 10).min(MOST_BYTES);
        (bytes / self.mss).max(least).min(MOST_SEGMENTS)
    }

    /// `bbr_bdp`: the capacity of the path in segments, times a gain.
    pub(super) fn path_segments(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt.rtt else { return FIRST_CWND };
        let nanos = u128::try_from(rtt.as_nanos()).unwrap_or(0);
        let bytes = u128::from(bandwidth) * nanos * u128::from(gain) / u128::from(UNIT);
        let segments = bytes.div_ceil(1_000_000_000 * u128::from(self.mss));
        segments.min(u128::from(u32::MAX)) as u64
    }

    /// `bbr_quantization_budget`: room for the aggregation at both ends, an even number because of delayed
    /// acknowledgements, and enough for the probing phase to be noticeable on short paths.
    pub(super) fn with_budget(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.quantum()).next_multiple_of(2);
        let probes = self.mode == Mode::ProbeBw && self.cycle.phase == 0;
        even + if probes { 2 } else { 0 }
    }

    /// `bbr_inflight`, at the largest delivery rate.
    pub(super) fn target(&self, gain: u64) -> u64 {
        self.with_budget(self.path_segments(self.bandwidth.largest(), gain))
    }

    /// `bbr_save_cwnd`: saves the window to restore.
    pub(super) fn save_cwnd(&mut self) {
        let undisturbed = self.recovery.state == LossState::Open && self.mode != Mode::ProbeRtt;
        let least = if undisturbed { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = self.cwnd.max(least);
    }

    /// `bbr_set_cwnd`
    pub(super) fn set_cwnd(&mut self, ack: &AckReport, state: &SenderState) {
        if ack.delivered > 0 && !self.recover_or_return(ack, state) {
            let acked = self.segments(ack.delivered);
            let path = self.path_segments(self.bandwidth(), self.cwnd_gain);
            let target = self.with_budget(path + self.allowed_aggregation());
            // The SYN is one of the first segments delivered.
            let few = state.delivered + self.mss < FIRST_CWND * self.mss;
            if self.pipe.full {
                self.cwnd = target.min(self.cwnd + acked);
            } else if self.cwnd < target || few {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(LEAST_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_CWND);
        }
    }

    /// `bbr_ack_aggregation_cwnd`
    fn allowed_aggregation(&self) -> u64 {
        if !self.pipe.full {
            return 0;
        }
        let most = bytes_in(self.bandwidth(), MOST_AGGREGATION) / self.mss;
        self.aggregation.segments().min(most)
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: losses reduce the window; in the first round of recovery as much is sent
    /// as is acknowledged, and after recovery the window is restored. True if this has decided the window.
    fn recover_or_return(&mut self, ack: &AckReport, state: &SenderState) -> bool {
        let sent = self.segments(state.in_flight) + self.segments(ack.delivered);
        self.cwnd = self.cwnd.saturating_sub(self.segments(ack.lost)).max(1);
        let before = std::mem::replace(&mut self.recovery.state, state.loss);
        if state.loss == LossState::Recovery && before != LossState::Recovery {
            self.recovery.conserves = true;
            self.round.delivered = state.delivered;
            self.cwnd = sent;
        } else if before != LossState::Open && state.loss == LossState::Open {
            self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
            self.recovery.conserves = false;
        }
        if self.recovery.conserves {
            self.cwnd = self.cwnd.max(sent);
        }
        self.recovery.conserves
    }
}
