//! RFC 9438: the window is a cubic function of the time since the last loss.

use crate::tcp::congestion::{Acked, Controller, Growth, Window};
use airqueue_core::{Span, Time};

/// C, in segments per cubic second (section 5.1).
const C: f64 = 0.4;
/// β, the share of the window that is kept after a loss (section 4.6).
const BETA: f64 = 0.7;
/// α that makes Reno with β as fast as Reno that halves its window (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC, without HyStart.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    window: Window,
    /// W_max: the window at the last loss, in segments, reduced for fast convergence.
    w_max: f64,
    /// cwnd_prior: the window before the last reduction, in segments.
    prior: f64,
    /// The first stage after a timeout begins at its plateau (section 4.8).
    after_timeout: bool,
    stage: Option<Stage>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Later by the time in which the window did not limit the sender, which does not count (sections 4.2 and 5.8).
    began: Time,
    /// When an acknowledgement last came.
    seen: Time,
    /// K, in seconds.
    k: f64,
    /// The plateau, in segments.
    w_max: f64,
    /// W_est, the window of Reno, in segments.
    reno: f64,
}

impl Stage {
    /// W_cubic, `seconds` after the beginning of the stage (equation 1), in segments.
    fn cubic(&self, seconds: f64) -> f64 {
        let t = seconds - self.k;
        C * t * t * t + self.w_max
    }
}

impl Cubic {
    /// A controller with an initial window of `initial_bytes` and segments of `mss_bytes`.
    pub fn new(mss_bytes: u32, initial_bytes: u64, growth: Growth) -> Cubic {
        let window = Window::new(mss_bytes, initial_bytes, growth);
        Cubic { window, w_max: 0.0, prior: 0.0, after_timeout: false, stage: None }
    }

    fn segments(&self) -> f64 {
        self.window.cwnd / self.window.mss
    }

    /// Section 4.2: K from the window at the beginning of the stage (equation 2); if this window is not below W_max,
    /// or after a timeout, the stage begins at its plateau (sections 4.8 and 4.10).
    fn new_stage(&self, now: Time) -> Stage {
        let cwnd = self.segments();
        let below = cwnd < self.w_max && !self.after_timeout;
        let w_max = if below { self.w_max } else { cwnd };
        Stage { began: now, seen: now, k: libm::cbrt((w_max - cwnd) / C), w_max, reno: cwnd }
    }

    /// Congestion avoidance for `acked` segments (sections 4.3 to 4.5).
    fn avoid(&mut self, acked: f64, ack: &Acked) {
        let cwnd = self.segments();
        let mut stage = self.stage.unwrap_or_else(|| self.new_stage(ack.now));
        let alpha = if stage.reno >= self.prior { 1.0 } else { ALPHA };
        stage.reno += alpha * acked / cwnd;
        stage.seen = ack.now;
        self.stage = Some(stage);
        let t = (ack.now - stage.began).as_secs_f64();
        let next = if stage.cubic(t) < stage.reno {
            cwnd.max(stage.reno)
        } else {
            let rtt = ack.srtt.map_or(0.0, |srtt| srtt.as_secs_f64());
            let target = stage.cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        self.window.cwnd = next * self.window.mss;
    }

    /// Sections 4.6 and 4.7: the threshold, and W_max with fast convergence.
    fn remember_loss(&mut self, flight_bytes: u64) {
        let cwnd = self.segments();
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.stage = None;
        self.window.reduce_threshold(flight_bytes, BETA);
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &Acked) {
        let bytes = self.window.slow_start(ack.bytes);
        if bytes > 0.0 {
            self.avoid(bytes / self.window.mss, ack);
        }
    }

    fn on_unused(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.began += now - stage.seen;
            stage.seen = now;
        }
    }

    /// The pause began with the last acknowledgement, not with what was sent last.
    fn on_restart(&mut self, now: Time, _: Span) {
        self.on_unused(now);
    }

    fn on_congestion(&mut self, flight_bytes: u64) {
        self.remember_loss(flight_bytes);
        self.after_timeout = false;
        self.window.cwnd = self.window.ssthresh;
    }

    fn on_timeout(&mut self, flight_bytes: u64, again: bool) {
        if !again {
            self.remember_loss(flight_bytes);
        }
        self.after_timeout = true;
        self.stage = None;
        self.window.cwnd = self.window.mss;
    }

    fn cap(&mut self, bytes: u64) {
        self.window.cwnd = self.window.cwnd.min(bytes as f64);
        self.stage = None;
    }

    fn cwnd_bytes(&self) -> u64 {
        self.window.cwnd_bytes()
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.window.ssthresh_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::acked;

    const MSS: u64 = 1000;
    const BYTES: Growth = Growth::Bytes { segments_per_ack: 1 };

    /// One window of acknowledgements each `rtt_ms`, evenly spread, for `seconds`.
    fn run(cubic: &mut Cubic, rtt_ms: i64, seconds: f64, mut each: impl FnMut(f64, f64)) {
        let rtt = Span::from_millis(rtt_ms);
        let mut t = 0.0;
        while t < seconds {
            each(t, cubic.segments());
            let now = Time::ZERO + Span::from_secs_f64(t);
            cubic.on_ack(&Acked { srtt: Some(rtt), ..acked(MSS, now) });
            t += rtt.as_secs_f64() / cubic.segments();
        }
    }

    /// Equations 1 and 2: from 0.7 · 1000 segments back to 1000 in K = cbrt(300 / 0.4) = 9.086 s, and beyond. The
    /// window follows the curve with a lag of one acknowledgement: within 1 %.
    #[test]
    fn it_follows_the_cubic() {
        let mut cubic = Cubic::new(MSS as u32, 1000 * MSS, BYTES);
        cubic.on_congestion(1000 * MSS);
        assert_eq!(cubic.cwnd_bytes(), 700 * MSS);
        let k = (300.0f64 / 0.4).cbrt();
        run(&mut cubic, 100, 15.0, |t, cwnd| {
            let curve = 0.4 * (t - k).powi(3) + 1000.0;
            assert!((cwnd / curve - 1.0).abs() < 0.01, "at {t}: {cwnd} for {curve}");
        });
    }

    /// Section 4.3: on a short path CUBIC is as fast as Reno with the same mean window: α segments per round trip up
    /// to the last window, one segment beyond. The growth of the window within a round trip costs less than 3 %.
    #[test]
    fn it_is_never_slower_than_reno() {
        let mut cubic = Cubic::new(MSS as u32, 100 * MSS, BYTES);
        cubic.on_congestion(100 * MSS);
        let (rtt, rounds) = (1, 50.0);
        run(&mut cubic, rtt, rounds / 1e3, |_, _| {});
        let gained = cubic.segments() - 70.0;
        let alpha = 3.0 * 0.3 / 1.7;
        assert!((gained / (alpha * rounds) - 1.0).abs() < 0.03, "{gained}");
        let mut cubic = Cubic::new(MSS as u32, 100 * MSS, BYTES);
        cubic.on_congestion(100 * MSS);
        let to_prior = 30.0 / alpha;
        run(&mut cubic, rtt, (to_prior + 40.0) / 1e3, |_, _| {});
        let beyond = cubic.segments() - 100.0;
        assert!((beyond / 40.0 - 1.0).abs() < 0.05, "{beyond}");
    }

    /// Section 5.8: neither an idle minute nor one whose window is not used counts as time since the loss.
    #[test]
    fn time_without_need_of_the_window_does_not_count() {
        let after = |pause_s: i64, wait: fn(&mut Cubic, Time)| {
            let mut cubic = Cubic::new(MSS as u32, 1000 * MSS, BYTES);
            cubic.on_congestion(1000 * MSS);
            let at = |ms| Time::ZERO + Span::from_millis(ms);
            (0..=3000).for_each(|ms| cubic.on_ack(&acked(MSS, at(ms))));
            (1..=pause_s).for_each(|s| wait(&mut cubic, at(3000 + 1000 * s)));
            let later = (3001..=5000).map(|ms| at(ms + 1000 * pause_s));
            later.for_each(|now| cubic.on_ack(&acked(MSS, now)));
            cubic.segments()
        };
        let without = after(0, |_, _| {});
        assert_eq!(after(60, |cubic, now| cubic.on_restart(now, Span::from_secs(1))), without);
        assert_eq!(after(60, |cubic, now| cubic.on_unused(now)), without);
        assert!(after(60, |_, _| {}) > without + 500.0);
    }

    /// The round trip of what was sent last is no pause, and nothing is left out twice: bursts every 150 ms, 100 ms of
    /// round trip.
    #[test]
    fn nothing_but_the_pause_is_left_out() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let began = |window_is_used: bool| {
            let mut cubic = Cubic::new(MSS as u32, 1000 * MSS, BYTES);
            cubic.on_congestion(1000 * MSS);
            cubic.on_ack(&acked(MSS, at(0)));
            match window_is_used {
                true => cubic.on_ack(&acked(MSS, at(100))),
                false => cubic.on_unused(at(100)),
            }
            cubic.on_restart(at(150), Span::from_millis(150));
            cubic.stage.unwrap().began
        };
        assert_eq!((began(true), began(false)), (at(50), at(150)));
    }

    /// Section 4.7: a loss below the last plateau lowers the next one to (1 + β) / 2 of the window.
    #[test]
    fn it_makes_room_for_others() {
        let mut cubic = Cubic::new(MSS as u32, 100 * MSS, BYTES);
        cubic.on_congestion(100 * MSS);
        assert_eq!(cubic.w_max, 100.0);
        cubic.on_congestion(70 * MSS);
        assert!((cubic.w_max - 70.0 * 0.85).abs() < 1e-9);
        assert_eq!(cubic.cwnd_bytes(), 49 * MSS);
    }

    /// Section 4.8: after a timeout slow start up to β of the window, then a stage with K = 0.
    #[test]
    fn a_timeout_starts_slowly_and_then_from_a_plateau() {
        let mut cubic = Cubic::new(MSS as u32, 100 * MSS, BYTES);
        cubic.on_timeout(100 * MSS, false);
        assert_eq!((cubic.cwnd_bytes(), cubic.ssthresh_bytes()), (MSS, 70 * MSS));
        let at = |s| Time::ZERO + Span::from_secs(s);
        (0..70).for_each(|_| cubic.on_ack(&acked(MSS, at(1))));
        let stage = cubic.stage.unwrap();
        assert_eq!((stage.k, stage.w_max), (0.0, 70.0));
    }
}
