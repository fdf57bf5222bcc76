//! BBR version 1, as in Linux's `tcp_bbr.c` (draft-cardwell-iccrg-bbr-congestion-control-00, and later additions of
//! Linux: the long-term bandwidth of policers and the compensation of aggregated acknowledgements).
//!
//! Not modelled: the undo of a reduction after a spurious retransmission (`bbr_undo_cwnd`); ticks, in which Linux
//! counts the ten seconds of the shortest round trip and the time in ProbeRTT; and the pacing delay that Linux adds to
//! its timers. Linux counts packets where this module counts bytes, which makes no difference for full segments. ECN
//! marks have no effect, in Linux and here.

mod aggregation;
mod filters;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use super::rates::{AckReport, Event, LossState, SenderState, bytes_in};
use super::registry::{Beginning, Kind, Requirements};
use super::{Acked, Controller};
use aggregation::Aggregation;
use airqueue_core::{DataRate, RandomStream, Seed, Span, Time};
use filters::WindowedMax;
use policer::{Finding, Policer, PolicerSample};

/// Gains are in units of 1/256, as in Linux.
const UNIT: u64 = 256;
/// 2 / ln 2: the smallest gain that doubles the rate each round trip.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// The inverse gain, which drains in one round trip the queue that Startup has built.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
/// Pacing gains of ProbeBW, one per round trip.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of phases with which a cycle may begin; the phase of 3/4 is left out.
const FIRST_PHASES: u64 = 7;
/// Rounds in the window of the bandwidth maximum.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// How long a minimum of the round-trip time is valid.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// The shortest time in ProbeRTT.
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// The smallest window in segments, and the largest in ProbeRTT.
const LEAST_CWND: u64 = 4;
/// Three rounds in which the bandwidth grows by less than a quarter indicate a full pipe.
const GROWTH: u64 = UNIT * 5 / 4;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Pacing stays this many percent below the bandwidth.
const MARGIN_PERCENT: u64 = 1;
/// The round-trip time assumed for the first pacing rate.
const NOMINAL_RTT: Span = Span::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR of one connection. Windows are in segments, bandwidths and rates in bytes of data per second.
#[derive(Debug)]
pub struct Bbr {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    pacing_rate: u64,
    /// The first pacing rate comes from a measured round-trip time.
    seen_rtt: bool,
    bandwidth: WindowedMax,
    round: Round,
    pipe: Pipe,
    cycle: Cycle,
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    recovery: Recovery,
    policer: Policer,
    aggregation: Aggregation,
    /// [`Event::Opened`] was reported, or the first data was sent.
    opened: bool,
    /// The connection was idle, and nothing has been delivered since.
    restarting: bool,
    draws: RandomStream,
}

/// Rounds are counted in packets: a round ends when data sent after its beginning is delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    count: u64,
    /// Bytes delivered at the beginning of the round.
    delivered: u64,
    /// The round begins with the present acknowledgement.
    begins: bool,
}

/// Whether Startup has filled the pipe.
#[derive(Clone, Copy, Debug, Default)]
struct Pipe {
    bandwidth: u64,
    rounds_without_growth: u32,
    full: bool,
}

/// The phase of ProbeBW.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    phase: usize,
    began: Time,
}

#[derive(Clone, Copy, Debug)]
struct MinRtt {
    rtt: Option<Span>,
    at: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProbeRtt {
    /// Set once no more than the smallest window is in flight.
    ends: Option<Time>,
    /// A round with no more than the smallest window in flight is over.
    round_done: bool,
    /// ProbeRTT was in progress at the present acknowledgement.
    on: bool,
}

#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// The state at the last acknowledgement.
    state: LossState,
    /// The first round of recovery: as much is sent as is acknowledged.
    conserves: bool,
    /// The window to restore after recovery or ProbeRTT.
    prior_cwnd: u64,
}

/// A pacing rate: `gain` times the bandwidth, less the margin.
fn pacing_bytes_per_sec(bandwidth: u64, gain: u64) -> u64 {
    let scaled = u128::from(bandwidth) * u128::from(gain) / u128::from(UNIT);
    (scaled * u128::from(100 - MARGIN_PERCENT) / 100).try_into().unwrap_or(u64::MAX)
}

impl Bbr {
    /// A controller with an initial window of `initial_bytes` and segments of `mss_bytes`. `draws` decides the first
    /// phase of its cycles.
    pub fn new(mss_bytes: u32, initial_bytes: u64, draws: RandomStream) -> Bbr {
        let mss = u64::from(mss_bytes);
        let mut bbr = Bbr {
            mss,
            cwnd: (initial_bytes / mss).max(1),
            ssthresh: u64::MAX,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            seen_rtt: false,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            round: Round::default(),
            pipe: Pipe::default(),
            cycle: Cycle { phase: 0, began: Time::ZERO },
            min_rtt: MinRtt { rtt: None, at: Time::ZERO },
            probe_rtt: ProbeRtt::default(),
            recovery: Recovery { state: LossState::Open, conserves: false, prior_cwnd: 0 },
            policer: Policer::default(),
            aggregation: Aggregation::new(mss),
            opened: false,
            restarting: false,
            draws,
        };
        bbr.pace_by_window(NOMINAL_RTT);
        bbr
    }

    /// `bbr_bw`: the bandwidth estimate in use.
    fn bandwidth(&self) -> u64 {
        self.policer.bandwidth().unwrap_or(self.bandwidth.largest())
    }

    fn segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }

    /// `bbr_init_pacing_rate_from_rtt`
    fn pace_by_window(&mut self, rtt: Span) {
        let nanos = rtt.as_nanos().max(1000) as u128;
        let bytes = u128::from(self.cwnd * self.mss);
        let bandwidth = (bytes * 1_000_000_000 / nanos) as u64;
        self.pacing_rate = pacing_bytes_per_sec(bandwidth, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: in Startup the rate only grows.
    fn set_pacing_rate(&mut self, gain: u64, srtt: Option<Span>) {
        if let Some(srtt) = srtt.filter(|_| !self.seen_rtt) {
            self.seen_rtt = true;
            self.pace_by_window(srtt);
        }
        let rate = pacing_bytes_per_sec(self.bandwidth(), gain);
        if self.pipe.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_packets_in_net_at_edt`: the part of `in_flight` bytes that is left when the next segment is sent,
    /// including this segment while more is sent than delivered.
    fn segments_at_departure(&self, in_flight: u64, state: &SenderState) -> u64 {
        let wait = state.next_departure - state.now;
        let arriving = bytes_in(self.bandwidth(), wait) / self.mss;
        let leaving = if self.pacing_gain > UNIT { self.quantum() } else { 0 };
        (self.segments(in_flight) + leaving).saturating_sub(arriving)
    }

    /// `bbr_update_bw`
    fn update_bandwidth(&mut self, ack: &AckReport, state: &SenderState) {
        self.round.begins = false;
        let Some(sample) = ack.sample else { return };
        if sample.prior_delivered >= self.round.delivered {
            self.round.delivered = state.delivered;
            self.round.count += 1;
            self.round.begins = true;
            self.recovery.conserves = false;
        }
        self.watch_policer(ack.lost > 0, sample.app_limited, state);
        let bandwidth = sample.bytes_per_sec();
        if !sample.app_limited || bandwidth >= self.bandwidth.largest() {
            self.bandwidth.update(self.round.count, bandwidth);
        }
    }

    fn watch_policer(&mut self, loses: bool, app_limited: bool, state: &SenderState) {
        let probes_bandwidth = self.mode == Mode::ProbeBw;
        let round_begins = self.round.begins;
        let sighting = PolicerSample { round_begins, probes_bandwidth, loses, app_limited };
        match self.policer.on_sample(sighting, state) {
            Finding::Nothing => {}
            Finding::Policed => self.pacing_gain = UNIT,
            Finding::Expired => self.probe_bandwidth(state),
        }
    }

    /// `bbr_update_ack_aggregation`
    fn update_aggregation(&mut self, ack: &AckReport, state: &SenderState) {
        if ack.sample.is_none() || ack.delivered == 0 {
            return;
        }
        if self.round.begins {
            self.aggregation.on_round();
        }
        let bandwidth = self.bandwidth();
        self.aggregation.on_delivered(ack.delivered, state.delivered_at, bandwidth, self.cwnd);
    }

    /// `bbr_update_cycle_phase`
    fn update_cycle(&mut self, ack: &AckReport, state: &SenderState) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack, state) {
            self.advance_cycle(state);
        }
    }

    /// `bbr_is_next_cycle_phase`: after a round trip; but probing continues until enough data is in flight or a loss
    /// occurs, and draining ends when the queue is empty.
    fn phase_is_over(&self, ack: &AckReport, state: &SenderState) -> bool {
        let elapsed = state.delivered_at - self.cycle.began;
        let whole = self.min_rtt.rtt.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == UNIT {
            return whole;
        }
        let in_net = self.segments_at_departure(ack.in_flight_before, state);
        if self.pacing_gain > UNIT {
            return whole && (ack.lost > 0 || in_net >= self.target(self.pacing_gain));
        }
        whole || in_net <= self.target(UNIT)
    }

    fn advance_cycle(&mut self, state: &SenderState) {
        self.cycle =
            Cycle { phase: (self.cycle.phase + 1) % CYCLE.len(), began: state.delivered_at };
    }

    /// `bbr_reset_probe_bw_mode`: a cycle begins with any phase except that of 3/4, so that flows do not probe at the
    /// same time.
    fn probe_bandwidth(&mut self, state: &SenderState) {
        self.mode = Mode::ProbeBw;
        self.cycle.phase = CYCLE.len() - 1 - self.draws.below(FIRST_PHASES) as usize;
        self.advance_cycle(state);
    }

    /// `bbr_check_full_bw_reached`
    fn update_pipe(&mut self, ack: &AckReport) {
        let app_limited = ack.sample.is_none_or(|sample| sample.app_limited);
        if self.pipe.full || !self.round.begins || app_limited {
            return;
        }
        let largest = self.bandwidth.largest();
        let grown = u128::from(self.pipe.bandwidth) * u128::from(GROWTH) / u128::from(UNIT);
        if u128::from(largest) >= grown {
            self.pipe = Pipe { bandwidth: largest, ..Pipe::default() };
            return;
        }
        self.pipe.rounds_without_growth += 1;
        self.pipe.full = self.pipe.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
    }

    /// `bbr_check_drain`
    fn update_drain(&mut self, state: &SenderState) {
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
            self.ssthresh = self.target(UNIT);
        }
        if self.mode == Mode::Drain
            && self.segments_at_departure(state.in_flight, state) <= self.target(UNIT)
        {
            self.probe_bandwidth(state);
        }
    }

    /// `bbr_update_min_rtt`. A sample equal to the minimum does not extend the validity of the minimum, unlike in the
    /// draft and in Linux before 5.10: a queue that runs empty repeatedly would postpone ProbeRTT for ever.
    fn update_min_rtt(&mut self, ack: &AckReport, state: &SenderState) {
        let expired = state.now > self.min_rtt.at + MIN_RTT_WINDOW;
        let better = |rtt: Span| self.min_rtt.rtt.is_none_or(|least| rtt < least);
        let counts = |rtt: &Span| better(*rtt) || (expired && !ack.perhaps_delayed);
        if let Some(rtt) = ack.rtt.filter(counts) {
            self.min_rtt = MinRtt { rtt: Some(rtt), at: state.now };
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.ends = None;
        }
        self.probe_rtt.on = self.mode == Mode::ProbeRtt;
        if self.probe_rtt.on {
            self.stay_in_probe_rtt(state);
        }
        if ack.sample.is_some_and(|sample| sample.delivered > 0) {
            self.restarting = false;
        }
    }

    /// 200 ms and one round with no more than the smallest window in flight.
    fn stay_in_probe_rtt(&mut self, state: &SenderState) {
        if self.probe_rtt.ends.is_some() {
            self.probe_rtt.round_done |= self.round.begins;
            if self.probe_rtt.round_done {
                self.end_probe_rtt(state);
            }
        } else if self.segments(state.in_flight) <= LEAST_CWND {
            self.probe_rtt.ends = Some(state.now + PROBE_RTT_TIME);
            self.probe_rtt.round_done = false;
            self.round.delivered = state.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`
    fn end_probe_rtt(&mut self, state: &SenderState) {
        if self.probe_rtt.ends.is_none_or(|ends| state.now <= ends) {
            return;
        }
        self.min_rtt.at = state.now;
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
        if self.pipe.full {
            self.probe_bandwidth(state);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `bbr_main`
    fn on_acknowledged(&mut self, ack: &AckReport, state: &SenderState) {
        self.update_bandwidth(ack, state);
        self.update_aggregation(ack, state);
        self.update_cycle(ack, state);
        self.update_pipe(ack);
        self.update_drain(state);
        self.update_min_rtt(ack, state);
        self.update_gains();
        self.set_pacing_rate(self.pacing_gain, state.srtt);
        self.set_cwnd(ack, state);
    }

    /// `bbr_init`
    fn on_opened(&mut self, rtt: Option<Span>, state: &SenderState) {
        self.opened = true;
        self.min_rtt = MinRtt { rtt, at: state.now };
        self.aggregation.begin(state.now);
        self.policer.forget(state);
        if let Some(srtt) = state.srtt {
            self.seen_rtt = true;
            self.pace_by_window(srtt);
        }
    }

    /// `bbr_cwnd_event`: after a pause BBR sends no faster than the estimated bandwidth.
    fn on_started(&mut self, state: &SenderState) {
        if !state.app_limited {
            return;
        }
        self.restarting = true;
        self.aggregation.begin(state.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(UNIT, state.srtt),
            Mode::ProbeRtt => self.end_probe_rtt(state),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_set_state`, and the window that `tcp_enter_loss` sets. The timeout ends a round.
    fn on_timed_out(&mut self, state: &SenderState) {
        self.cwnd = self.segments(state.in_flight) + 1;
        self.recovery.state = LossState::Timeout;
        self.pipe.bandwidth = 0;
        self.round.begins = true;
        self.watch_policer(true, false, state);
    }
}

impl Kind for Bbr {
    const ABOUT: &'static str = "BBR version 1, as in Linux. BBR needs `sack`, detects losses by time (RFC 8985), \
        and paces segments itself.";
    const REQUIREMENTS: Requirements = Requirements {
        sack: Some("BBR learns from selective acknowledgements how much is delivered"),
        loss_by_time: Some("BBR reads rates of delivery off the times of segments"),
        own_pacing: Some("BBR paces by itself, at a rate of its own"),
    };

    fn begin(with: Beginning<'_>) -> Box<dyn Controller> {
        let phases = Seed(with.draws.next_u64()).stream("bbr");
        Box::new(Bbr::new(with.mss_bytes, with.initial_bytes, phases))
    }
}

impl Controller for Bbr {
    /// BBR acts on [`Event::Acknowledged`].
    fn on_ack(&mut self, _: &Acked) {}

    /// `bbr_ssthresh`: no reduction, because losses and marks do not show the capacity of the path.
    fn on_congestion(&mut self, _: u64) {
        self.save_cwnd();
    }

    fn on_timeout(&mut self, _: u64, again: bool) {
        // In fast recovery the window to restore is already known (`tcp_enter_loss`).
        let known = self.recovery.state == LossState::Recovery;
        if !known && !again {
            self.save_cwnd();
        }
    }

    fn cap(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.min((bytes / self.mss).max(1));
    }

    fn cwnd_bytes(&self) -> u64 {
        self.cwnd * self.mss
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh.saturating_mul(self.mss)
    }

    fn steers_by_rate(&self) -> bool {
        true
    }

    fn on_event(&mut self, event: &Event, sender: &SenderState) {
        self.probe_rtt.on = false;
        // A connection without a handshake begins with its first data.
        if !self.opened && !matches!(event, Event::Opened { .. }) {
            self.on_opened(None, sender);
        }
        match event {
            Event::Opened { rtt } => self.on_opened(*rtt, sender),
            Event::Started => self.on_started(sender),
            Event::Acknowledged(ack) => self.on_acknowledged(ack, sender),
            Event::TimedOut => self.on_timed_out(sender),
        }
    }

    /// The delivery rate in ProbeRTT is not the bandwidth.
    fn limits_itself(&self) -> bool {
        self.probe_rtt.on
    }

    /// A bandwidth below one byte per second turns pacing off, as in `tcp_update_skb_after_send`.
    fn own_pacing_rate(&self) -> Option<DataRate> {
        DataRate::from_bps(self.pacing_rate.saturating_mul(8))
    }
}
