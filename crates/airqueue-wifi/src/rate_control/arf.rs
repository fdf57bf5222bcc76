//! Auto rate fallback.

use super::registry::{Beginning, Kind};
use super::{got_through, ladder};
use crate::phy::RateIndex;
use airqueue_core::Time;

/// When [`Arf`] changes the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArfRules {
    /// Successes in a row for a step up.
    pub successes: u32,
    /// Transmissions since the last step for a step up, successful or not, unless the last transmission failed.
    pub timer: u32,
    /// Factor by which both grow if the first frame after a step up fails; 1: they stay.
    pub growth: u32,
    /// Upper limit of `successes`.
    pub most_successes: u32,
}

impl ArfRules {
    /// ARF (Kamerman and Monteban, "WaveLAN-II: a high-performance wireless LAN for the unlicensed band", Bell Labs
    /// Technical Journal 2(3), 1997): a step up after 10 successes, or after 15 transmissions.
    pub const ARF: ArfRules = ArfRules { successes: 10, timer: 15, growth: 1, most_successes: 10 };
}

/// ARF or AARF: two frames lost in a row cause a step down, the number of successes in a row in [`ArfRules`] a step
/// up, and a step up is reversed if the first frame after the step is lost.
///
/// The steps form a ladder of rates. All losses count as channel losses: collisions cause steps down too.
#[derive(Clone, Debug)]
pub struct Arf {
    rules: ArfRules,
    ladder: Vec<RateIndex>,
    /// Index of the current step.
    at: usize,
    successes: u32,
    failures: u32,
    /// Transmissions since the last step.
    sent: u32,
    /// The last step was a step up, and no frame has been successful since.
    probing: bool,
    /// Successes that a step up needs now.
    threshold: u32,
    timer: u32,
}

impl Kind for Arf {
    const ABOUT: &'static str = "Auto rate fallback: a step up after ten successful frames, a step down after two lost ones.";

    fn begin(with: Beginning<'_>) -> Arf {
        Arf::by(ArfRules::ARF, with)
    }

    #[inline]
    fn choose(&mut self, _: u32) -> RateIndex {
        Arf::rate(self)
    }

    #[inline]
    fn report(&mut self, _: RateIndex, sent: u32, acknowledged: u32, _: Time) {
        self.on_frame(got_through(sent, acknowledged));
    }

    fn rate(&self) -> RateIndex {
        Arf::rate(self)
    }
}

impl Arf {
    /// Starts on the lowest step of the ladder of the sender's rates.
    pub(super) fn by(rules: ArfRules, with: Beginning<'_>) -> Arf {
        Arf::new(rules, ladder(with.phy, with.rates))
    }

    /// Starts on the lowest step of a ladder, ordered from slow to fast ([`super::ladder()`]).
    ///
    /// # Panics
    ///
    /// If the ladder is empty.
    pub fn new(rules: ArfRules, ladder: Vec<RateIndex>) -> Arf {
        assert!(!ladder.is_empty(), "a station has a rate");
        Arf {
            rules,
            ladder,
            at: 0,
            successes: 0,
            failures: 0,
            sent: 0,
            probing: false,
            threshold: rules.successes,
            timer: rules.timer,
        }
    }

    /// The rate of the next transmission, whether new or retransmitted.
    #[inline]
    pub fn rate(&self) -> RateIndex {
        self.ladder[self.at]
    }

    /// Successes in a row that a step up needs.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    fn on_frame(&mut self, success: bool) {
        self.sent += 1;
        if success { self.on_success() } else { self.on_failure() }
    }

    fn on_success(&mut self) {
        self.successes += 1;
        self.failures = 0;
        self.probing = false;
        let due = self.successes >= self.threshold || self.sent >= self.timer;
        if due && self.at + 1 < self.ladder.len() {
            self.step(self.at + 1);
            self.probing = true;
        }
    }

    fn on_failure(&mut self) {
        self.successes = 0;
        self.failures += 1;
        if self.probing {
            let growth = self.rules.growth;
            self.threshold = (self.threshold * growth).min(self.rules.most_successes);
            self.timer = (self.timer * growth).min(self.longest_timer());
        } else if self.failures >= 2 {
            (self.threshold, self.timer) = (self.rules.successes, self.rules.timer);
        } else {
            return;
        }
        self.step(self.at.saturating_sub(1));
    }

    /// The timer grows by up to the factor by which the number of successes grows.
    fn longest_timer(&self) -> u32 {
        self.rules.timer * self.rules.most_successes / self.rules.successes
    }

    fn step(&mut self, to: usize) {
        self.at = to;
        (self.successes, self.failures, self.sent) = (0, 0, 0);
        self.probing = false;
    }
}
