//! The controller of PIE: how the probability follows the delay.

use super::PieParams;
use crate::Behaviour;
use airqueue_core::{Span, Time};

/// The controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Controller {
    pub(super) probability: f64,
    /// The delay of the packet that left last; zero if no packet waited behind it.
    pub(super) delay: Span,
    /// The delay at the last update.
    pub(super) old_delay: Span,
    pub(super) burst_allowance: Span,
    /// When the last packet left, since there was no congestion: Linux counts the burst allowance from this time.
    pub(super) last_departure: Option<Time>,
}

impl Controller {
    /// After this many updates without a call no further updates are made: at the default interval after 25 minutes.
    /// The controller is at rest long before, unless the last delay is within some microseconds of the target.
    const MOST_UPDATES: i64 = 100_000;

    /// The controller at rest; the first burst may pass.
    pub(super) fn new(burst_allowance: Span) -> Controller {
        Controller {
            probability: 0.0,
            delay: Span::ZERO,
            old_delay: Span::ZERO,
            burst_allowance,
            last_departure: None,
        }
    }

    /// Section 4.2 and Appendix A, `calculate_drop_prob`; section 5.5. `waiting`: whether packets wait.
    fn update(&mut self, params: &PieParams, waiting: bool) {
        let (delay, old_delay) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let step = params.alpha * (delay - params.target.as_secs_f64())
            + params.beta * (delay - old_delay);
        let mut step = step / auto_tuning(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        if self.delay > Span::from_millis(250) {
            step += 0.02;
        }
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        if self.delay == Span::ZERO && self.old_delay == Span::ZERO {
            self.probability *= match params.behaviour {
                Behaviour::Rfc => 0.98,
                Behaviour::Linux if waiting => 1.0,
                Behaviour::Linux => 1.0 - 1.0 / 64.0,
            };
        }
        match params.behaviour {
            Behaviour::Rfc => {
                self.burst_allowance = (self.burst_allowance - params.update).max(Span::ZERO);
            }
            Behaviour::Linux if self.is_calm(params) => {
                self.burst_allowance = params.max_burst;
                self.last_departure = None;
            }
            Behaviour::Linux => {}
        }
        self.old_delay = self.delay;
    }

    /// Makes `times` updates, or stops when an update changes nothing.
    pub(super) fn update_times(&mut self, times: i64, params: &PieParams, waiting: bool) {
        for _ in 0..times.min(Self::MOST_UPDATES) {
            let before = *self;
            self.update(params, waiting);
            if *self == before {
                break;
            }
        }
    }

    /// A packet leaves (section 4.3).
    pub(super) fn on_departure(&mut self, delay: Span, now: Time, params: &PieParams) {
        self.delay = delay;
        if params.behaviour == Behaviour::Linux {
            let passed = self.last_departure.map_or(Span::ZERO, |last| now - last);
            self.burst_allowance = (self.burst_allowance - passed).max(Span::ZERO);
            self.last_departure = Some(now);
        }
    }

    /// There is no congestion: nothing would be dropped, and the delay is, and at the last update was, less than half
    /// the target (section 4.4).
    pub(super) fn is_calm(&self, params: &PieParams) -> bool {
        let half = half_target(params);
        self.probability == 0.0 && self.delay < half && self.old_delay < half
    }

    /// Section 4.1: packets that keep the link busy are not dropped.
    pub(super) fn spares(&self, backlog: u64, params: &PieParams) -> bool {
        let two = 2 * u64::from(params.mean_packet);
        let (delay, little) = match params.behaviour {
            Behaviour::Rfc => (self.old_delay, backlog <= two),
            Behaviour::Linux => (self.delay, backlog < two),
        };
        (delay < half_target(params) && self.probability < 0.2) || little
    }
}

fn half_target(params: &PieParams) -> Span {
    Span::from_nanos(params.target.as_nanos() / 2)
}

/// The divisor that slows the controller down while the probability is low (section 4.2).
fn auto_tuning(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |&(_, divisor)| divisor)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn controller(probability: f64, delay: i64, old_delay: i64) -> Controller {
        Controller {
            probability,
            delay: Span::from_millis(delay),
            old_delay: Span::from_millis(old_delay),
            ..Controller::new(Span::ZERO)
        }
    }

    pub(in super::super) fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Section 4.2 by hand: 0.125 (q - 15 ms) + 1.25 (q - q_old), divided as auto-tuning says.
    #[test]
    fn the_probability_moves_as_the_rfc_says() {
        let moved = |probability, delay, old_delay| {
            let mut c = controller(probability, delay, old_delay);
            c.update(&PieParams::default(), false);
            c.probability - probability
        };
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
        };
        // q = 20 ms, q_old = 16 ms: 0.125 · 0.005 + 1.25 · 0.004 = 0.005625.
        near(moved(0.0, 20, 16), 0.005625 / 2048.0);
        near(moved(5e-6, 20, 16), 0.005625 / 512.0);
        near(moved(5e-5, 20, 16), 0.005625 / 128.0);
        near(moved(5e-4, 20, 16), 0.005625 / 32.0);
        near(moved(5e-3, 20, 16), 0.005625 / 8.0);
        near(moved(0.05, 20, 16), 0.005625 / 2.0);
        near(moved(0.5, 20, 16), 0.005625);
        // Falling: 0.125 · (-0.005) + 1.25 · (-0.010) = -0.013125.
        near(moved(0.5, 10, 20), -0.013125);
        near(moved(0.005, 10, 20), -0.013125 / 8.0);
        // 0.125 · 0.085 + 1.25 · 0.1 > 2 %, the maximum once the probability is 10 %.
        near(moved(0.5, 100, 0), 0.02);
        near(moved(0.05, 100, 0), (0.125 * 0.085 + 1.25 * 0.1) / 2.0);
        // Above 250 ms, 2 % more.
        near(moved(0.05, 260, 260), 0.125 * 0.245 / 2.0 + 0.02);
        // Nothing waits: less the proportional part, then less 2 %.
        near(moved(0.5, 0, 0), (0.5 - 0.125 * 0.015) * 0.98 - 0.5);
        // The result stays a probability.
        near(moved(0.0, 0, 20), 0.0);
        near(moved(0.999, 100, 0), 0.001);
    }

    /// `sch_pie.c`: down by 1/64 while there is no delay, but not while packets wait; arrivals are not dropped after a
    /// departure with little delay, nor behind less than two packets.
    #[test]
    fn linux_differs_as_its_source_says() {
        let params = PieParams { behaviour: Behaviour::Linux, ..PieParams::default() };
        let step = 0.125 * 0.015;
        for (waiting, factor) in [(false, 63.0 / 64.0), (true, 1.0)] {
            let mut c = controller(0.5, 0, 0);
            c.update(&params, waiting);
            assert!((c.probability - (0.5 - step) * factor).abs() < 1e-12);
        }
        assert!(controller(0.19, 7, 100).spares(9000, &params));
        assert!(!controller(0.19, 100, 7).spares(9000, &params));
        assert!(!controller(0.19, 100, 100).spares(2048, &params));
        assert!(controller(0.19, 100, 100).spares(2047, &params));
        let mut c = Controller { burst_allowance: params.max_burst, ..controller(0.5, 100, 100) };
        c.on_departure(Span::from_millis(100), ms(1000), &params);
        c.update(&params, true);
        assert_eq!(c.burst_allowance, params.max_burst, "only departures count");
        c.on_departure(Span::from_millis(100), ms(1040), &params);
        assert_eq!(c.burst_allowance, Span::from_millis(110));
        c = Controller { probability: 0.0, delay: Span::ZERO, old_delay: Span::ZERO, ..c };
        c.update(&params, false);
        assert_eq!((c.burst_allowance, c.last_departure), (params.max_burst, None));
    }
}
