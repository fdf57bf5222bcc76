//! The state machine, step by step.

use super::super::Controller;
use super::super::rates::{AckReport, Event, LossState, RateSample, SenderState};
use super::*;
use airqueue_core::Seed;

const MSS: u64 = 1000;

fn at(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A BBR, and the counters of its sender.
struct Driven {
    bbr: Bbr,
    state: SenderState,
}

impl Driven {
    /// Opened at 0 after a round trip of 100 ms, with ten segments in flight.
    fn new() -> Driven {
        let mut bbr = Bbr::new(MSS as u32, 10 * MSS, Seed(1).stream("bbr"));
        let mut state = SenderState {
            now: Time::ZERO,
            srtt: Some(Span::from_millis(100)),
            delivered: 0,
            delivered_at: Time::ZERO,
            lost: 0,
            in_flight: 10 * MSS,
            app_limited: false,
            next_departure: Time::ZERO,
            loss: LossState::Open,
        };
        bbr.on_event(&Event::Opened { rtt: Some(Span::from_millis(100)) }, &state);
        state.next_departure = state.now;
        Driven { bbr, state }
    }

    /// At `ms` an acknowledgement of `segments`, a loss of `lost` other segments, and a sample of `rate` segments per
    /// second, of a segment sent when as much had been delivered as before this acknowledgement: each acknowledgement
    /// begins a round.
    fn ack(&mut self, ms: i64, segments: u64, lost: u64, rate: u64) {
        self.ack_with(ms, segments, lost, rate, Some(Span::from_millis(100)));
    }

    fn ack_with(&mut self, ms: i64, segments: u64, lost: u64, rate: u64, rtt: Option<Span>) {
        let prior = self.state.delivered;
        let in_flight_before = self.state.in_flight;
        self.state.now = at(ms);
        self.state.next_departure = at(ms);
        self.state.delivered += segments * MSS;
        self.state.lost += lost * MSS;
        self.state.delivered_at = at(ms);
        let sample = RateSample {
            delivered: rate * MSS,
            interval: Span::from_secs(1),
            prior_delivered: prior,
            app_limited: self.state.app_limited,
        };
        let report = AckReport {
            delivered: segments * MSS,
            lost: lost * MSS,
            in_flight_before,
            rtt,
            perhaps_delayed: false,
            sample: Some(sample),
        };
        self.bbr.on_event(&Event::Acknowledged(report), &self.state);
    }

    fn cwnd(&self) -> u64 {
        self.bbr.cwnd_bytes() / MSS
    }

    /// Startup at 1000 segments per second until the pipe is full, drained at 500 ms: ProbeBW.
    fn filled() -> Driven {
        let mut driven = Driven::new();
        driven.state.in_flight = 200 * MSS;
        for round in 1..=4 {
            driven.ack(100 * round, 100, 0, 1000);
        }
        assert_eq!(driven.bbr.mode, Mode::Drain);
        driven.state.in_flight = 100 * MSS;
        driven.ack(500, 10, 0, 1000);
        assert_eq!(driven.bbr.mode, Mode::ProbeBw);
        driven
    }
}

/// The first rate is 2/ln 2 windows of ten segments in a round trip, less the margin of 1 %: 739/256 · 100 kB/s.
#[test]
fn the_first_rate_is_that_of_the_handshake() {
    let driven = Driven::new();
    let rate = 100_000 * 739 / 256 * 99 / 100;
    assert_eq!(driven.bbr.own_pacing_rate().unwrap().as_bps(), rate * 8);
}

/// 100, 200 and 400 segments per second: growth. 450 is an increase of less than a quarter, and so are the next two
/// rounds. Startup then ends; the rate drains at 88/256 until no more than the 40 segments of the path, and the
/// budget, are in flight.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut driven = Driven::new();
    driven.state.in_flight = 150 * MSS;
    for (round, rate) in (1..).zip([100, 200, 400, 450, 440]) {
        driven.ack(100 * round, 20, 0, rate);
        assert_eq!(driven.bbr.mode, Mode::Startup, "round {round}");
    }
    driven.ack(600, 20, 0, 450);
    assert_eq!((driven.bbr.mode, driven.bbr.pacing_gain), (Mode::Drain, 88));
    // 450 segments a second are 45 in a round trip, 51 with twice three segments, and even: 52.
    assert_eq!(driven.bbr.ssthresh_bytes(), 52 * MSS);
    driven.state.in_flight = 53 * MSS;
    driven.ack(610, 2, 0, 450);
    assert_eq!(driven.bbr.mode, Mode::Drain);
    driven.state.in_flight = 52 * MSS;
    driven.ack(620, 2, 0, 450);
    assert_eq!(driven.bbr.mode, Mode::ProbeBw);
}

/// Application-limited samples do not end Startup.
#[test]
fn an_idle_application_does_not_end_startup() {
    let mut driven = Driven::new();
    driven.state.app_limited = true;
    (1..20).for_each(|round| driven.ack(100 * round, 5, 0, 100));
    assert_eq!(driven.bbr.mode, Mode::Startup);
}

/// In Startup the window grows by the acknowledged segments, and does not shrink to a smaller target. In ProbeBW the
/// target is twice the path, 200, three quanta of 2 segments, and the excess of ten segments delivered at once at 500
/// ms, which later deliveries at exactly the bandwidth keep. The sum is 216, plus 2 while probing.
#[test]
fn the_window_is_twice_the_path() {
    let mut driven = Driven::new();
    driven.ack(100, 10, 0, 100);
    assert_eq!(driven.cwnd(), 20);
    let mut driven = Driven::filled();
    (1..3000).for_each(|ms| driven.ack(500 + ms, 1, 0, 1000));
    assert!(matches!(driven.bbr.mode, Mode::ProbeBw));
    let probing = if driven.bbr.cycle.phase == 0 { 2 } else { 0 };
    assert_eq!(driven.cwnd(), 216 + probing);
}

/// 5/4 for a round trip and until a quarter more than the path is in flight; 3/4 for a round trip, or less if the
/// queue drains earlier; six round trips of 1.
#[test]
fn the_cycle_probes_drains_and_cruises() {
    let mut driven = Driven::filled();
    let mut ms = 500;
    let mut next = |driven: &mut Driven, gain: u64, in_flight: u64| {
        driven.state.in_flight = in_flight * MSS;
        for step in 1.. {
            ms += 10;
            driven.ack(ms, 10, 0, 1000);
            if driven.bbr.pacing_gain != gain || step == 50 {
                return step;
            }
        }
        0
    };
    while driven.bbr.pacing_gain != 320 {
        next(&mut driven, 256, 100);
    }
    assert_eq!(next(&mut driven, 320, 100), 50, "100 in flight are no probe");
    // 125 segments, 6 of budget, made even, and 2 for the probe: 134; 2 are about to leave.
    assert_eq!(next(&mut driven, 320, 131), 50);
    assert_eq!(next(&mut driven, 320, 132), 1);
    assert_eq!(driven.bbr.pacing_gain, 192);
    assert_eq!(next(&mut driven, 192, 107), 11, "a round trip");
    let cruise = (0..6).map(|_| driven.bbr.cycle.phase).collect::<Vec<_>>();
    assert_eq!(cruise, [2; 6]);
    driven.state.in_flight = 100 * MSS;
    let began = ms_of(&driven);
    let mut now = began;
    while driven.bbr.pacing_gain == 256 {
        now += 10;
        driven.ack(now, 10, 0, 1000);
    }
    assert_eq!((driven.bbr.pacing_gain, driven.bbr.cycle.phase), (320, 0));
    // Six phases that each end with the first acknowledgement after more than 100 ms.
    assert_eq!(now - began, 6 * 110);
    // A loss ends the probe after its round trip.
    for step in 1..=11 {
        assert_eq!(driven.bbr.pacing_gain, 320, "step {step}");
        now += 10;
        driven.ack(now, 10, u64::from(step == 11), 1000);
    }
    assert_eq!(driven.bbr.pacing_gain, 192);
    now += 10;
    driven.state.in_flight = 106 * MSS;
    driven.ack(now, 1, 0, 1000);
    assert_eq!(driven.bbr.pacing_gain, 256, "the queue is gone");
}

fn ms_of(driven: &Driven) -> i64 {
    driven.state.now.as_nanos() / 1_000_000
}

/// A cycle begins with each phase except that of 3/4: in 700 draws each of the seven phases occurs 100 ± 50 times,
/// more than five standard deviations of 9.3.
#[test]
fn a_cycle_begins_anywhere_but_at_three_quarters() {
    let mut driven = Driven::new();
    let mut found = [0u32; 8];
    for _ in 0..700 {
        driven.bbr.probe_bandwidth(&driven.state);
        found[driven.bbr.cycle.phase] += 1;
    }
    assert_eq!(found[1], 0);
    let others = found.iter().enumerate().filter(|&(phase, _)| phase != 1);
    others.for_each(|(phase, &n)| assert!((50..=150).contains(&n), "phase {phase}: {n}"));
}

/// After ten seconds without a shorter round trip the window is four segments; it is restored 200 ms and one round
/// after no more than four segments are in flight.
#[test]
fn probe_rtt_comes_after_ten_seconds() {
    let mut driven = Driven::filled();
    driven.state.in_flight = 100 * MSS;
    // Enough rounds to forget the aggregation of Startup.
    (0..20).for_each(|step| driven.ack(9900 + step, 1, 0, 1000));
    driven.ack(10_000, 1, 0, 1000);
    assert_eq!(driven.bbr.mode, Mode::ProbeBw);
    let cwnd = driven.cwnd();
    driven.ack_with(10_001, 1, 0, 1000, Some(Span::from_millis(120)));
    assert_eq!((driven.bbr.mode, driven.cwnd()), (Mode::ProbeRtt, 4));
    assert!(driven.bbr.limits_itself());
    assert_eq!(driven.bbr.min_rtt.rtt, Some(Span::from_millis(120)));
    driven.state.in_flight = 5 * MSS;
    driven.ack(10_100, 1, 0, 1000);
    driven.state.in_flight = 4 * MSS;
    driven.ack(10_200, 1, 0, 1000);
    driven.ack(10_400, 1, 0, 1000);
    assert_eq!((driven.bbr.mode, driven.cwnd()), (Mode::ProbeRtt, 4));
    driven.ack(10_401, 1, 0, 1000);
    assert_eq!(driven.bbr.mode, Mode::ProbeBw);
    // Two less if the previous phase was probing and the present phase is not.
    assert!(driven.cwnd() + 2 >= cwnd, "{} after {cwnd}", driven.cwnd());
    assert_eq!(driven.bbr.min_rtt.rtt, Some(Span::from_millis(100)));
    // The next ProbeRTT is ten seconds later, although equal round-trip times are sampled all the time.
    (1..=20).for_each(|step| driven.ack(10_401 + 500 * step, 1, 0, 1000));
    assert_eq!(driven.bbr.mode, Mode::ProbeBw);
    driven.ack(20_402, 1, 0, 1000);
    assert_eq!(driven.bbr.mode, Mode::ProbeRtt);
}

/// In the first round of recovery as much is sent as is acknowledged: with 100 in flight and 2 delivered the window is
/// 102, less the lost segments. Afterwards the window grows by the acknowledged segments, and at the end of recovery
/// it is restored.
#[test]
fn recovery_conserves_packets_for_a_round() {
    let mut driven = Driven::filled();
    let before = driven.cwnd();
    driven.bbr.on_congestion(0);
    driven.state.loss = LossState::Recovery;
    driven.state.in_flight = 100 * MSS;
    driven.ack(510, 2, 3, 1000);
    assert_eq!(driven.cwnd(), 102);
    assert!(driven.bbr.recovery.conserves);
    // A sample of a segment sent after the beginning of recovery ends the round.
    driven.ack(610, 2, 0, 1000);
    assert!(!driven.bbr.recovery.conserves);
    assert_eq!(driven.cwnd(), 104);
    driven.state.loss = LossState::Open;
    driven.ack(710, 2, 0, 1000);
    assert!(driven.cwnd() >= before, "{} after {before}", driven.cwnd());
}

/// A timeout leaves a window of one segment more than is in flight; the next acknowledgement raises the window to four
/// at least, and the earlier window is restored when everything is acknowledged.
#[test]
fn a_timeout_starts_from_what_is_in_flight() {
    let mut driven = Driven::filled();
    let before = driven.cwnd();
    driven.bbr.on_timeout(0, false);
    driven.state.loss = LossState::Timeout;
    driven.state.in_flight = 0;
    driven.state.lost += 100 * MSS;
    driven.bbr.on_event(&Event::TimedOut, &driven.state);
    assert_eq!(driven.cwnd(), 1);
    driven.ack(2000, 1, 0, 1000);
    assert_eq!(driven.cwnd(), 4);
    driven.state.loss = LossState::Open;
    driven.ack(2100, 1, 0, 1000);
    assert!(driven.cwnd() >= before, "{} after {before}", driven.cwnd());
}

/// After an application-limited pause the rate equals the bandwidth whatever the phase, and the pause itself causes no
/// ProbeRTT.
#[test]
fn after_a_pause_it_sends_at_the_bandwidth() {
    let mut driven = Driven::filled();
    driven.state.now = at(30_000);
    driven.state.in_flight = 0;
    driven.state.app_limited = true;
    driven.bbr.on_event(&Event::Started, &driven.state);
    assert_eq!(driven.bbr.own_pacing_rate().unwrap().as_bps(), 1_000_000 * 99 / 100 * 8);
    driven.ack(30_100, 1, 0, 10);
    assert_eq!(driven.bbr.mode, Mode::ProbeBw);
    assert_eq!(driven.bbr.bandwidth(), 1_000_000, "a sample of an idle application");
}

/// A policer of 500 segments per second: two intervals of four rounds, with a loss of a third of the segments, agree.
/// The estimated rate is used for 48 rounds of ProbeBW, at a gain of 1.
#[test]
fn a_policer_is_found_and_forgotten() {
    let mut driven = Driven::filled();
    driven.state.in_flight = 50 * MSS;
    // Rounds of 100 ms that deliver 50 segments; 20 of the others are lost.
    let mut ms = 500;
    let mut rounds = 0;
    while driven.bbr.policer.bandwidth().is_none() {
        ms += 100;
        rounds += 1;
        driven.ack(ms, 50, 20, 800);
        assert!(rounds < 20);
    }
    // Its first round begins with the first loss, and two intervals of four rounds follow.
    assert_eq!(rounds, 8);
    assert_eq!(driven.bbr.policer.bandwidth(), Some(500_000));
    assert_eq!((driven.bbr.bandwidth(), driven.bbr.pacing_gain), (500_000, 256));
    for round in 1..48 {
        ms += 100;
        driven.ack_with(ms, 50, 0, 800, Some(Span::from_millis(99)));
        assert!(driven.bbr.policer.bandwidth().is_some(), "round {round}");
    }
    driven.ack(ms + 100, 50, 0, 800);
    assert_eq!(driven.bbr.policer.bandwidth(), None);
}

/// A loss rate of a tenth does not indicate a policer.
#[test]
fn rare_losses_are_no_policer() {
    let mut driven = Driven::filled();
    (1..100).for_each(|round| driven.ack(500 + 100 * round, 50, 5, 800));
    assert_eq!(driven.bbr.policer.bandwidth(), None);
}
