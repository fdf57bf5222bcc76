//! Adaptive auto rate fallback.

use super::arf::{Arf, ArfRules};
use super::registry::{Beginning, Kind};
use crate::phy::RateIndex;
use airqueue_core::Time;

/// [`Arf`] by the rules of AARF.
#[derive(Clone, Debug)]
pub struct Aarf(Arf);

impl ArfRules {
    /// AARF (Lacage, Manshaei and Turletti, "IEEE 802.11 rate adaptation: a practical approach", MSWiM 2004): a step
    /// up that fails at once doubles the number of successes that the next step up needs, up to 50.
    pub const AARF: ArfRules = ArfRules { growth: 2, most_successes: 50, ..ArfRules::ARF };
}

impl Kind for Aarf {
    const ABOUT: &'static str =
        "Adaptive ARF: a step up needs more successes after steps up that failed at once.";

    fn begin(with: Beginning<'_>) -> Aarf {
        Aarf(Arf::by(ArfRules::AARF, with))
    }

    #[inline]
    fn choose(&mut self, attempt: u32) -> RateIndex {
        self.0.choose(attempt)
    }

    #[inline]
    fn report(&mut self, rate: RateIndex, sent: u32, acknowledged: u32, now: Time) {
        Kind::report(&mut self.0, rate, sent, acknowledged, now);
    }

    fn rate(&self) -> RateIndex {
        self.0.rate()
    }
}
