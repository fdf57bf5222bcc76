//! A Poisson process of packets.

use super::registry::{Asked, Carried, Kind};
use super::{Arrivals, SourceError, SourceSpec, mean_gap};
use airqueue_core::keys::Result;
use airqueue_core::{DataRate, RandomStream, Span, Time};

/// The times between packets are exponentially distributed.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    mean: Span,
    rng: RandomStream,
}

impl Kind for Poisson {
    const ABOUT: &'static str = "Packets at random, independent times.";

    fn carried(asked: &Asked<'_>) -> Result<Carried> {
        let source = asked.packets(Arrivals::Poisson(asked.needed_rate()?));
        Ok(Carried::Packets { source, call: None })
    }
}

impl Poisson {
    pub(super) fn new(
        rate: DataRate,
        spec: &SourceSpec,
        rng: RandomStream,
    ) -> std::result::Result<Poisson, SourceError> {
        Ok(Poisson { mean: mean_gap(rate, spec)?, rng })
    }

    /// At this mean interval.
    pub(super) fn at_mean(
        mean: Span,
        rng: RandomStream,
    ) -> std::result::Result<Poisson, SourceError> {
        if mean <= Span::from_nanos(1) {
            return Err(SourceError::TooOften(mean));
        }
        Ok(Poisson { mean, rng })
    }

    #[inline]
    pub(super) fn after(&mut self, at: Time) -> Time {
        at + self.rng.exponential(self.mean)
    }
}
